"""The learners with scikit-learn's interface: ``fit``, ``partial_fit``, ``predict``.

`fit` learns from history in several passes, `partial_fit` from the next records of a stream, each
once. The options are those of the class of the same name in `stream_llsvm`, and ``epochs``. NaN is
a missing value. Of a sparse matrix with more than 64 columns a record names only what is stored,
and no row is ever made dense; up to 64 columns it is the same as a dense one.

Examples
--------
>>> from sklearn.datasets import make_moons
>>> from sklearn.model_selection import GridSearchCV
>>> from stream_llsvm.sklearn import LLSVMClassifier
>>> X, y = make_moons(400, noise=0.2, random_state=0)
>>> search = GridSearchCV(LLSVMClassifier(), {"n_anchors": [1, 10]}, cv=3).fit(X, y)
>>> search.best_params_
{'n_anchors': 10}

"""

from typing import TYPE_CHECKING

from stream_llsvm.extras import install_command

try:
    import sklearn.utils.validation

    sklearn.utils.validation.validate_data  # noqa: B018  which 1.6 brought
except (ImportError, AttributeError) as error:
    raise ImportError(
        f"scikit-learn's interface needs scikit-learn 1.6 or newer: {install_command('sklearn')}"
    ) from error

from stream_llsvm.learners.registry import CLASSIFIERS as _CLASSIFIERS
from stream_llsvm.learners.registry import REGRESSORS as _REGRESSORS
from stream_llsvm.sklearn.base import face_of as _face_of
from stream_llsvm.sklearn.classifiers import StreamClassifier
from stream_llsvm.sklearn.regressors import StreamRegressor

__all__ = [
    "AdditiveSVMClassifier",
    "BoostedTreesClassifier",
    "BudgetedPegasosClassifier",
    "CSVMClassifier",
    "CommitteeClassifier",
    "ContextsClassifier",
    "FernsClassifier",
    "L3SVMClassifier",
    "LCCClassifier",
    "LLSVMClassifier",
    "LLSVMRegressor",
    "LocalSVMClassifier",
    "MemoryClassifier",
    "PegasosClassifier",
    "PegasosRegressor",
    "SAPLClassifier",
    "StreamClassifier",
    "StreamRegressor",
]

if TYPE_CHECKING:

    class AdditiveSVMClassifier(StreamClassifier): ...

    class BoostedTreesClassifier(StreamClassifier): ...

    class BudgetedPegasosClassifier(StreamClassifier): ...

    class CSVMClassifier(StreamClassifier): ...

    class CommitteeClassifier(StreamClassifier): ...

    class ContextsClassifier(StreamClassifier): ...

    class FernsClassifier(StreamClassifier): ...

    class L3SVMClassifier(StreamClassifier): ...

    class LCCClassifier(StreamClassifier): ...

    class LLSVMClassifier(StreamClassifier): ...

    class LLSVMRegressor(StreamRegressor): ...

    class LocalSVMClassifier(StreamClassifier): ...

    class MemoryClassifier(StreamClassifier): ...

    class PegasosClassifier(StreamClassifier): ...

    class PegasosRegressor(StreamRegressor): ...

    class SAPLClassifier(StreamClassifier): ...

else:
    globals().update({name: _face_of(name, StreamClassifier) for name in _CLASSIFIERS})
    globals().update({name: _face_of(name, StreamRegressor) for name in _REGRESSORS})
