"""Classifiers that give one score a class, learned against the rest: river's interface."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.learners.answers import AnswersMany
from stream_llsvm.learners.block import BlockModel
from stream_llsvm.learners.weights import checked_weight, checked_weights
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.options import whole
from stream_llsvm.records.frames import Matrix, as_matrix
from stream_llsvm.records.labels import LabelSpace, as_labels
from stream_llsvm.records.sparse import SparseRows

_FEW = 64


class ScoringClassifier(BlockModel, AnswersMany, base.MiniBatchClassifier):
    """Labels and probabilities around a kernel that scores: two classes share one score."""

    def __init__(self, standardize: bool, max_mb: int) -> None:
        super().__init__(standardize, max_mb)
        self._labels = LabelSpace()

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels seen so far, in order of appearance."""
        return self._labels.labels

    @property
    def _columns(self) -> int:
        return 1 if len(self._labels) <= 2 else len(self._labels)

    @property
    def _labels_saved(self) -> tuple[Any, ...]:
        return self._labels.labels

    def _restore_labels(self, labels: tuple[Any, ...]) -> None:
        self._labels = LabelSpace(labels)
        if len(self._labels) != len(labels):
            raise ModelFileError("the model file names a label twice")

    def learn_one(self, x: Mapping[Any, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn from one record.

        Parameters
        ----------
        x
            The record: ``{feature: number}``. None, NaN and features not named are missing.
        y
            Its label: anything hashable but None.
        w
            How much the record counts: 2 as if its loss were twice as large, 0 nothing.

        """
        row = self._features.encode(x)
        code = self._labels.code(y)
        weight = 1.0 if type(w) is float and w == 1.0 else checked_weight(w)
        if weight == 0:
            return
        if self._features.ignored or code < 0 or self._state is None:
            self._know(x, [y])
            row = self._features.encode(x)
            code = self._labels.code(y)
        self._learn_row(row, code, weight)

    def _know(self, names: Any, labels: Sequence[Hashable]) -> None:
        """Know these features and labels; raises before anything has changed."""
        classes = LabelSpace(self._labels.labels)
        for label in labels:
            classes.add(label)
        columns = 1 if len(classes) <= 2 else len(classes)
        self._grow(names, columns)
        self._labels = classes

    def decision_function_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return each label's score; of two labels one is the other's, negated.

        Parameters
        ----------
        x
            The record.

        """
        scores = self._score_one(x)
        if scores is None or len(self._labels) == 0:
            return {}
        row = _spread(scores[None], len(self._labels))[0]
        return dict(zip(self._labels.labels, row.tolist(), strict=True))

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return each label's share; empty before anything was learned.

        The logistic function of each score, normalised: with ``loss="logistic"`` a probability,
        otherwise only in the right order.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        scores = self._score_one(x)
        if scores is None:
            return {}
        row = _shares(scores[None], len(self._labels))[0]
        return dict(zip(self._labels.labels, row.tolist(), strict=True))

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Return the label with the highest score, None before anything was learned.

        Parameters
        ----------
        x
            The record.
        **kwargs
            Ignored; river's interface asks for it.

        """
        scores = self._score_one(x)
        if scores is None:
            return None
        labels = self._labels.labels
        if len(scores) == 1:
            return labels[1] if scores[0] > 0 and len(labels) > 1 else labels[0]
        return labels[int(scores.argmax())]

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from each row in turn: the same, to the bit, as `learn_one` row by row.

        Parameters
        ----------
        X
            Any eager dataframe that narwhals reads, a 2-D array or a scipy sparse matrix.
        y
            One label a row.
        w
            How much each record counts: one number, or one a row.

        """
        names, matrix = as_matrix(X)
        n = len(matrix)
        importance = checked_weights(w, n)
        codes = self._codes_fast(y, n)
        if codes is None or self._features.unknown(names) or self._state is None:
            self._learn_in_parts(names, matrix, as_labels(y, n), importance)
            return
        if n == 0:
            return
        codes = np.where(importance > 0, codes, np.nan)
        row = self._features.encode_many(names, matrix)
        self._call(row, codes, importance, np.zeros((n, self._columns)))

    def _codes_fast(self, y: Any, n: int) -> NDArray[np.float64] | None:
        """Return the codes of an array of known labels, None if it takes a closer look."""
        if not isinstance(y, np.ndarray) or y.dtype.kind not in "biu" or y.shape != (n,):
            return None
        if len(self._labels) > _FEW:
            return None
        codes = np.full(n, -1.0)
        for code, label in enumerate(self._labels.labels):
            if isinstance(label, bool | int):
                codes[y == label] = code
        return None if (codes < 0).any() else codes

    def _learn_in_parts(
        self,
        names: Sequence[Hashable],
        matrix: Matrix,
        labels: Sequence[Hashable],
        importance: NDArray[np.float64],
    ) -> None:
        """Learn rows some of which bring features or classes."""
        ahead = LabelSpace(self._labels.labels)
        counted = np.flatnonzero(importance > 0)
        firsts: dict[int, list[Hashable]] = {}
        for row in counted.tolist():
            known = len(ahead)
            if ahead.add(labels[row]) == known:
                firsts[row] = [labels[row]]
        if len(counted) == 0:
            return
        arriving: dict[int, list[Hashable]] = {int(counted[0]): self._features.unknown(names)}
        if isinstance(matrix, SparseRows):
            found = matrix.first_rows(counted)
            arriving = {r: self._features.unknown(names[c] for c in at) for r, at in found.items()}
        arriving = {r: new for r, new in arriving.items() if new}
        self._refuse_if_too_large(arriving, firsts)
        cuts = sorted({int(counted[0]), *firsts, *arriving, len(matrix)})
        for begin, end in itertools.pairwise(cuts):
            self._know(arriving.get(begin, ()), firsts.get(begin, ()))
            part = slice(begin, end)
            codes = np.full(end - begin, np.nan)
            for i in range(begin, end):
                if importance[i] > 0:
                    codes[i - begin] = self._labels.code(labels[i])
            rows = self._features.encode_many(names, matrix[part])
            self._call(rows, codes, importance[part], np.zeros((end - begin, self._columns)))

    def _refuse_if_too_large(
        self, arriving: Mapping[int, list[Hashable]], firsts: Mapping[int, list[Hashable]]
    ) -> None:
        """Raise ValueError if a class on the way would not fit, before anything is learned."""
        width = 0 if self._state is None else self._width
        features, classes = len(self._features), len(self._labels)
        for row in sorted({*arriving, *firsts}):
            features += len(arriving.get(row, ()))
            classes += row in firsts
            width = self._width_for(width, features, 1 if classes <= 2 else classes)
            features = min(features, width)

    def warm_start(self, X: Any, y: Any, epochs: int = 10) -> None:
        """Learn from history first, in several passes, each in a fresh random order.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        epochs
            How many passes.

        """
        whole("epochs", epochs, 1, 1_000_000)
        names, matrix = as_matrix(X)
        labels = as_labels(y, len(matrix))
        if len(matrix) == 0:
            return
        self._know(self._named(names, matrix), labels)
        codes = self._labels.codes(labels).astype(np.float64)
        rng = np.random.default_rng(0)
        for _ in range(epochs):
            order = rng.permutation(len(matrix))
            for begin in range(0, len(order), 4_096):
                some = order[begin : begin + 4_096]
                row = self._features.encode_many(names, matrix[some])
                out = np.zeros((len(some), self._columns))
                self._call(row, codes[some], np.ones(len(some)), out)

    def _codes_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.int64]:
        if self._state is None:
            return np.full(len(matrix), -1, dtype=np.int64)
        scores = self._score_rows(names, matrix)
        if scores.shape[1] == 1:
            return ((scores[:, 0] > 0) & (len(self._labels) > 1)).astype(np.int64)
        codes: NDArray[np.int64] = scores.argmax(axis=1)
        return codes

    def _shares_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.float64]:
        if self._state is None:
            return np.zeros((len(matrix), 0))
        return _shares(self._score_rows(names, matrix), len(self._labels))


def _spread(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return a score a class."""
    if n_classes == 1:
        return np.zeros((len(scores), 1))
    if n_classes == 2:
        return np.column_stack([-scores[:, 0], scores[:, 0]])
    return scores


def _shares(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return the logistic function of each score, each row divided by its sum."""
    if n_classes == 1:
        return np.ones((len(scores), 1))
    raw = 1 / (1 + np.exp(-np.clip(_spread(scores, n_classes), -500, 500)))
    shares: NDArray[np.float64] = raw / raw.sum(axis=1, keepdims=True)
    return shares
