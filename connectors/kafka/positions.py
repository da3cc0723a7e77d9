"""Where each partition of some topics stands, and where to go on if that is not there any more."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from stream_llsvm.connectors.base import (
    TOPIC_IDS,
    AwayError,
    Incident,
    Position,
    SourceError,
)
from stream_llsvm.connectors.kafka.client import Settings, advertised

log = logging.getLogger("stream_llsvm.kafka")

_ANSWER = 10.0  # seconds for a question about offsets
_ENDS = 2_000  # milliseconds for a question that is asked all the time
_REMEMBERED = 100  # incidents that nobody has reported yet


class LostDataError(SourceError):
    """What is to be read next is not there any more."""


class Positions:
    """The offset at which each partition is read next.

    Parameters
    ----------
    start
        Where to begin without a position: ``"earliest"``, ``"latest"``, or a position.
    isolation, on_lost_data
        As for a `KafkaSource`.
    settings
        How the brokers are reached.

    Attributes
    ----------
    given
        The position from which reading begins, or begins anew.
    next
        The offset behind the last record handed out, by partition.
    lost
        How many records were deleted before they could be read.
    incidents
        What was lost, for whoever reports it.

    """

    def __init__(
        self, start: str | Position, isolation: str, on_lost_data: str, settings: Settings
    ) -> None:
        self._begin = start if isinstance(start, str) else "earliest"
        self.given: Position = {} if isinstance(start, str) else start
        self._isolation = isolation
        self._on_lost_data = on_lost_data
        self._settings = settings
        self._consumer: Any = None
        self._cluster: Any = None
        self.next: dict[Any, int] = {}
        self._ends: dict[Any, int] = {}
        self._moved = 0.0
        self.lost = 0
        self.incidents: deque[Incident] = deque(maxlen=_REMEMBERED)

    def attach(self, consumer: Any, cluster: Any) -> None:
        """Place this consumer from now on."""
        self._consumer, self._cluster = consumer, cluster

    def place(self, partitions: list[Any]) -> None:
        """Assign the partitions, each at the offset that the given position or the start says."""
        firsts, ends = self._ranges(partitions)
        self._ends = ends
        wanted = {}
        for one in partitions:
            known = self.given.get(one.topic)
            if known is None:
                wanted[one] = (firsts if self._begin == "earliest" else ends)[one]
            else:
                wanted[one] = int(known.get(str(one.partition), firsts[one]))
            # Readers of committed data are told a nearer end than where others may stand; for
            # them an offset behind the end shows when it is fetched.
            last = ends[one] if self._isolation == "read_uncommitted" else wanted[one]
            if not firsts[one] <= wanted[one] <= last:
                wanted[one] = self._instead(one, wanted[one], firsts[one], ends[one])
        self._consumer.assign(partitions)
        for one, offset in wanted.items():
            self._consumer.seek(one, offset)
        self.next = wanted

    def go(self, wanted: Mapping[Any, int]) -> None:
        """Assign these partitions at these offsets; what is not there shows when it is fetched."""
        if self._consumer.assignment() != set(wanted):
            self._consumer.assign(list(wanted))
        for one, offset in wanted.items():
            self._consumer.seek(one, offset)
        self.next = dict(wanted)

    def reached(self, partitions: Collection[Any]) -> dict[Any, int]:
        """Return how far these were read, also behind gaps and the marks of transactions."""
        from kafka.errors import KafkaError

        found = {}
        for one in partitions:
            try:
                at = self._consumer.position(one, timeout_ms=0)
            except KafkaError:  # which the next poll tells of
                continue
            if at is not None:
                found[one] = at
        return found

    def _ranges(self, partitions: list[Any]) -> tuple[dict[Any, int], dict[Any, int]]:
        from kafka.errors import KafkaError

        limit = int(_ANSWER * 1000)
        try:
            firsts = self._consumer.beginning_offsets(partitions, timeout_ms=limit)
            return firsts, self._consumer.end_offsets(partitions, timeout_ms=limit)
        except KafkaError as error:
            config = self._settings.resolve()
            trouble = advertised(self._cluster, self._settings, config)
            why = trouble.text if trouble else f"no broker says which offsets there are ({error})"
            raise AwayError(self._settings.scrub(f"Kafka: {why}")) from None

    def _instead(self, one: Any, wanted: int, first: int, end: int) -> int:
        """Return where to go on if an offset is not there any more, or raise LostDataError."""
        where = f"{one.topic}/{one.partition}"
        text = f"Kafka: {where} lost data: offset {wanted} is wanted, {first} to {end} are there"
        self._lose(f"{text}; going on at {first}", text, max(0, first - wanted))
        return first

    def _lose(self, going_on: str, text: str, count: int) -> None:
        """Note that records are lost, or raise LostDataError."""
        if self._on_lost_data == "stop":
            hint = "on_lost_data='earliest' (--on-lost-data earliest) goes on with what is left"
            raise LostDataError(f"{text}; {hint}")
        log.warning("%s", going_on)
        self.lost += count
        self.incidents.append(Incident("lost_records", going_on, count))

    def anew(self, topics: Iterable[str]) -> None:
        """Forget the offsets of topics that were made anew, or raise LostDataError."""
        for topic in topics:
            text = anew(topic)
            self._lose(f"{text}; going on with its first message", text, 0)
            self.given[topic] = {}  # what is not named is read from its beginning

    def out_of_range(self, error: Any) -> None:
        """Go on where there is something, or raise LostDataError."""
        lost = dict(error.args[0]) if error.args else {}
        firsts, ends = self._ranges(list(lost))
        for one, wanted in lost.items():
            self.next[one] = self._instead(one, wanted, firsts[one], ends[one])
            self._consumer.seek(one, self.next[one])

    def truncated(self, error: Any) -> None:
        """Go back to where brokers agree: they elected a leader that lacks what was read."""
        for one, there in error.divergent_offsets.items():
            end = there.offset if there is not None else 0
            firsts, _ = self._ranges([one])
            self._instead(one, self.next[one], firsts[one], end)
            self.next[one] = max(end, firsts[one])  # what was read before need not be read twice
            self._consumer.seek(one, self.next[one])

    def move_on(self, ends: Mapping[Any, int], held: Collection[Any]) -> None:
        """Note where each partition stands: also behind gaps and the marks of transactions.

        Where the consumer stands says nothing as long as messages before that are ``held``.
        """
        self.next.update(ends)
        now = time.monotonic()
        if not ends and now <= self._moved + 0.5:
            return
        for one in self.next:
            if one in held or (ends and one not in ends):
                continue
            self._moved = now
            self.next[one] = max(self._reached(one) or 0, self.next[one])

    def _reached(self, one: Any) -> int | None:
        """Return how far the consumer has read a partition; None if it does not say just now."""
        from kafka.errors import KafkaError, LogTruncationError

        try:
            at: int | None = self._consumer.position(one, timeout_ms=0)
        except LogTruncationError as error:
            self.truncated(error)  # which the consumer raises only once
        except KafkaError:
            pass
        else:
            return at
        return None

    def ask(self) -> bool:
        """Ask where the partitions end now; return whether brokers answered."""
        try:
            ends = self._consumer.end_offsets(list(self.next), timeout_ms=_ENDS)
        except Exception:  # what else than that is wrong shows in the next poll
            return False
        self._ends = self._ends | ends  # another one: a thread beside may read the old one
        return True

    def lag(self) -> dict[Any, int]:
        """Return how far each partition is behind its end as of the last answer, in any thread."""
        ends = self._ends
        return {one: max(0, ends.get(one, at) - at) for one, at in dict(self.next).items()}

    def behind(self, partitions: Iterable[Any]) -> dict[Any, int]:
        """Return how far those of these partitions were read that are known to have more."""
        reached = {one: self._reached(one) for one in partitions}
        return {
            one: at for one, at in reached.items() if at is not None and at < self._ends.get(one, 0)
        }

    def more(self, one: Any, fetched: int) -> bool:
        """Whether a partition is known to have more than was fetched, up to an offset."""
        from kafka.errors import KafkaError

        end = self._consumer.highwater(one)
        end = self._ends.get(one) if end is None else end
        if end is None:
            return True
        if max(fetched, self.next[one]) >= end:
            return False
        try:  # what is left may be the marks of transactions
            at = self._consumer.position(one, timeout_ms=0)
        except KafkaError:  # which the next poll tells of
            return True
        return at is None or at < end

    def take_up(self, partitions: list[Any]) -> bool:
        """Read those that are new from their beginning; return whether there are any."""
        from kafka.errors import KafkaError

        new = [one for one in partitions if one not in self.next]
        if not new:
            return False
        try:
            firsts = self._consumer.beginning_offsets(new, timeout_ms=2000)
            self._ends |= self._consumer.end_offsets(new, timeout_ms=2000)
        except KafkaError as error:  # too fresh to have a leader: the next look will find it
            log.info("Kafka: %d new partitions are not ready (%s)", len(new), error)
            return False
        self._consumer.assign(partitions)
        for one in new:
            self._consumer.seek(one, firsts[one])
            self.next[one] = firsts[one]
            log.info("Kafka: partition %d of %s is new", one.partition, one.topic)
        return True


def anew(topic: str) -> str:
    """Return the sentence about a topic whose offsets mean other messages now."""
    return f"Kafka: topic {topic!r} was deleted and made anew; its offsets mean others"


def as_position(offsets: Mapping[Any, int]) -> dict[str, dict[str, int]]:
    """Return ``{topic: {partition: number}}`` in plain data."""
    found: dict[str, dict[str, int]] = {}
    for one, number in sorted(offsets.items()):
        found.setdefault(one.topic, {})[str(one.partition)] = number
    return found


def offsets_of(position: Position) -> dict[Any, int]:
    """Return offsets by partition, of what `as_position` makes of them."""
    from kafka import TopicPartition

    return {
        TopicPartition(topic, int(part)): int(at)
        for topic, parts in position.items()
        if topic != TOPIC_IDS
        for part, at in parts.items()
    }
