"""Messages of a partition as they lie in the bytes of the broker, and made objects when asked for.

A batch of a thousand messages is read from its bytes as one; only who looks at a single message
pays for an object of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
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


class MessagePlaces(Sequence[Place]):
    """The places of some messages, each made when it is asked for."""

    __slots__ = ("_ends", "_pieces")

    def __init__(self, pieces: Sequence[Messages]) -> None:
        self._pieces = pieces
        self._ends = np.cumsum([len(piece) for piece in pieces])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __iter__(self) -> Iterator[Place]:
        for piece in self._pieces:
            here = zip(repeat(piece.topic), repeat(piece.partition), piece.offsets.tolist())
            yield from map(Place._make, here)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...
    def __getitem__(self, index: int | slice) -> Place | Sequence[Place]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]  # which also refuses one beyond the end
        which = int(np.searchsorted(self._ends, at, side="right"))
        piece = self._pieces[which]
        inside = at - int(self._ends[which]) + len(piece)
        return Place(piece.topic, piece.partition, int(piece.offsets[inside]))


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


class FetchBuffer:
    """Messages of some partitions, handed out in the order in which they were fetched.

    Every poll of kafka-python's asks its network thread, and waits for it: all that has come is
    taken at once, and the next fetch is under way while this is handed out.
    """

    def __init__(self) -> None:
        self._pieces: deque[tuple[Any, Messages]] = deque()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def put(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Take what a poll found: records by partition, or `Messages` with several each."""
        for partition, some in found.items():
            pieces = some if isinstance(some[0], Messages) else [Objects(some)]
            self._pieces.extend((partition, piece) for piece in pieces)

    def take(self, most: int) -> dict[Any, list[Messages]]:
        """Return the next messages of each partition, at most so many in all."""
        taken: dict[Any, list[Messages]] = {}
        while self._pieces and most > 0:
            partition, piece = self._pieces.popleft()
            if len(piece) > most:
                self._pieces.appendleft((partition, piece.chosen(slice(most, None))))
                piece = piece.chosen(slice(most))
            taken.setdefault(partition, []).append(piece)
            most -= len(piece)
        return taken

    def clear(self) -> None:
        """Forget them: they will be fetched again, or are not wanted."""
        self._pieces.clear()
