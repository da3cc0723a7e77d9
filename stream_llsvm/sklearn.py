"""The classifiers with scikit-learn's interface: ``fit``, ``partial_fit``, ``predict_proba``.

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

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.extras import install_command
from stream_llsvm.learners.additive import AdditiveSVMClassifier as _Additive
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.budgeted import BudgetedPegasosClassifier as _Budgeted
from stream_llsvm.learners.clustered import CSVMClassifier as _CSVM
from stream_llsvm.learners.committee import CommitteeClassifier as _Committee
from stream_llsvm.learners.ferns import FernsClassifier as _Ferns
from stream_llsvm.learners.l3_svm import L3SVMClassifier as _L3SVM
from stream_llsvm.learners.lcc import LCCClassifier as _LCC
from stream_llsvm.learners.llsvm import LLSVMClassifier as _LLSVM
from stream_llsvm.learners.local_svm import LocalSVMClassifier as _LocalSVM
from stream_llsvm.learners.memory import MemoryClassifier as _Memory
from stream_llsvm.learners.options import whole
from stream_llsvm.learners.pegasos import PegasosClassifier as _Pegasos
from stream_llsvm.learners.sapl import SAPLClassifier as _SAPL
from stream_llsvm.learners.scoring import ScoringClassifier

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"scikit-learn's interface needs scikit-learn 1.6 or newer: {install_command('sklearn')}"
    ) from error

__all__ = [
    "AdditiveSVMClassifier",
    "BudgetedPegasosClassifier",
    "CSVMClassifier",
    "CommitteeClassifier",
    "FernsClassifier",
    "L3SVMClassifier",
    "LCCClassifier",
    "LLSVMClassifier",
    "LocalSVMClassifier",
    "MemoryClassifier",
    "PegasosClassifier",
    "SAPLClassifier",
    "StreamClassifier",
]

Learner = LocalClassifier | ScoringClassifier

#: A class that was never seen is as unlikely as this, in a logarithm.
_IMPOSSIBLE = 1e-12


class StreamClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner of this package behind scikit-learn's interface; the subclasses say which.

    Parameters
    ----------
    **options
        The learner's own, by name, and ``epochs``: how many passes `fit` takes.

    Attributes
    ----------
    classes_
        The labels, sorted: the columns of `predict_proba`.
    model_
        The learner itself, with `explain_one`, `anchors`, `save` and whatever else it has; its
        features are named 0, 1, ...
    n_features_in_
        How many features there are.

    """

    _learner: ClassVar[type[Learner]]

    def __init_subclass__(cls, learner: type[Learner], **others: Any) -> None:
        """Give the subclass a constructor with its learner's options."""
        super().__init_subclass__(**others)
        cls._learner = learner
        epochs = inspect.Parameter("epochs", inspect.Parameter.KEYWORD_ONLY, default=10)
        own = list(inspect.signature(learner.__init__).parameters.values())
        signature = inspect.Signature([*own, epochs])

        def __init__(self: Any, *given: Any, **options: Any) -> None:
            # Checked when it is fitted, as scikit-learn wants it.
            bound = signature.bind(self, *given, **options)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__doc__ = "Keep the options; `fit` checks them."
        cls.__init__ = __init__  # type: ignore[method-assign]

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from history, in ``epochs`` passes, as the learner's `warm_start` does.

        Parameters
        ----------
        X
            Records: an array, a dataframe or a sparse matrix.
        y
            One label a row.

        """
        epochs = whole("epochs", self.epochs, 1, 1_000_000)
        X, y = self._checked(X, y, first=True)
        self.classes_ = np.unique(y)
        self.model_ = self._new()
        self.model_.warm_start(X, y, epochs=epochs)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from each row in turn, once, as the learner's `learn_many` does.

        Parameters
        ----------
        X
            Records: an array, a dataframe or a sparse matrix.
        y
            One label a row.
        classes
            All the labels there will be; asked for in the first call.
        sample_weight
            How much each row counts.

        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y = self._checked(X, y, first=first)
        known = np.unique(classes) if first else self.classes_
        if classes is not None and not np.array_equal(known, np.unique(classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on the last call to partial_fit, was: "
                f"{known!r}"
            )
        strangers = np.setdiff1d(y, known)
        if len(strangers) > 0:
            raise ValueError(f"the labels {strangers} are not among classes={known}")
        weights = 1.0 if sample_weight is None else _check_sample_weight(sample_weight, X)
        if first:
            self.classes_ = known
            self.model_ = self._new()
        self.model_.learn_many(X, y, w=weights)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest label of each row.

        Parameters
        ----------
        X
            The records.

        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label for each row, in the order of ``classes_``.

        Parameters
        ----------
        X
            The records.

        """
        check_is_fitted(self)
        X = validate_data(self, X, **_ACCEPTED, reset=False)
        given = self.model_.predict_proba_many(X)
        places = {label: i for i, label in enumerate(self.classes_.tolist())}
        proba = np.zeros((X.shape[0], len(places)))
        proba[:, [places[label] for label in self.model_.classes]] = given
        return proba

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of the odds: one number a row for two classes, else one a class.

        With more than two classes each row is centred: it sums to zero.

        Parameters
        ----------
        X
            The records.

        """
        scores = np.log(np.maximum(self.predict_proba(X), _IMPOSSIBLE))
        if len(self.classes_) == 2:
            odds: NDArray[np.float64] = scores[:, 1] - scores[:, 0]
            return odds
        centred: NDArray[np.float64] = scores - scores.mean(axis=1, keepdims=True)
        return centred

    def _new(self) -> Learner:
        options = self.get_params(deep=False)
        del options["epochs"]
        return self._learner(**options)

    def _checked(self, X: Any, y: Any, *, first: bool) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, **_ACCEPTED, reset=first)
        check_classification_targets(y)
        return X, y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


_ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr",
    "ensure_all_finite": "allow-nan",
    "dtype": np.float64,
}


class CommitteeClassifier(StreamClassifier, learner=_Committee):
    """Several members side by side, mixed online: `stream_llsvm.CommitteeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> CommitteeClassifier().fit(X, y).score(X, y)
    0.9...

    """


class SAPLClassifier(StreamClassifier, learner=_SAPL):
    """Locally linear SVM, anchors that move to where they help: `stream_llsvm.SAPLClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SAPLClassifier(n_anchors=10, epochs=5).fit(X, y).score(X, y)
    0.9...

    """


class LLSVMClassifier(StreamClassifier, learner=_LLSVM):
    """Locally linear SVM over anchors found on the fly: `stream_llsvm.LLSVMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LLSVMClassifier(n_anchors=10, epochs=5).fit(X, y).score(X, y)
    0.9...

    """


class LCCClassifier(StreamClassifier, learner=_LCC):
    """Linear SVM on local codes: `stream_llsvm.LCCClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LCCClassifier(n_anchors=20).fit(X, y).score(X, y)
    0.9...

    """


class AdditiveSVMClassifier(StreamClassifier, learner=_Additive):
    """A curve per feature: `stream_llsvm.AdditiveSVMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> AdditiveSVMClassifier().fit(X, y).score(X, y)
    0.9...

    """


class MemoryClassifier(StreamClassifier, learner=_Memory):
    """Nearest neighbours in a metric learned online: `stream_llsvm.MemoryClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MemoryClassifier().fit(X, y).score(X, y)
    0.9...

    """


class FernsClassifier(StreamClassifier, learner=_Ferns):
    """Random partitions with a weight per cell: `stream_llsvm.FernsClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> FernsClassifier().fit(X, y).score(X, y)
    0.9...

    """


class PegasosClassifier(StreamClassifier, learner=_Pegasos):
    """Linear SVM by Pegasos: `stream_llsvm.PegasosClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> PegasosClassifier().fit(X, y).score(X, y)
    0.9...

    """


class CSVMClassifier(StreamClassifier, learner=_CSVM):
    """One linear SVM per cluster and a global one: `stream_llsvm.CSVMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> CSVMClassifier(n_clusters=3).fit(X, y).score(X, y)
    0.9...

    """


class LocalSVMClassifier(StreamClassifier, learner=_LocalSVM):
    """A small SVM among the neighbours of each query: `stream_llsvm.LocalSVMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LocalSVMClassifier().fit(X, y).score(X, y)
    0.9...

    """


class L3SVMClassifier(StreamClassifier, learner=_L3SVM):
    """One linear SVM per cluster over common landmarks: `stream_llsvm.L3SVMClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> L3SVMClassifier(n_clusters=3).fit(X, y).score(X, y)
    0.9...

    """


class BudgetedPegasosClassifier(StreamClassifier, learner=_Budgeted):
    """Kernel SVM by Pegasos, few support vectors: `stream_llsvm.BudgetedPegasosClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> BudgetedPegasosClassifier(budget=50).fit(X, y).score(X, y)
    0.9...

    """
