"""Records from Kafka: topics whose partitions are all this reader's own, positions its own too.

Partitions are assigned, not shared out by a group, and nothing is committed to the broker: where
to go on is the caller's knowledge, kept beside what was learned.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.base import Batch, Position, SourceError
from stream_llsvm.connectors.codecs import Codec
from stream_llsvm.connectors.kafka_batches import MessageBatches
from stream_llsvm.connectors.kafka_client import (
    KafkaTroubleError,
    Settings,
    advertised,
    wait_for_topics,
)
from stream_llsvm.connectors.kafka_messages import Messages
from stream_llsvm.connectors.kafka_records import quicken
from stream_llsvm.connectors.messages import message_codec

log = logging.getLogger("stream_llsvm.kafka")

_ANSWER = 10.0  # seconds for a question about offsets
_GONE = 30.0  # a topic that is missing so long has been deleted


class KafkaSource:
    """The records of some topics, from a position on and for ever.

    Parameters
    ----------
    topics
        A topic, several, or ``{topic: partitions}`` where None stands for all of them.
    servers
        ``"host:port"``, several with commas between, or a list of them.
    codec
        What reads the values, see `message_codec`; JSON maps with the field ``label`` unless given.
        Where it names no key, a record's key is the message's own.
    start
        Where to begin without a position: ``"earliest"``, ``"latest"``, or a position.
    isolation
        ``"read_committed"`` leaves out what aborted transactions wrote; or ``"read_uncommitted"``.
    on_lost_data
        What to do if the wanted offset was deleted: ``"stop"`` with an error, or go on with the
        ``"earliest"`` that is left, which is logged and counted in ``lost``.
    tombstones
        Records without a value: ``"reject"`` them, or ``"skip"`` them and count in ``skipped``.
    key_header
        The header whose value stands for the message's own key.
    options, connect_timeout
        See ``Settings``: security and tuning options of kafka-python, and seconds to wait.
    discover_every
        Seconds between looks for partitions that were added; those are read from their beginning.

    Attributes
    ----------
    lost
        How many records were deleted before they could be read.
    trouble
        What it waits for if no broker answers, as of the last question; empty if all is well.

    """

    def __init__(
        self,
        topics: str | Sequence[str] | Mapping[str, Iterable[int] | None],
        servers: str | Sequence[str],
        *,
        codec: Codec | None = None,
        start: str | Position = "earliest",
        isolation: str = "read_committed",
        on_lost_data: str = "stop",
        tombstones: str = "reject",
        key_header: str | None = None,
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
        discover_every: float = 5.0,
    ) -> None:
        self._settings = Settings(servers, options, connect_timeout)
        wanted: Mapping[str, Iterable[int] | None]
        if isinstance(topics, Mapping):
            wanted = topics
        else:
            wanted = dict.fromkeys([topics] if isinstance(topics, str) else topics)
        self._topics = {t: None if parts is None else set(parts) for t, parts in wanted.items()}
        if not self._topics:
            raise ValueError("KafkaSource needs at least one topic")
        _one_of("isolation", isolation, "read_committed", "read_uncommitted")
        _one_of("on_lost_data", on_lost_data, "stop", "earliest")
        _one_of("tombstones", tombstones, "reject", "skip")
        if isinstance(start, str):
            _one_of("start", start, "earliest", "latest")
        self._batches = MessageBatches(
            message_codec(label="label") if codec is None else codec,
            skip_tombstones=tombstones == "skip",
            key_header=key_header,
        )
        self._begin = start if isinstance(start, str) else "earliest"
        self._given: Position = {} if isinstance(start, str) else start
        self._isolation = isolation
        self._on_lost_data = on_lost_data
        self._discover_every = discover_every
        self._consumer: Any = None
        self._cluster: Any = None
        self._next: dict[Any, int] = {}  # partition -> offset of the record behind the last batch
        self._failed_at: dict[Any, int] | None = None
        self._broken: SourceError | None = None
        self._closed = False
        self._looked = self._moved = 0.0
        self._gone: dict[str, float] = {}
        self._ids: dict[str, Any] = {}
        self.lost = 0
        self.trouble = ""

    def __repr__(self) -> str:
        return f"KafkaSource({self.name!r})"

    @property
    def name(self) -> str:
        """The topics and servers."""
        return f"kafka {','.join(self._topics)} at {','.join(self._settings.servers)}"

    @property
    def raw(self) -> list[Any]:
        """kafka-python's records behind the last batch's places, made anew each time."""
        return self._batches.raw

    @property
    def skipped(self) -> int:
        """How many tombstones were passed over."""
        return self._batches.skipped

    @property
    def ended(self) -> bool:
        """A topic never ends."""
        return False

    @property
    def position(self) -> Position:
        """``{topic: {partition: next offset}}``, partitions as strings; no question to a broker."""
        if self._consumer is None:
            return {topic: dict(parts) for topic, parts in self._given.items()}
        return _as_position(self._next)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records; None if none came in time.

        The first call connects, which takes up to ``connect_timeout``. A broker that goes away
        later is waited for: it is then None until the broker is back.
        """
        self._ready()
        deadline = time.monotonic() + timeout
        while True:
            self._ready()
            self._look_for_partitions()
            found = self._fetch(max_records, max(0.0, deadline - time.monotonic()))
            batch = self._batches.made(found, self.position) if found else None
            if batch is not None:
                return batch
            self._checked()
            if time.monotonic() >= deadline:
                return None

    def seek(self, position: Position) -> None:
        """Go on behind a position that was given before; connects if need be.

        A partition that the position does not name was added since, and is read from its
        beginning; a topic that it does not name is read from ``start``.
        """
        self._given = {topic: dict(parts) for topic, parts in position.items()}
        if self._broken is not None:
            self._broken = None
            self._drop()
        if self._consumer is None:
            self._ready()
        else:
            self._place(self._partitions())
        self._batches.forget()

    def lag(self) -> dict[str, dict[str, int]]:
        """Return how many offsets each partition is behind its end, asked from the brokers.

        While no broker answers, the last known ends count. May be called from another thread.
        """
        consumer, at = self._consumer, dict(self._next)
        if consumer is None or self._closed:
            return {}
        from kafka.errors import KafkaError

        try:
            ends = consumer.end_offsets(list(at), timeout_ms=2000)
            self.trouble = ""
        except (KafkaError, AttributeError):
            self.trouble = "no broker answers; trying again"
            ends = {one: consumer.highwater(one) for one in at}
        return _as_position({one: max(0, (ends.get(one) or n) - n) for one, n in at.items()})

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        if self._consumer is not None:
            self._given = _as_position(self._next)
            self._drop()

    def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with contextlib.suppress(Exception):  # its thread may have died, of whatever
                consumer.close(autocommit=False, timeout_ms=2000)

    def _checked(self) -> None:
        if self._closed:
            raise SourceError(f"{self.name}: the source is closed")
        if self._broken is not None:
            raise self._broken

    def _ready(self) -> None:
        self._checked()
        if self._consumer is not None:
            return
        deadline = time.monotonic() + self._settings.connect_timeout
        try:
            consumer = self._settings.connect(self._make)
            cluster = consumer._cluster  # kafka-python shows its metadata in no other way
            trouble = wait_for_topics(cluster, list(self._topics), deadline)
        except KafkaTroubleError as error:
            raise SourceError(str(error)) from None
        if trouble is not None:
            consumer.close(autocommit=False, timeout_ms=0)
            raise SourceError(f"Kafka at {self._settings.servers[0]}: {trouble.text}")
        self._consumer, self._cluster = consumer, cluster
        try:
            self._ids = {topic: cluster.topic_id(topic) for topic in self._topics}
            self._place(self._partitions())
        except BaseException:
            self._consumer = None
            consumer.close(autocommit=False, timeout_ms=0)
            raise

    def _make(self, config: dict[str, Any]) -> Any:
        from kafka import KafkaConsumer

        fixed = {
            "group_id": None,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",  # a lost offset must be loud
            "isolation_level": self._isolation,
            "key_deserializer": None,
            "value_deserializer": None,  # one that raises makes the next poll spin for ever
        }
        tuned = {
            "metadata_max_age_ms": max(500, int(self._discover_every * 1000)),
            "max_partition_fetch_bytes": 4 << 20,
            "metrics_enabled": False,
        }
        consumer = KafkaConsumer(**(tuned | config | fixed))
        quicken(consumer)
        return consumer

    def _partitions(self) -> list[Any]:
        """Return the partitions to read, in order."""
        from kafka import TopicPartition

        found = []
        for topic, chosen in self._topics.items():
            there = self._cluster.partitions_for_topic(topic) or set()
            if chosen is not None and not chosen <= there:
                lacking = min(chosen - there)
                raise SourceError(
                    f"Kafka: topic {topic!r} has no partition {lacking}, only {len(there)} of them"
                )
            mine = sorted(there if chosen is None else chosen)
            found += [TopicPartition(topic, number) for number in mine]
        return found

    def _place(self, partitions: list[Any]) -> None:
        """Assign the partitions, each at the offset that the given position or ``start`` says."""
        firsts, ends = self._ranges(partitions)
        wanted = {}
        for one in partitions:
            known = self._given.get(one.topic)
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
        self._next = wanted

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
            raise SourceError(self._settings.scrub(f"Kafka: {why}")) from None

    def _instead(self, one: Any, wanted: int, first: int, end: int) -> int:
        """Return where to go on if an offset is not there any more, or raise SourceError."""
        where = f"{one.topic}/{one.partition}"
        text = f"Kafka: {where} lost data: offset {wanted} is wanted, {first} to {end} are there"
        if self._on_lost_data == "stop":
            hint = "on_lost_data='earliest' (--on-lost-data earliest) goes on with what is left"
            raise SourceError(f"{text}; {hint}")
        log.warning("%s; going on at %d", text, first)
        self.lost += max(0, first - wanted)
        return first

    def _fetch(self, max_records: int, timeout: float) -> dict[Any, list[Any]]:
        from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError

        try:
            found: dict[Any, list[Any]] = self._consumer.poll(
                timeout_ms=int(timeout * 1000), max_records=max_records
            )
        except OffsetOutOfRangeError as error:
            lost = dict(error.args[0]) if error.args else {}
            firsts, ends = self._ranges(list(lost))
            for one, wanted in lost.items():
                try:
                    self._next[one] = self._instead(one, wanted, firsts[one], ends[one])
                except SourceError as loud:
                    self._broken = loud
                    raise
                self._consumer.seek(one, self._next[one])
            return {}
        except LogTruncationError as error:
            self._truncated(error)
            return {}
        except KafkaError as error:
            if not error.retriable:
                self._start_over(error)
            else:
                log.warning("%s: %s; trying again", self.name, self._settings.scrub(error))
                time.sleep(min(timeout, 0.1))
            return {}
        except Exception as error:  # records that cannot be unpacked, or the thread has died
            self._start_over(error)
            return {}
        self._keep_positions(found)
        return found

    def _start_over(self, error: Exception) -> None:
        """Connect anew from where this stands; raise SourceError if that was tried here before.

        After most errors kafka-python's consumer is of no use: its next poll spins for ever.
        """
        text = self._settings.scrub(f"{type(error).__name__}: {error}"[:500])
        if self._next == self._failed_at:
            at = ", ".join(f"{one.topic}/{one.partition}@{n}" for one, n in self._next.items())
            self._broken = SourceError(f"Kafka: reading cannot go on at {at[:300]} ({text})")
            raise self._broken from error
        log.warning("%s: %s; connecting anew", self.name, text)
        self._failed_at = dict(self._next)
        self._given = _as_position(self._next)
        self._drop()

    def _truncated(self, error: Any) -> None:
        """Go back to where brokers agree: they elected a leader that lacks what was read."""
        for one, there in error.divergent_offsets.items():
            end = there.offset if there is not None else 0
            firsts, _ = self._ranges([one])
            try:
                self._instead(one, self._next[one], firsts[one], end)
            except SourceError as loud:
                self._broken = loud
                raise
            self._next[one] = max(end, firsts[one])  # what was read before need not be read twice
            self._consumer.seek(one, self._next[one])

    def _keep_positions(self, found: dict[Any, list[Any]]) -> None:
        """Note where each partition stands: also behind gaps and the marks of transactions."""
        from kafka.errors import KafkaError, LogTruncationError

        for one, records in found.items():
            last = records[-1]
            offset = last.offsets[-1] if isinstance(last, Messages) else last.offset
            self._next[one] = int(offset) + 1
        now = time.monotonic()
        if found or now > self._moved + 0.5:
            self._moved = now
            for one in found or self._next:
                try:
                    at = self._consumer.position(one, timeout_ms=0)
                except LogTruncationError as error:
                    # Raised once only. What was fetched is handed out first.
                    try:
                        self._truncated(error)
                    except SourceError:
                        return
                except KafkaError:
                    continue
                else:
                    self._next[one] = max(self._next[one], at or 0)

    def _look_for_partitions(self) -> None:
        """Take up partitions that were added; notice topics that were deleted."""
        from kafka.errors import KafkaError

        now = time.monotonic()
        if now < self._looked + min(1.0, self._discover_every):
            return
        self._looked = now
        for topic in self._topics:
            there = self._cluster.partitions_for_topic(topic)
            identity = self._cluster.topic_id(topic)
            if there is None:
                if now - self._gone.setdefault(topic, now) > _GONE:
                    self._broken = SourceError(f"Kafka: topic {topic!r} was deleted")
                    raise self._broken
                continue
            self._gone.pop(topic, None)
            if identity is not None and self._ids.setdefault(topic, identity) != identity:
                self._broken = SourceError(
                    f"Kafka: topic {topic!r} was deleted and made anew; its offsets mean others"
                )
                raise self._broken
        if self._gone:
            return
        partitions = self._partitions()
        new = [one for one in partitions if one not in self._next]
        if not new:
            return
        try:
            firsts = self._consumer.beginning_offsets(new, timeout_ms=2000)
        except KafkaError as error:  # too fresh to have a leader: the next look will find it
            log.info("%s: %d new partitions are not ready (%s)", self.name, len(new), error)
            return
        self._consumer.assign(partitions)
        for one in new:
            self._consumer.seek(one, firsts[one])
            self._next[one] = firsts[one]
            log.info("%s: partition %d of %s is new", self.name, one.partition, one.topic)


def _one_of(name: str, value: str, *allowed: str) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, not {value!r}")


def _as_position(offsets: Mapping[Any, int]) -> dict[str, dict[str, int]]:
    """Return ``{topic: {partition: number}}`` in plain data."""
    found: dict[str, dict[str, int]] = {}
    for one, number in sorted(offsets.items()):
        found.setdefault(one.topic, {})[str(one.partition)] = number
    return found
