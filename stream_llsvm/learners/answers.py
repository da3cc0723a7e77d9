"""Answers for many records at once, in the kind of frame or series that they came in."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.locks import OneAtATime, locked
from stream_llsvm.records.frames import Matrix, as_matrix, frame_like, like
from stream_llsvm.records.labels import label_array


class AnswersMany(OneAtATime, abc.ABC):
    """The methods that take frames and arrays, and learn nothing."""

    @property
    @abc.abstractmethod
    def classes(self) -> tuple[Any, ...]:
        """The labels seen so far, in order of appearance."""

    @abc.abstractmethod
    def _codes_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.int64]:
        """Return the number of each row's likeliest label, -1 before anything was learned."""

    @abc.abstractmethod
    def _shares_of(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.float64]:
        """Return a row's share of each label, a column a label."""

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the likeliest label of each row, in the kind of series that X's library has.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        return like(X, decoded(self.classes, self._codes_of(*as_matrix(X)[:2])))

    @locked
    def predict_proba_many(self, X: Any) -> Any:
        """Return each label's share for each row, a column a label; see `predict_proba_one`.

        Parameters
        ----------
        X
            The records, as in `learn_many`.

        """
        shares = self._shares_of(*as_matrix(X)[:2])
        return frame_like(X, dict(zip(self.classes, shares.T, strict=True)))


def decoded(labels: Sequence[Any], codes: NDArray[np.int64]) -> NDArray[Any]:
    """Return the labels of the codes, in an array of their own type; None for a code of -1."""
    if (codes < 0).any():
        table = np.empty(len(labels) + 1, dtype=object)
        table[:-1] = label_array(labels, dtype=object)
    else:
        table = label_array(labels)
    return table[codes] if len(table) > 0 else np.empty(0, dtype=object)
