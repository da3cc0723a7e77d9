"""What was fetched and not handed out yet: in the order in which it came, or by time."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Disorder
from stream_llsvm.connectors.field_times import FieldTimes
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.kafka.messages import Messages, Objects, Portion
from stream_llsvm.connectors.order import TimeOrder

_MOST_BYTES = 1 << 26  # of all partitions, beside what was fetched in one go


class FetchBuffer:
    """Messages of some partitions, handed out in the order in which they were fetched.

    Every poll of kafka-python's asks its network thread, and waits for it: all that has come is
    taken at once, and the next fetch is under way while this is handed out.

    Attributes
    ----------
    wait
        Seconds after which more may be taken although nothing came.

    """

    wait = inf

    def __init__(self) -> None:
        self._pieces: deque[tuple[Any, Messages]] = deque()
        self._many: Counter[Any] = Counter()  # pieces of each partition

    @property
    def held(self) -> set[Any]:
        """The partitions of which something is held."""
        return {partition for partition, many in self._many.items() if many}

    def put(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Take what a poll found: records by partition, or `Messages` with several each."""
        for partition, piece in pieces_of(found):
            self._pieces.append((partition, piece))
            self._many[partition] += 1

    def take(self, most: int) -> Portion | None:
        """Return the next messages, at most so many; None if there are none."""
        taken: list[Messages] = []
        while self._pieces and most > 0:
            partition, piece = self._pieces.popleft()
            if len(piece) > most:
                self._pieces.appendleft((partition, piece.chosen(slice(most, None))))
                self._many[partition] += 1
                piece = piece.chosen(slice(most))
            self._many[partition] -= 1
            taken.append(piece)
            most -= len(piece)
        return Portion.of(taken) if taken else None

    def full(self) -> set[Any]:
        """Return the partitions of which no more is wanted for now."""
        return set()

    def told(self) -> Disorder | None:
        """Return what is new of how far messages are not in order; None: nobody looks."""
        return None


def pieces_of(found: Mapping[Any, Sequence[Any]]) -> list[tuple[Any, Messages]]:
    """Return what a poll found, with its partitions."""
    return [
        (partition, piece)
        for partition, some in found.items()
        for piece in (some if isinstance(some[0], Messages) else [Objects(some)])
    ]


class TimeBuffer(FetchBuffer):
    """Messages of several partitions, handed out in the order of their times.

    Parameters
    ----------
    partitions
        All of them, in order.
    max_wait
        Seconds that a partition is waited for that has more and does not give it.
    more
        Whether a partition is known to have more than was fetched, up to an offset.
    field
        What reads times from values; the broker's time counts without it.

    """

    def __init__(
        self,
        partitions: Sequence[Any],
        max_wait: float,
        more: Callable[[Any, int], bool],
        field: FieldTimes | None = None,
    ) -> None:
        super().__init__()
        self._partitions = sorted(partitions)
        self._numbers = {one: at for at, one in enumerate(self._partitions)}
        names = [f"{one.topic}/{one.partition}" for one in self._partitions]
        self._order = TimeOrder(names, max_wait)
        self._more, self._field = more, field
        self._waiting: list[deque[Messages]] = [deque() for _ in names]
        self._bytes, self._fetched = [0] * len(names), [0] * len(names)
        self._ready: Portion | None = None
        self._of_ready: set[Any] = set()

    @property
    def wait(self) -> float:  # type: ignore[override]
        """Seconds after which more may be taken although nothing came."""
        return self._order.wait

    @property
    def held(self) -> set[Any]:
        """The partitions of which something is held."""
        found = {self._partitions[at] for at, pieces in enumerate(self._waiting) if pieces}
        return found if self._ready is None else found | self._of_ready

    def put(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Take what a poll found: records by partition, or `Messages` with several each."""
        now = time.monotonic()
        by_number: dict[int, list[Messages]] = {}
        for partition, piece in pieces_of(found):
            by_number.setdefault(self._numbers[partition], []).append(piece)
        for number, pieces in by_number.items():
            self._waiting[number] += pieces
            self._bytes[number] += sum(map(_size, pieces))
            self._fetched[number] = int(pieces[-1].offsets[-1]) + 1
            self._order.add(number, self._times(pieces), now)

    def _times(self, pieces: Sequence[Messages]) -> Any:
        if self._field is not None:
            return self._field.read(Spans.joined([piece.values for piece in pieces]))
        times = np.concatenate([piece.times for piece in pieces]).astype(np.float64)
        times[times < 0] = np.nan
        return times

    def _has_more(self, number: int) -> bool:
        return self._more(self._partitions[number], self._fetched[number])

    def take(self, most: int) -> Portion | None:
        """Return the next messages, at most so many; None if none may go yet."""
        if self._ready is None:
            cut = self._order.take(self._has_more, time.monotonic())
            if cut is None:
                return None
            pieces = [piece for at, many in enumerate(cut.counts) for piece in self._cut(at, many)]
            self._ready = Portion.of(pieces, cut.order)
            self._of_ready = {
                one for one, many in zip(self._partitions, cut.counts, strict=True) if many
            }
            if self._field is not None and cut.untimed.any():
                self._ready.untimed = cut.untimed
        portion = self._ready
        self._ready = portion.chosen(slice(most, None)) if len(portion) > most else None
        return portion.chosen(slice(most))

    def _cut(self, number: int, count: int) -> list[Messages]:
        """Take so many messages of a partition out of those that wait."""
        found, waiting = [], self._waiting[number]
        while count:
            piece = waiting.popleft()
            if len(piece) > count:
                waiting.appendleft(piece.chosen(slice(count, None)))
                piece = piece.chosen(slice(count))
            found.append(piece)
            count -= len(piece)
        self._bytes[number] -= sum(map(_size, found))
        return found

    def end(self, partition: Any) -> None:
        """Know that nothing more of a partition will come."""
        self._order.end(self._numbers[partition])

    def full(self) -> set[Any]:
        """Return the partitions of which no more is wanted for now."""
        most = _MOST_BYTES // len(self._partitions)
        return {self._partitions[at] for at, size in enumerate(self._bytes) if size > most}

    def told(self) -> Disorder:
        """Return what is new of how far messages are not in order."""
        return self._order.told()


def _size(piece: Messages) -> int:
    """Return how many bytes messages take: of two parts as many as of the whole."""
    values = piece.values
    return int((values.ends - values.starts).sum()) + piece.table.nbytes
