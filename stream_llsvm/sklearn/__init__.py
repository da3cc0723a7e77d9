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

from stream_llsvm.extras import install_command

try:
    import sklearn.utils.validation

    sklearn.utils.validation.validate_data  # noqa: B018  which 1.6 brought
except (ImportError, AttributeError) as error:
    raise ImportError(
        f"scikit-learn's interface needs scikit-learn 1.6 or newer: {install_command('sklearn')}"
    ) from error

from stream_llsvm.sklearn.classifiers import (
    AdditiveSVMClassifier,
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    CSVMClassifier,
    FernsClassifier,
    L3SVMClassifier,
    LCCClassifier,
    LLSVMClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    PegasosClassifier,
    SAPLClassifier,
    StreamClassifier,
)
from stream_llsvm.sklearn.regressors import LLSVMRegressor, PegasosRegressor, StreamRegressor

__all__ = [
    "AdditiveSVMClassifier",
    "BudgetedPegasosClassifier",
    "CSVMClassifier",
    "CommitteeClassifier",
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
