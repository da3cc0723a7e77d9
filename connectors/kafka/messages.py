"""Messages of a partition as they lie in the bytes of the broker, and made objects when asked for.

A batch of a thousand messages is read from its bytes as one; only who looks at a single message
pays for an object of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Place
from stream_llsvm.connectors.flat.message_sets import END, HEADERS, KEY, OFFSET, TIME, VALUE
from stream_llsvm.connectors.flat.spans import Spans

Table = NDArray[np.int64]
Headers = list[tuple[str, bytes | None]]


class Messages:
    """Some messages of one partition, in order.

    Parameters
    ----------
    topic, partition, epoch, kind
        Of all: the leader's epoch, and the kind of their times.
    data, table
        Their bytes, and where in them they lie, see `locate`.

    """

    __slots__ = ("data", "epoch", "kind", "partition", "table", "topic")

    def __init__(
        self, topic: str, partition: int, epoch: int, kind: int, data: bytes, table: Table
    ) -> None:
        self.topic, self.partition, self.epoch, self.kind = topic, partition, epoch, kind
        self.data, self.table = data, table

    def __len__(self) -> int:
        return len(self.table)

    def chosen(self, which: Any) -> Messages:
        """Return some of them: a slice, or a truth value for each."""
        table = self.table[which]
        return Messages(self.topic, self.partition, self.epoch, self.kind, self.data, table)

    @property
    def offsets(self) -> Table:
        """The offset of each."""
        return self.table[:, OFFSET]

    @property
    def times(self) -> Table:
        """The time of each as the broker has it, in milliseconds; -1 where it has none."""
        return self.table[:, TIME]

    @property
    def values(self) -> Spans:
        """The value of each."""
        return Spans(self.data, self.table[:, VALUE], self.table[:, VALUE + 1])

    def keys(self) -> list[bytes | None]:
        """Return the key of each."""
        starts = self.table[:, KEY]
        if not len(starts) or int(starts.max()) < 0:
            return [None] * len(starts)
        return list(Spans(self.data, starts, self.table[:, KEY + 1]))

    def headers(self, i: int) -> Headers:
        """Return the headers of one."""
        return headers_at(self.data, int(self.table[i, HEADERS]))

    def records(self) -> list[Any]:
        """Return kafka-python's object for each."""
        from kafka.consumer.fetcher import ConsumerRecord

        sized = []
        for i, (key, value) in enumerate(zip(self.keys(), self.values, strict=True)):
            headers = self.headers(i)
            sizes = [-1 if one is None else len(one) for one in (key, value)]
            row = self.table[i].tolist()
            sized.append(
                ConsumerRecord(
                    self.topic, self.partition, self.epoch, row[OFFSET], row[TIME], self.kind,
                    key, value, headers, None, *sizes, _size(headers),
                )
            )  # fmt: skip
        return sized


class Objects(Messages):
    """Messages that kafka-python has made objects of already."""

    __slots__ = ("_records",)

    def __init__(self, records: Sequence[Any]) -> None:
        first = records[0]
        raws = Spans.of([one.value or b"" for one in records])
        table = np.full((len(records), END + 1), -1, dtype=np.int64)
        table[:, OFFSET] = [one.offset for one in records]
        table[:, TIME] = [-1 if one.timestamp is None else one.timestamp for one in records]
        there = np.array([one.value is not None for one in records])
        table[there, VALUE], table[there, VALUE + 1] = raws.starts[there], raws.ends[there]
        super().__init__(
            first.topic, first.partition, first.leader_epoch, first.timestamp_type,
            raws.block, table,
        )  # fmt: skip
        self._records = list(records)

    def chosen(self, which: Any) -> Messages:
        """Return some of them: a slice, or a truth value for each."""
        kept = np.arange(len(self))[which].tolist()
        return Objects([self._records[i] for i in kept]) if kept else super().chosen(which)

    def keys(self) -> list[bytes | None]:
        """Return the key of each."""
        return [one.key for one in self._records]

    def headers(self, i: int) -> Headers:
        """Return the headers of one."""
        found: Headers = self._records[i].headers
        return found

    def records(self) -> list[Any]:
        """Return kafka-python's object for each."""
        return self._records


class Portion:
    """Messages of some partitions, in the order in which they are handed out.

    Parameters
    ----------
    pieces
        The messages, those of one partition in their order.
    values
        The values of all.
    which, rows, offsets
        Of each message in order, the piece that it is in, its place there, and its offset.
    untimed
        Which of them should say when they were, and do not; None if nobody asks.

    """

    __slots__ = ("offsets", "pieces", "rows", "untimed", "values", "which")

    def __init__(
        self, pieces: list[Messages], values: Spans, which: Table, rows: Table, offsets: Table
    ) -> None:
        self.pieces, self.values = pieces, values
        self.which, self.rows, self.offsets = which, rows, offsets
        self.untimed: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, pieces: list[Messages], order: Table | None = None) -> Portion:
        """Put pieces one behind the other, and then maybe in another order."""
        sizes = [len(piece) for piece in pieces]
        which = np.repeat(np.arange(len(pieces)), sizes)
        rows = np.concatenate([np.arange(size) for size in sizes])
        values = Spans.joined([piece.values for piece in pieces])
        offsets = np.concatenate([piece.offsets for piece in pieces])
        whole = cls(pieces, values, which, rows, offsets)
        return whole if order is None else whole.chosen(order)

    def __len__(self) -> int:
        return len(self.which)

    def chosen(self, which: Any) -> Portion:
        """Return some of them: a slice, a truth value for each, or their numbers in order."""
        raws = self.values
        values = Spans(raws.block, raws.starts[which], raws.ends[which])
        several = (self.which[which], self.rows[which], self.offsets[which])
        some = Portion(self.pieces, values, *several)
        some.untimed = None if self.untimed is None else self.untimed[which]
        return some

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the offset behind the last message of each partition."""
        several, last = np.unique(self.which[::-1], return_index=True)
        offsets = self.offsets[::-1][last].tolist()
        pieces = [self.pieces[at] for at in several.tolist()]
        return {
            (piece.topic, piece.partition): offset + 1
            for piece, offset in zip(pieces, offsets, strict=True)
        }

    def keys(self) -> list[bytes | None]:
        """Return the key of each."""
        return self._gathered(lambda piece: piece.keys())

    def headers(self) -> list[Headers]:
        """Return the headers of each."""
        return self._gathered(lambda piece: [piece.headers(i) for i in range(len(piece))])

    def records(self) -> list[Any]:
        """Return kafka-python's object for each."""
        return self._gathered(lambda piece: piece.records())

    def _gathered(self, of: Callable[[Messages], Sequence[Any]]) -> list[Any]:
        """Return something of each message, which is read piece by piece."""
        found: list[Any] = [None] * len(self)
        order = np.argsort(self.which, kind="stable")
        begins = np.flatnonzero(np.diff(self.which[order], prepend=-1))
        for here in np.split(order, begins[1:]) if len(order) else ():
            told = of(self.pieces[self.which[here[0]]].chosen(self.rows[here]))
            if len(here) == len(self):
                return list(told)
            for i, one in zip(here.tolist(), told, strict=True):
                found[i] = one
        return found


class MessagePlaces(Sequence[Place]):
    """The places of some messages, each made when it is asked for."""

    __slots__ = ("_homes", "_offsets", "_which")

    def __init__(self, portion: Portion) -> None:
        self._homes = [(piece.topic, piece.partition) for piece in portion.pieces]
        self._which, self._offsets = portion.which, portion.offsets

    def __len__(self) -> int:
        return len(self._which)

    def __iter__(self) -> Iterator[Place]:
        homes = self._homes
        for which, offset in zip(self._which.tolist(), self._offsets.tolist(), strict=True):
            topic, partition = homes[which]
            yield Place(topic, partition, offset)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...
    def __getitem__(self, index: int | slice) -> Place | Sequence[Place]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]  # which also refuses one beyond the end
        topic, partition = self._homes[self._which[at]]
        return Place(topic, partition, int(self._offsets[at]))


def headers_at(data: bytes, pos: int) -> Headers:
    """Read the headers that begin there, which are known to be whole."""
    headers: Headers = []
    count, pos = _number(data, pos)
    for _ in range(count):
        size, pos = _number(data, pos)
        name = data[pos : pos + size].decode()
        pos += size
        size, pos = _number(data, pos)
        value = None
        if size >= 0:
            value = data[pos : pos + size]
            pos += size
        headers.append((name, value))
    return headers


def _number(data: bytes, pos: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return (found >> 1) ^ -(found & 1), pos
        shift += 7


def _size(headers: Headers) -> int:
    """Return how many bytes headers are; -1 if there are none."""
    if not headers:
        return -1
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)
