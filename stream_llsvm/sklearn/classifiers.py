"""What classifiers have behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from stream_llsvm.sklearn.base import StreamEstimator

#: A class that was never seen is as unlikely as this, in a logarithm.
_IMPOSSIBLE = 1e-12


class StreamClassifier(ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """A classifier of this package behind scikit-learn's interface; the subclasses say which.

    Parameters
    ----------
    **options
        The learner's own, by name, and ``epochs``: how many passes `fit` takes.

    Attributes
    ----------
    classes_
        The labels, sorted: the columns of `predict_proba`.
    model_
        The learner itself, with `anchors` and whatever else it has; its features are named
        0, 1, ...
    n_features_in_
        How many features there are.

    """

    _example = """Examples
--------
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> {name}().fit(X, y).score(X, y) > 0.9
True

"""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from history, in ``epochs`` passes, as the learner's `warm_start` does.

        Parameters
        ----------
        X
            Records: an array, a dataframe or a sparse matrix.
        y
            One label a row.

        """
        epochs = self._passes()
        X, y = self._checked(X, y, first=True)
        model = self._new()
        model.warm_start(X, y, epochs=epochs)
        self.classes_, self.model_ = np.unique(y), model
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
        X = self._records(X)
        model = self.model_
        with model._lock:  # whoever learns beside this may bring a class
            given, known = model.predict_proba_many(X), model.classes
        places = {label: i for i, label in enumerate(self.classes_.tolist())}
        proba = np.zeros((X.shape[0], len(places)))
        proba[:, [places[label] for label in known]] = given
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

    def _checked(self, X: Any, y: Any, *, first: bool) -> tuple[Any, NDArray[Any]]:
        X, y = self._validated(X, y, first=first)
        check_classification_targets(y)
        return X, y

    def _saved(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _restored(self, saved: dict[str, Any]) -> None:
        self.classes_ = np.array(saved["classes"])
