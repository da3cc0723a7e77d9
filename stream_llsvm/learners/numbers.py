"""What every regressor of the package is: river's interface over one model's state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.learners.identity import Itself
from stream_llsvm.learners.merge import Mergeable
from stream_llsvm.learners.number_reasons import explain_number
from stream_llsvm.learners.weights import checked_weight, checked_weights
from stream_llsvm.locks import let_go, locked
from stream_llsvm.model.explain import Explanation
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.number_state import NumberState
from stream_llsvm.records.column_space import Texts
from stream_llsvm.records.columns import is_derived
from stream_llsvm.records.frames import Matrix, as_matrix, like
from stream_llsvm.records.values import as_number

#: A number is one score, as two classes share one.
_ONE_SCORE = (False, True)


class NumberLearner(Mergeable, base.MiniBatchRegressor, metaclass=Itself):
    """One number a record. Subclasses keep their options and say which members they are made of.

    The last of the members is ``Numbers``, which knows the target's scale. Several threads may call
    one model: it serves them one after the other.
    """

    _state_of = NumberState
    _has_classes = False
    _state: NumberState | None

    @property
    def classes(self) -> tuple[Any, ...]:
        """A regressor has none."""
        raise AttributeError("a regressor has no classes")

    def _know(self, names: Collection[Hashable]) -> NumberState:
        """Know these features; raises before anything has changed."""
        if self._state is None or self._features.unknown(names):
            self._make_room(names, _ONE_SCORE)
        assert self._state is not None
        return self._state

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
        lock = self._lock
        try:
            lock.acquire()
            features, state = self._features, self._state
            row, target = features.encode(x), _target(y)
            weight = 1.0 if type(w) is float and w == 1.0 else checked_weight(w)
            if (features.ignored or state is None) and weight > 0:
                lacking = features.lacking_of_last(x)
                state = self._know(x if lacking is None else lacking)
                row = features.encode(x)
            if state is not None and weight > 0:
                state.answer_one(row, target, weight)
        except BaseException:
            let_go(lock)
            raise
        lock.release()

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the number expected, 0 before anything was learned.

        Parameters
        ----------
        x
            The record.

        """
        lock, answer = self._lock, 0.0
        try:
            lock.acquire()
            row, state = self._features.encode(x), self._state
            if state is not None:
                if self._features.ignored or not x:
                    self._warn_of_unknown(x)
                answer = state.answer_one(row)
        except BaseException:
            let_go(lock)
            raise
        lock.release()
        return answer

    @locked
    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Take the number told for a record apart into what each feature adds to it.

        A contribution is what the number loses when the feature is set to its mean; contributions
        and bias sum up to it, in the target's units.

        Parameters
        ----------
        x
            The record.

        """
        if self._state is None:
            raise ValueError("nothing has been learned yet, so there is nothing to explain")
        row = self._features.encode(x)
        return explain_number(self._state, self._features.names, row)

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
        names, matrix, texts = as_matrix(X)
        targets = _targets(y, len(matrix))
        importance = checked_weights(w, len(matrix))
        targets = np.where(importance > 0, targets, np.nan)
        told = self._test_then_learn_rows(names, matrix, targets, importance, texts)
        return np.where(np.isnan(told), 0.0, told)

    @locked
    def _test_then_learn_rows(
        self,
        names: Sequence[Hashable],
        matrix: Matrix,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64] | None = None,
        texts: Texts | None = None,
    ) -> NDArray[np.float64]:
        """Learn from each row whose target is not NaN, and return the numbers predicted before.

        They are NaN where nothing had been learned yet.
        """
        n, begun = len(matrix), self._state is not None
        out = np.zeros((n, 1))
        counted = ~np.isnan(targets)
        taught = np.flatnonzero(counted)
        if len(taught) == 0:
            self._tell(names, matrix, out)
        else:
            importance = np.ones(n) if importance is None else importance
            new = self._features.unknown_in(names, matrix, texts)
            arriving = {0: new}
            if is_derived(new):  # a name has a column from the record on that brings it
                arriving = self._features.arriving(names, matrix, texts, counted)
            for begin, end in itertools.pairwise(sorted({0, *arriving, n})):
                part = slice(begin, end)
                if self._state is None and not counted[part].any():
                    continue
                state = self._know(arriving.get(begin, ()))
                rows = self._features.encode_many(names, matrix[part])
                state.answer(rows, targets[part], importance[part], out[part])
        if not begun:
            out[: taught[0] + 1 if len(taught) else n] = np.nan
        return out[:, 0]

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the number expected for each row, in the kind of series that X's library has.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        names, matrix, _ = as_matrix(X)
        out = np.zeros((len(matrix), 1))
        if self._state is not None:
            self._warn_of_unknown_in(names, matrix)
        self._tell(names, matrix, out)
        return like(X, out[:, 0])

    def _tell(self, names: Sequence[Hashable], matrix: Matrix, out: NDArray[np.float64]) -> None:
        n = len(matrix)
        if n > 0 and self._state is not None:
            rows = self._features.encode_many(names, matrix)
            self._state.answer(rows, np.full(n, np.nan), np.ones(n), out)

    def _restore(self, payload: Mapping[str, Any]) -> None:
        if payload["labels"] not in ((), _ONE_SCORE):
            raise ModelFileError("the model file has labels, which a regressor does not")
        if payload["state"] is not None and payload["labels"] == ():
            raise ModelFileError(
                "the model file holds a regressor's state of an earlier version: learn the model "
                "anew, and save it"
            )
        super()._restore(payload)


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
