"""Records of one batch: many with the same features as columns of numbers, others one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.values import Unread


class Record(NamedTuple):
    """One record, and which of its fields could not be read."""

    x: dict[str, Any]
    label: Any
    key: Any
    unread: tuple[Unread, ...] = ()


class Columns(NamedTuple):
    """Records that have the same features, all of them numbers."""

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


def fill(batch: Batch, parts: Iterable[Columns | list[Record]], numeric: bool) -> None:
    """Put labels, keys and features into a batch: one matrix if the features are the same."""
    parts = [part for part in parts if isinstance(part, Columns) or part]
    batch.keys = []
    for part in parts:
        if isinstance(part, Columns):
            batch.labels += part.labels
            batch.keys += part.keys
        else:
            batch.labels += [record.label for record in part]
            batch.keys += [record.key for record in part]
    if numeric and parts:
        first = parts[0]
        names = first.names if isinstance(first, Columns) else tuple(first[0].x)
        blocks = [_matrix(part, names) for part in parts]
        whole = [block for block in blocks if block is not None]
        if len(whole) == len(blocks):
            batch.names = names
            batch.values = whole[0] if len(whole) == 1 else np.concatenate(whole)
            return
    batch.records = []
    for part in parts:
        if isinstance(part, Columns):
            rows = part.values.tolist()
            batch.records += [dict(zip(part.names, row, strict=True)) for row in rows]
        else:
            batch.records += [record.x for record in part]


def _matrix(part: Columns | list[Record], names: tuple[str, ...]) -> NDArray[np.float64] | None:
    """Return a part's values in the order of these names; None if it has others."""
    if isinstance(part, Columns):
        if part.names == names:
            return part.values
        if set(part.names) != set(names):
            return None
        return part.values[:, [part.names.index(name) for name in names]]
    expected = set(names)
    if any(record.x.keys() != expected for record in part):
        return None
    rows = [[record.x[name] for name in names] for record in part]
    return np.array(rows, dtype=np.float64).reshape(len(part), len(names))
