"""What lies between two positions of some partitions, read for who learns that stretch of time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from time import monotonic, sleep
from typing import Any, TypeVar

from stream_llsvm.connectors.base import AwayError, Batch, Position, SourceError
from stream_llsvm.connectors.kafka.borders import Borders, Offsets
from stream_llsvm.connectors.kafka.buffer import TimeBuffer, pieces_of
from stream_llsvm.connectors.kafka.fast_read import stop_at
from stream_llsvm.connectors.kafka.messages import Messages, Portion
from stream_llsvm.connectors.kafka.positions import (
    LostDataError,
    anew,
    as_position,
    offsets_of,
)
from stream_llsvm.connectors.kafka.source import KafkaSource
from stream_llsvm.connectors.kafka.to_batch import MessageBatches
from stream_llsvm.connectors.kafka.topics import ids_of

_Answer = TypeVar("_Answer")
_ANSWER = 10_000  # milliseconds for a question about offsets
_AT_ONCE = 1_000  # messages
_POLL = 0.01  # seconds: where a slice ends with marks of transactions, nothing tells of its end
_FEWEST_BYTES, _MOST_BYTES = 1 << 17, 1 << 22
_USUAL = 200  # bytes of a message, before one was seen
_AROUND = 12  # bytes of a message beside its value
_AHEAD = 64  # portions
_AGAIN = 0.1  # seconds


class SliceBuffer(TimeBuffer):
    """Messages of a slice, in the order of time: a partition is waited for until its end has come.

    Parameters
    ----------
    ends
        Where the slice ends in each partition.
    field
        What reads times from values, see `TimeBuffer`.

    """

    def __init__(self, ends: Mapping[Any, int], field: Any) -> None:
        super().__init__(list(ends), inf, lambda *_: True, field)
        self._ends = ends
        self._over: set[Any] = set()
        self.bytes = self.count = 0

    @property
    def over(self) -> bool:
        """Whether all of the slice has come and was handed out."""
        return not self.awaited and not self.held

    @property
    def awaited(self) -> set[Any]:
        """The partitions of which more is to come."""
        return set(self._ends) - self._over

    def put(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Take what a poll found, but for what lies behind the slice."""
        kept: dict[Any, list[Messages]] = {}
        for partition, piece in pieces_of(found):
            if partition in self._over:
                continue
            end = self._ends[partition]
            last = int(piece.offsets[-1])
            wanted = piece if last < end else piece.chosen(piece.offsets < end)
            if len(wanted):
                kept.setdefault(partition, []).append(wanted)
                self.count += len(wanted)
                values = wanted.values
                self.bytes += int((values.ends - values.starts).sum()) + _AROUND * len(wanted)
            if last >= end - 1:
                self._over.add(partition)
        super().put(kept)
        self.reached({one: self._ends[one] for one in self._over})

    def reached(self, offsets: Mapping[Any, int]) -> None:
        """Know how far partitions were read, also behind gaps and marks of transactions."""
        for one, at in offsets.items():
            if at >= self._ends[one]:
                self._over.add(one)
                self.end(one)

    def full(self) -> set[Any]:
        """Return the partitions of which no more is wanted for now."""
        return super().full() | self._over


class SliceSource(KafkaSource):
    """A reader of slices, one at a time; its options are those of the source that is sliced."""

    _begins: Mapping[Any, int] = {}
    _ends: Mapping[Any, int] = {}
    _size = float(_USUAL)

    def expect(self, ids: dict[str, str]) -> None:
        """Read topics with these ids only, which other readers may add to."""
        self._topics.ids = ids

    def asked(self, question: Callable[[Any, list[Any]], _Answer]) -> _Answer:
        """Return what brokers say of all partitions, who are asked until they answer."""
        from kafka.errors import KafkaError

        deadline = monotonic() + self._settings.connect_timeout
        while True:
            self._ready()
            self._topics.there()
            self._renew()
            try:
                return question(self._consumer, self._topics.partitions())
            except KafkaError as error:
                why = f"no broker says what there is ({self._settings.scrub(error)})"
                if not error.retriable:
                    raise SourceError(f"{self.name}: {why}") from None
                if monotonic() > deadline:
                    raise AwayError(f"{self.name}: {why}") from None
                sleep(_AGAIN)

    def portions(
        self, begins: Offsets, ends: Offsets, wanted: Callable[[], bool] = lambda: True
    ) -> Iterator[Portion]:
        """Yield the messages between these offsets, in the order of time, while they are wanted."""
        self._begins = {one: at for one, at in begins.items() if at < ends[one]}
        self._ends = {one: ends[one] for one in self._begins}
        if not self._ends:
            return
        self._positions.given = as_position(self._begins)
        if self._consumer is None:
            self._ready()
        else:
            self._begin()
        while wanted():
            self._ready()
            self._topics.there()
            self._renew()
            self._ask()
            self._ready()  # anew, if a partition had stalled
            held = self._held
            assert isinstance(held, SliceBuffer)  # another one if it has connected anew
            held.reached(self._positions.reached(held.awaited))
            if held.over:
                self._size = max(20.0, held.bytes / held.count) if held.count else self._size
                return
            found = self._fetch(_AT_ONCE, _POLL)
            if found is not None:
                yield found
            self._checked()

    def _begin(self) -> None:
        if not self._ends:
            return
        given = self._positions.given
        wanted = {one: int(given[one.topic][str(one.partition)]) for one in self._begins}
        longest = max(self._ends[one] - at for one, at in wanted.items())
        limit = min(_MOST_BYTES, max(_FEWEST_BYTES, int(1.1 * self._size * longest)))
        stop_at(self._consumer, self._ends, limit)
        self._positions.go(wanted)
        self._consumer.resume(*wanted)
        several = len(self._topics.partitions()) > 1
        self._held = SliceBuffer(self._ends, self._batches.times if several else None)
        self._held.reached(wanted)
        self._paused = set()

    def _awaited(self) -> set[Any]:
        held = self._held
        return held.awaited if isinstance(held, SliceBuffer) else set()

    def _renew(self) -> None:
        """Raise LostDataError if a topic was made anew: borders mean offsets of the old one."""
        if renewed := self._topics.renewed():
            raise LostDataError(anew(min(renewed)))


class Slices:
    """What a source knows of its slices; the next one is fetched while one is learned.

    Parameters
    ----------
    options
        What another source like it is made of.
    batches
        What makes batches of messages.
    ids
        The topics' ids, to which positions add those that they name.

    """

    def __init__(
        self, options: Mapping[str, Any], batches: MessageBatches, ids: dict[str, str]
    ) -> None:
        if options["order"] == "arrival":
            raise SourceError("slices are in the order of time: leave out order='arrival'")
        self._options, self._batches, self._ids = options, batches, ids
        self._asker = self._made()
        self._idle: list[SliceSource] = []
        self._next: _Fetched | None = None
        self._borders = Borders(self._at_time)

    def _made(self) -> SliceSource:
        source = SliceSource(**self._options)
        source.expect(self._ids)
        return source

    def ends(self) -> Position:
        """Return where all partitions end now."""

        def question(consumer: Any, partitions: list[Any]) -> Offsets:
            found: Offsets = consumer.end_offsets(partitions, timeout_ms=_ANSWER)
            return found

        return as_position(self._asker.asked(question))

    def _at_time(self, time: int) -> dict[Any, tuple[int, int] | None]:
        def question(consumer: Any, partitions: list[Any]) -> dict[Any, tuple[int, int] | None]:
            found = consumer.offsets_for_times(dict.fromkeys(partitions, time), timeout_ms=_ANSWER)
            return {one: None if at is None else at[:2] for one, at in found.items()}

        return self._asker.asked(question)

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices."""
        if size < 1 or count < 1:
            raise ValueError("size and count must be at least 1")
        here, last = self._from(begin, ends), offsets_of(ends)
        last = {one: max(at, last.get(one, at)) for one, at in here.items()}
        borders = [begin]
        while here != last and len(borders) <= count:
            here = self._borders.next(here, last, size)
            borders.append(as_position(here))
        return borders

    def _from(self, begin: Position, ends: Position) -> Offsets:
        """Return the offsets of a position; partitions that were added since have a beginning."""
        self._ids.update(ids_of(begin))
        here, last = offsets_of(begin), offsets_of(ends)
        if all(one in here for one in last):
            return here

        def question(consumer: Any, partitions: list[Any]) -> Offsets:
            found: Offsets = consumer.beginning_offsets(partitions, timeout_ms=_ANSWER)
            return found

        firsts = self._asker.asked(question)
        return here | {one: firsts[one] for one in last if one not in here}

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return how many offsets lie between two positions."""
        here, last = self._from(begin, ends), offsets_of(ends)
        return sum(max(0, last.get(one, at) - at) for one, at in here.items())

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield the records of a slice; the last batch stands at its end."""
        at = self._from(begin, end)
        last: Batch | None = None
        for portion in self._portions(dict(at), offsets_of(end)):
            at.update(portion.ends())  # whose keys are equal to partitions
            batch = self._batches.made(portion, as_position(at))
            if batch is None:
                continue
            if last is not None:
                yield last
            last = batch
        if last is not None:
            last.position = end
            yield last

    def _portions(self, begins: Offsets, ends: Offsets) -> Iterator[Portion]:
        ahead, self._next = self._next, None
        if ahead is not None and ahead.of == (begins, ends):
            found, source = ahead.portions(), ahead.source
        else:
            if ahead is not None:
                self._idle.append(ahead.stopped())
            ahead, source = None, self._idle.pop() if self._idle else self._made()
            found = source.portions(begins, ends)
        try:
            yield from found
        finally:
            self._idle.append(source if ahead is None else ahead.stopped())

    def prefetch(self, begin: Position, end: Position) -> None:
        """Fetch a slice that will be asked for next."""
        if self._options["time"] is not None:  # reading times needs what reads the values
            return
        if self._next is not None:
            self._idle.append(self._next.stopped())
        source = self._idle.pop() if self._idle else self._made()
        self._next = _Fetched(source, self._from(begin, end), offsets_of(end))

    def close(self) -> None:
        """Let go of the connections."""
        if self._next is not None:
            self._idle.append(self._next.stopped())
            self._next = None
        for source in (self._asker, *self._idle):
            source.close()


class _Fetched:
    """A slice that a thread fetches."""

    def __init__(self, source: SliceSource, begins: Offsets, ends: Offsets) -> None:
        self.source, self.of = source, (begins, ends)
        self._ready: queue.Queue[Portion | Exception | None] = queue.Queue(_AHEAD)
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._fetch, name="kafka-slice", daemon=True)
        self._thread.start()

    def _fetch(self) -> None:
        try:
            for portion in self.source.portions(*self.of, lambda: not self._unwanted.is_set()):
                if not self._put(portion):
                    return
            self._put(None)
        except Exception as error:
            self._put(error)

    def _put(self, item: Portion | Exception | None) -> bool:
        while not self._unwanted.is_set():
            try:
                self._ready.put(item, timeout=_AGAIN)
            except queue.Full:
                continue
            return True
        return False

    def portions(self) -> Iterator[Portion]:
        """Yield what was fetched, and what is fetched meanwhile."""
        while (item := self._ready.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    def stopped(self) -> SliceSource:
        """Fetch no more of it, and return the source."""
        self._unwanted.set()
        self._thread.join()
        return self.source
