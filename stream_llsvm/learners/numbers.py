"""Learners of numbers: river's interface for regressors, around a kernel that scores rows."""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.learners.weights import checked_weight, checked_weights
from stream_llsvm.model.feature_warnings import KnowsFeatures
from stream_llsvm.records.features import Row
from stream_llsvm.records.frames import Matrix, as_matrix, like
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.values import as_number


class NumberLearner(KnowsFeatures, base.MiniBatchRegressor):
    """One number a record. The subclasses know features, and run the kernel."""

    @property
    @abc.abstractmethod
    def _has_begun(self) -> bool:
        """Whether there is a state that can score."""

    @abc.abstractmethod
    def _know(self, names: Iterable[Hashable]) -> None:
        """Know these features; raises before anything has changed."""

    @abc.abstractmethod
    def _call(
        self,
        row: Row,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None:
        """Fill out, (rows, 1), and learn each row whose target is not NaN."""

    @abc.abstractmethod
    def _score_one(self, x: Mapping[Any, Any]) -> NDArray[np.float64] | None: ...

    @abc.abstractmethod
    def _learn_row(self, row: Row, target: float, weight: float) -> None: ...

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn from one record.

        Parameters
        ----------
        x
            The record: ``{feature: number}``. None, NaN and features not named are missing.
        y
            The number to predict.
        w
            How much the record counts.

        """
        row = self._features.encode(x)
        target = _target(y)
        weight = 1.0 if type(w) is float and w == 1.0 else checked_weight(w)
        if weight == 0:
            return
        if self._features.ignored or not self._has_begun:
            self._know(x)
            row = self._features.encode(x)
        self._learn_row(row, target, weight)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the number expected, 0 before anything was learned.

        Parameters
        ----------
        x
            The record.

        """
        scores = self._score_one(x)
        return 0.0 if scores is None else float(scores[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from each row in turn: the same, to the bit, as `learn_one` row by row.

        Parameters
        ----------
        X
            Any eager dataframe that narwhals reads, a 2-D array or a scipy sparse matrix, of which
            all features are then known from the first row on.
        y
            One number a row.
        w
            How much each record counts: one number, or one a row.

        """
        self.test_then_learn(X, y, w)

    def test_then_learn(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn from each row in turn, and return the numbers predicted just before.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One number a row.
        w
            How much each record counts: one number, or one a row.

        """
        names, matrix = as_matrix(X)
        targets = _targets(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        out = np.zeros((len(matrix), 1))
        if (importance > 0).any():
            self._know(_named(names, matrix))
            targets = np.where(importance > 0, targets, np.nan)
            self._call(self._features.encode_many(names, matrix), targets, importance, out)
        elif self._has_begun:
            self._tell(names, matrix, out)
        return out[:, 0]

    def predict_many(self, X: Any) -> Any:
        """Return the number expected for each row, in the kind of series that X's library has.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        names, matrix = as_matrix(X)
        out = np.zeros((len(matrix), 1))
        if self._has_begun:
            self._warn_of_unknown_in(names, matrix)
            self._tell(names, matrix, out)
        return like(X, out[:, 0])

    def _tell(self, names: Sequence[Hashable], matrix: Matrix, out: NDArray[np.float64]) -> None:
        n = len(matrix)
        if n > 0:
            rows = self._features.encode_many(names, matrix)
            self._call(rows, np.full(n, np.nan), np.ones(n), out)


def _named(names: Sequence[Hashable], matrix: Matrix) -> Sequence[Hashable]:
    """Return the features that a batch brings: of a sparse one, those that occur."""
    if isinstance(matrix, SparseRows):
        return [names[c] for c in np.unique(matrix.columns)]
    return names


def _target(y: Any, row: int | None = None) -> float:
    told = as_number("the target", y, row)
    if math.isnan(told):
        place = "" if row is None else f" of row {row} (the first row is 0)"
        raise ValueError(
            f"the target{place} is missing ({y!r}): such a record can be predicted, but not "
            "learned from"
        )
    return told


def _targets(y: Any, n: int) -> NDArray[np.float64]:
    """Return a batch's targets: a series, an array or a list of finite numbers."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and y.shape == (n,):
        targets = y.astype(np.float64)
        if np.isfinite(targets).all():
            return targets
    listed = list(y.to_pylist() if hasattr(y, "to_pylist") else y)
    if len(listed) != n or getattr(y, "ndim", 1) != 1:
        raise ValueError(f"{len(listed)} targets for {n} rows: give one number a row")
    return np.array([_target(value, row) for row, value in enumerate(listed)], dtype=np.float64)
