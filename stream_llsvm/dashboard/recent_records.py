"""Records that were just predicted, as the page remembers them, and as rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.engine.learner import Answers
from stream_llsvm.learners.base import LocalClassifier

#: A record keeps its margin if the truth's odds against all other labels are e or more.
_MARGIN = math.e / (1 + math.e)


class Recent(NamedTuple):
    """A record and what was predicted before it was learned.

    ``label`` is the truth, None if it is not known; ``sure`` the probability that was given to
    the prediction, None of a number.
    """

    record: int
    place: str
    x: dict[str, float]
    label: Any
    prediction: Any
    sure: float | None

    @property
    def wrong(self) -> bool:
        """Whether another label is known to be the truth; numbers are near it or far."""
        return (
            self.sure is not None and self.label is not None and bool(self.label != self.prediction)
        )


class _Part(Sequence[Place]):
    """Some of the places that are made when they are asked for, and so are these."""

    def __init__(self, places: Sequence[Place], which: range) -> None:
        self._places, self._which = places, which

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...
    def __getitem__(self, index: int | slice) -> Place | Sequence[Place]:
        if isinstance(index, slice):
            return [self._places[i] for i in self._which[index]]
        return self._places[self._which[index]]


class Taken(NamedTuple):
    """A batch that was answered, and how many records came before it."""

    batch: Batch
    answers: Answers
    before: int

    def part(self, first: int, end: int) -> Taken:
        """Return these records by themselves, so that the others need not be kept.

        What is kept of a batch of a thousand would make the collector of garbage look at it all.
        """
        batch, answers, before = self
        which = range(len(batch))[max(0, first) : end]
        if len(which) == len(batch):
            return self
        rows = slice(which.start, which.stop)
        rest = Batch(
            batch.labels[rows],
            batch.places[rows] if isinstance(batch.places, list) else _Part(batch.places, which),
            batch.position,
            batch.names,
            None if batch.values is None else batch.values[rows].copy(),
            None if batch.records is None else batch.records[rows],
            texts=batch.texts,
            weights=None if batch.weights is None else batch.weights[rows].copy(),
        )
        refused = {i - rows.start: why for i, why in answers.refused.items() if i in which}
        sure, truth = (
            None if shares is None else shares[rows].copy()
            for shares in (answers.sure, answers.truth)
        )
        told = Answers(answers.labels[rows], sure, truth, refused)
        return Taken(rest, told, before + rows.start)

    def recent(self, i: int) -> Recent:
        """Return one of its records by itself."""
        return Recent(
            self.before + i + 1,
            str(self.batch.places[i]),
            self.batch.record(i),
            self.batch.labels[i],
            self.answers.labels[i],
            None if self.answers.sure is None else float(self.answers.sure[i]),
        )


def violations(recent: Sequence[Recent]) -> float | None:
    """Return the share of the labelled records whose margin was violated, None without any.

    The margin is one, in log odds: it is violated where the true label was given a probability
    below 0.73, and so wherever another one was predicted.

    Examples
    --------
    >>> one = Recent(1, "a:1", {}, "yes", "yes", 0.9)
    >>> violations([one, one._replace(sure=0.6), one._replace(prediction="no"), one])
    0.5

    """
    judged = [
        bool(one.prediction == one.label) and one.sure >= _MARGIN
        for one in recent
        if not (one.label is None or one.prediction is None or one.sure is None)
    ]
    return 1 - sum(judged) / len(judged) if judged else None


Array = NDArray[np.float64]


def row_of(model: LocalClassifier, x: Mapping[Any, Any]) -> tuple[NDArray[np.int64], Array] | None:
    """Return the columns that a record names and their values, None if it cannot be used."""
    try:
        row = model._features.encode(x)
    except (ValueError, TypeError):
        return None
    values = row.values.reshape(-1)
    columns = row.columns if row.starts.size > 0 else np.arange(values.size)
    named = np.isfinite(values)
    return columns[named], values[named].astype(np.float64)


def filled(
    row: tuple[NDArray[np.int64], Array], columns: NDArray[np.int64], otherwise: Array
) -> Array:
    """Return the row's values in these columns, which are sorted, and something otherwise."""
    found = otherwise.copy()
    if len(columns) > 0:
        at = np.minimum(np.searchsorted(columns, row[0]), len(columns) - 1)
        there = columns[at] == row[0]
        found[at[there]] = row[1][there]
    return found


def rows_of(
    model: LocalClassifier,
    records: Sequence[Mapping[Any, Any]],
    columns: NDArray[np.int64],
    otherwise: Array,
) -> Sequence[Array | None]:
    """Return each record's values in these columns, as `filled` does; None of one of no use."""
    table = _table(records)
    if table is None:
        rows = (row_of(model, x) for x in records)
        return [None if row is None else filled(row, columns, otherwise) for row in rows]
    known = {name: i for i, name in enumerate(model._features.names)}
    where = np.array([known.get(name, -1) for name in records[0]], dtype=np.int64)
    at = np.minimum(np.searchsorted(columns, where), len(columns) - 1)
    there = columns[at] == where
    found = np.tile(otherwise, (len(records), 1))
    found[:, at[there]] = np.where(
        np.isfinite(table[:, there]), table[:, there], otherwise[at[there]]
    )
    return list(found)


def _table(records: Sequence[Mapping[Any, Any]]) -> Array | None:
    """Return records that all name the same, in one order, as a table; None if they do not.

    Most streams are of this kind, and looking at each of their records alone is what costs.
    """
    if not records or not records[0]:
        return None
    names = tuple(records[0])
    rows = [tuple(x.values()) for x in records if tuple(x) == names]
    if len(rows) < len(records) or any(set(map(type, row)) != {float} for row in rows):
        return None
    table = np.array(rows)
    return None if np.isinf(table).any() else table
