"""Records of one batch: many with the same features as columns of numbers, others one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.dictionary import Dictionary
from stream_llsvm.connectors.values import Unread
from stream_llsvm.kernels.boxes import FIRST_BOX, NAME
from stream_llsvm.records.boxes import unboxed
from stream_llsvm.records.texts import as_name
from stream_llsvm.records.values import NO_LABEL


class Record(NamedTuple):
    """One record, and which of its fields could not be read.

    A value is a float (also a time, boxed), the text of a name, or a tuple of words.
    """

    x: dict[str, Any]
    label: Any
    key: Any
    unread: tuple[Unread, ...] = ()


class Columns(NamedTuple):
    """Records that have the same features: numbers, names and times, but no words."""

    names: tuple[str, ...]
    values: NDArray[np.float64]
    labels: list[Any]
    keys: list[Any]

    def part(self, start: int, stop: int) -> Columns:
        """Return some of them."""
        if start == 0 and stop == len(self.labels):
            return self
        here = slice(start, stop)
        return Columns(self.names, self.values[here], self.labels[here], self.keys[here])


class Quick(NamedTuple):
    """Records that a compiled loop has read, and which of them it could not (not 0)."""

    columns: Columns
    odd: NDArray[np.uint8]


class Places(Sequence[Place]):
    """The places of many records of one source, each made when it is asked for."""

    __slots__ = ("numbers", "part", "source")

    def __init__(self, source: str, part: int | None, numbers: Sequence[int]) -> None:
        self.source = source
        self.part = part
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Place]:
        return map(Place._make, zip(repeat(self.source), repeat(self.part), self.numbers))

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Places: ...
    def __getitem__(self, index: int | slice) -> Place | Places:
        if isinstance(index, slice):
            return Places(self.source, self.part, self.numbers[index])
        return Place(self.source, self.part, self.numbers[index])


def fill(
    batch: Batch,
    parts: Iterable[Columns | list[Record]],
    dictionary: Dictionary | None,
    weight: str | None,
) -> None:
    """Put labels, keys, features and weights into a batch.

    It is one matrix if the features are the same. Without a dictionary it holds records with
    whatever they hold. ``weight`` is the feature that is none, but how much a record counts.
    """
    _fill(batch, parts, dictionary)
    if weight is None or len(batch) == 0:
        return
    if batch.names is not None and batch.values is not None:
        if weight not in batch.names:
            return
        at = batch.names.index(weight)
        weights = batch.values[:, at].copy()
        batch.names = batch.names[:at] + batch.names[at + 1 :]
        batch.values = np.delete(batch.values, at, axis=1)
    else:
        found = [x.pop(weight, None) for x in batch.records or []]
        weights = np.array([np.nan if one is None else one for one in found])
    weights[np.isnan(weights)] = 1.0
    batch.weights = weights if (weights != 1.0).any() else None


def _fill(
    batch: Batch, parts: Iterable[Columns | list[Record]], dictionary: Dictionary | None
) -> None:
    parts = [part for part in parts if isinstance(part, Columns) or part]
    batch.keys = []
    for part in parts:
        if isinstance(part, Columns):
            batch.labels += part.labels
            batch.keys += part.keys
        else:
            batch.labels += [record.label for record in part]
            batch.keys += [record.key for record in part]
    if not NO_LABEL.isdisjoint(batch.labels):
        batch.labels = [None if label in NO_LABEL else label for label in batch.labels]
    if dictionary is not None and parts:
        first = parts[0]
        names = first.names if isinstance(first, Columns) else tuple(first[0].x)
        blocks = [_matrix(part, names, dictionary) for part in parts]
        whole = [block for block in blocks if block is not None]
        batch.texts = dictionary.texts
        if len(whole) == len(blocks):
            batch.names = names
            batch.values = whole[0] if len(whole) == 1 else np.concatenate(whole)
            return
    batch.records = []
    for part in parts:
        if isinstance(part, Columns):
            assert dictionary is not None
            batch.records += as_records(part, dictionary.texts)
        else:
            batch.records += [record.x for record in part]


def as_records(part: Columns, texts: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return records with the texts of their names; times stay as they are."""
    rows: list[list[Any]] = part.values.tolist()
    boxes = np.ascontiguousarray(part.values).view(np.int64) >= FIRST_BOX
    for i, j in np.argwhere(boxes).tolist():
        kind, content = unboxed(rows[i][j])
        if kind == NAME:
            rows[i][j] = as_name(texts[content])
    return [dict(zip(part.names, row, strict=True)) for row in rows]


def _matrix(
    part: Columns | list[Record], names: tuple[str, ...], dictionary: Dictionary
) -> NDArray[np.float64] | None:
    """Return a part's values in the order of these names; None if it has others, or words."""
    if isinstance(part, Columns):
        if part.names == names:
            return part.values
        if set(part.names) != set(names):
            return None
        return part.values[:, [part.names.index(name) for name in names]]
    expected = set(names)
    if any(record.x.keys() != expected for record in part):
        return None
    flat = [record.x[name] for record in part for name in names]
    kinds = set(map(type, flat))
    if tuple in kinds:
        return None
    if kinds != {float}:
        box = dictionary.box
        flat = [box(value) if isinstance(value, str) else value for value in flat]
    return np.array(flat, dtype=np.float64).reshape(len(part), len(names))
