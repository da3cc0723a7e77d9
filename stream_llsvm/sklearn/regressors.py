"""What regressors have behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from stream_llsvm.sklearn.base import StreamEstimator


class StreamRegressor(RegressorMixin, StreamEstimator):  # type: ignore[misc]
    """A regressor of this package behind scikit-learn's interface; the subclasses say which.

    Parameters
    ----------
    **options
        The learner's own, by name, and ``epochs``: how many passes `fit` takes.

    Attributes
    ----------
    model_
        The learner itself; its features are named 0, 1, ...
    n_features_in_
        How many features there are.

    """

    _example = """Examples
--------
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> {name}().fit(X, y).score(X, y) > 0.4
True

"""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from history, in ``epochs`` passes, the rows in another order in each.

        Parameters
        ----------
        X
            Records: an array, a dataframe or a sparse matrix.
        y
            One number a row.

        """
        epochs = self._passes()
        X, y = self._validated(X, y, first=True, y_numeric=True)
        model, orders = self._new(), np.random.default_rng(0)
        for _ in range(epochs):
            order = orders.permutation(len(y))
            model.learn_many(X[order], y[order])
        self.model_ = model
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from each row in turn, once, as the learner's `learn_many` does.

        Parameters
        ----------
        X
            Records: an array, a dataframe or a sparse matrix.
        y
            One number a row.
        sample_weight
            How much each row counts.

        """
        first = not hasattr(self, "model_")
        X, y = self._validated(X, y, first=first, y_numeric=True)
        weights = 1.0 if sample_weight is None else _check_sample_weight(sample_weight, X)
        if first:
            self.model_ = self._new()
        self.model_.learn_many(X, y, w=weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the number expected for each row.

        Parameters
        ----------
        X
            The records.

        """
        records = self._records(X)
        expected: NDArray[np.float64] = self.model_.predict_many(records)
        return expected
