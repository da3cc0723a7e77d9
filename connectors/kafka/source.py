"""Records from Kafka: topics whose partitions are all this reader's own, positions its own too.

Partitions are assigned, not shared out by a group, and where to go on is the caller's knowledge,
kept beside what was learned. A group may show it to others; nothing is read from there.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from stream_llsvm.connectors.base import (
    TOPIC_IDS,
    AwayError,
    Batch,
    Incident,
    Position,
    SourceError,
)
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.description import described
from stream_llsvm.connectors.field_times import FieldTimes
from stream_llsvm.connectors.formats import message_codec
from stream_llsvm.connectors.kafka.buffer import FetchBuffer, TimeBuffer, pieces_of
from stream_llsvm.connectors.kafka.client import (
    KafkaAwayError,
    KafkaTroubleError,
    Settings,
    wait_for_topics,
)
from stream_llsvm.connectors.kafka.fast_read import metadata_of, quicken
from stream_llsvm.connectors.kafka.group import GroupDisplay
from stream_llsvm.connectors.kafka.messages import Portion
from stream_llsvm.connectors.kafka.positions import (
    LostDataError,
    Positions,
    as_position,
    offsets_of,
)
from stream_llsvm.connectors.kafka.stalls import Stalls
from stream_llsvm.connectors.kafka.to_batch import MessageBatches
from stream_llsvm.connectors.kafka.topics import Topics, ids_of
from stream_llsvm.connectors.order import MAX_WAIT, is_by_time

if TYPE_CHECKING:
    from stream_llsvm.connectors.kafka.slices import Slices

log = logging.getLogger("stream_llsvm.kafka")

_AWAY = "no broker answers; trying again"
_AT_ONCE = 20_000  # messages of what was fetched already
_ASK = 1.0  # seconds between two questions where partitions end


class KafkaSource:
    """The records of some topics, from a position on and for ever.

    Parameters
    ----------
    topics
        A topic, several, or ``{topic: partitions}`` where None stands for all of them.
    servers
        ``"host:port"``, several with commas between, or a list of them.
    codec
        What reads the values, see `message_codec`. Where it names no key, a record's key is the
        message's own.
    fields
        Instead of a codec what `message_codec` makes one of: ``format``, ``names``, ``label``
        (``"label"`` unless given), ``key``, ``ignore``, ``features``, ``missing``, ...
    start
        Where to begin without a position: ``"earliest"``, ``"latest"``, or a position.
    isolation
        ``"read_committed"`` leaves out what aborted transactions wrote; or ``"read_uncommitted"``.
    on_lost_data
        What to do if the wanted offset was deleted: ``"stop"`` with an error, or go on with the
        ``"earliest"`` that is left, which is logged and counted in ``lost``. A topic that was
        deleted and made anew is lost data, too, also if that was while nothing read it.
    tombstones
        Records without a value: ``"reject"`` them, or ``"skip"`` them and count in ``skipped``.
    key_header
        The header whose value stands for the message's own key.
    group
        A consumer group that shows, for displays only, how far checkpoints have come.
    order
        Records of several partitions come in the order of their ``"time"``, of equal times the
        lower partition first; or as they arrive, ``"arrival"``. Within a partition the order is
        always its own.
    time
        The field that says when a record was: a number, or a date and time. It stays a feature.
        Without it the broker's timestamp counts. A record that does not say it is rejected.
    max_wait
        Seconds that a partition is waited for that has more and does not give it. One that has
        nothing more holds others back for `UNDER_WAY` only.
    options, connect_timeout
        See ``Settings``: security and tuning options of kafka-python, and seconds to wait.
    discover_every
        Seconds between looks for partitions that were added; those are read from their beginning.

    Attributes
    ----------
    trouble
        What it waits for if no broker answers, as of the last question; empty if all is well.
    incidents
        What it lost, and which partitions stalled, for whoever reports it.

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
        group: str | None = None,
        order: str = "time",
        time: str | None = None,
        max_wait: float = MAX_WAIT,
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
        discover_every: float = 5.0,
        **fields: Any,
    ) -> None:
        if codec is not None and fields:
            raise TypeError(f"give a codec, or {', '.join(fields)}; not both")
        self._settings = Settings(servers, options, connect_timeout)
        self._topics = Topics(topics)
        _one_of("isolation", isolation, "read_committed", "read_uncommitted")
        _one_of("on_lost_data", on_lost_data, "stop", "earliest")
        _one_of("tombstones", tombstones, "reject", "skip")
        self._by_time, self._max_wait = is_by_time(order, time, max_wait), max_wait
        if isinstance(start, str):
            _one_of("start", start, "earliest", "latest")
        self._fields = None if codec is not None else {"label": "label"} | fields
        codec = message_codec(**({"label": "label"} | fields)) if codec is None else codec
        self._batches = MessageBatches(
            codec,
            skip_tombstones=tombstones == "skip",
            key_header=key_header,
            times=None if time is None else FieldTimes(codec, time),
        )
        self._positions = Positions(start, isolation, on_lost_data, self._settings)
        self._display = None if group is None else GroupDisplay(group, self._settings)
        self._isolation = isolation
        self._discover_every = discover_every
        self._held = FetchBuffer()
        self._paused: set[Any] = set()
        self._rest: set[Any] = set()  # the partition of which the last poll may have left something
        self._stalls, self._due = Stalls(), 0.0
        self._consumer: Any = None
        self._failed_at: dict[Any, int] | None = None
        self._broken: SourceError | None = None
        self._closed = False
        self._looked = 0.0
        self.trouble = ""
        self._dealt: Slices | None = None
        self._twin = {
            "topics": topics, "servers": servers, "codec": codec, "isolation": isolation,
            "on_lost_data": on_lost_data, "tombstones": tombstones, "key_header": key_header,
            "order": order, "time": time, "options": options, "connect_timeout": connect_timeout,
        }  # fmt: skip
        self._first = start
        if not isinstance(start, str):
            self._topics.expect(ids_of(start))

    def __repr__(self) -> str:
        return f"KafkaSource({self.name!r})"

    @property
    def name(self) -> str:
        """The topics and servers."""
        return f"kafka {','.join(self._topics.names)} at {','.join(self._settings.servers)}"

    @property
    def raw(self) -> list[Any]:
        """kafka-python's records behind the last batch's places, made anew each time."""
        return self._batches.raw

    @property
    def lost(self) -> int:
        """How many records were deleted before they could be read."""
        return self._positions.lost

    @property
    def incidents(self) -> deque[Incident]:
        """What it met and went on from, for whoever reports it."""
        return self._positions.incidents

    @property
    def skipped(self) -> int:
        """How many tombstones were passed over."""
        return self._batches.skipped

    def keep_text(self) -> None:
        """Leave values as they are from now on: see `Verbatim`."""
        self._batches.codec.keep_text()

    @property
    def ended(self) -> bool:
        """A topic never ends."""
        return False

    @property
    def position(self) -> Position:
        """``{topic: {partition: next offset}}``, partitions as strings; no question to a broker.

        Beside them the topics' ids, since an offset means nothing in a topic made anew.
        """
        if self._consumer is not None:
            return self._with_ids(as_position(self._positions.next))
        return self._with_ids({name: dict(part) for name, part in self._positions.given.items()})

    def _with_ids(self, position: Position) -> Position:
        ids = self._topics.ids
        return position | {TOPIC_IDS: dict(ids)} if ids else position

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records; None if none came in time.

        The first call connects, which takes up to ``connect_timeout``. A broker that goes away
        later is waited for: it is then None until the broker is back.
        """
        self._ready()
        deadline = monotonic() + timeout
        while True:
            self._ready()
            self._look()
            self._ask()
            self._ready()  # anew, if a partition had stalled
            found = self._fetch(max_records, max(0.0, deadline - monotonic()))
            batch = None if found is None else self._batches.made(found, self.position)
            if batch is not None:
                batch.disorder = self._held.told()
                return batch
            self._checked()
            if monotonic() >= deadline:
                if timeout > 0:  # there is time to ask
                    self._due = min(self._due, monotonic() + _ASK)
                return None

    def seek(self, position: Position) -> None:
        """Go on behind a position that was given before; connects if need be.

        A partition that the position does not name was added since, and is read from its
        beginning; a topic that it does not name is read from ``start``.
        """
        self._topics.check(position)
        self._topics.expect(ids_of(position))
        self._positions.given = {topic: dict(parts) for topic, parts in position.items()}
        if self._broken is not None:
            self._broken = None
            self._drop()
        if self._consumer is None:
            self._ready()
        else:
            self._begin()
        self._batches.forget()

    def lag(self) -> dict[str, dict[str, int]]:
        """Return how many offsets each partition is behind its end, as brokers last said.

        Who polls asks them, once a second. May be called from another thread.
        """
        if self._consumer is None or self._closed:
            return {}
        return as_position(self._positions.lag())

    @property
    def endless(self) -> bool:
        """More may always come."""
        return True

    @property
    def description(self) -> dict[str, Any]:
        """What another process makes the same source of, see `Described`.

        Raises ValueError if there is something that only code can say.
        """
        how = dict(self._twin)
        _, tombstones, header = (how.pop(one) for one in ("codec", "tombstones", "key_header"))
        if self._fields is None or tombstones != "reject" or header is not None:
            raise ValueError(
                "learners open a topic for themselves: say what its fields are, and leave out "
                "codec, tombstones and key_header"
            )
        if plain := self._settings.plain_secrets():
            raise ValueError(f'{plain[0]}: learners read it for themselves: give {{"env": NAME}}')
        del how["topics"], how["servers"]
        fields = {
            "message" if name == "format" else name: one for name, one in self._fields.items()
        }
        own = {"start": self._first, "partitions": self._topics.same_partitions()}
        address = f"kafka://{','.join(self._settings.servers)}/{','.join(self._topics.names)}"
        return described([address], how | fields | own)

    def start(self) -> Position:
        """Return where a run begins that has learned nothing yet; connects."""
        self._ready()
        return self.position

    def ends(self) -> Position:
        """Return where all partitions end now, asked from the brokers."""
        self.trouble = _AWAY  # unless one does
        found = self._slices.ends()
        self.trouble = ""
        return self._with_ids(found)

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices: the same stretch of time of all partitions, see `Sliced`.

        The broker's timestamps say which, also where a field says when a record was.
        """
        borders = self._slices.cut(begin, ends, size, count)
        self._positions.next.update(offsets_of(begin))  # what is before has been learned
        return [self._with_ids(one) for one in borders]

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return how many offsets lie between two positions."""
        return self._slices.backlog(begin, ends)

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield the records between two positions in the order of time, by other connections.

        A partition whose broker does not answer is waited for, however long.
        """
        return self._slices.between(begin, end)

    def prefetch(self, begin: Position, end: Position) -> None:
        """Fetch what `between` will be asked for next, in a thread."""
        self._slices.prefetch(begin, end)

    @property
    def _slices(self) -> Slices:
        if self._dealt is None:
            from stream_llsvm.connectors.kafka.slices import Slices

            self._dealt = Slices(self._twin, self._batches, self._topics.ids)
        return self._dealt

    def display(self, position: Position) -> None:
        """Show that what lies before this position is in a checkpoint, if there is a group."""
        if self._display is not None:
            self._display.show(position)

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        if self._display is not None:
            self._display.close()
        if self._dealt is not None:
            self._dealt.close()
        if self._consumer is not None:
            self._positions.given = as_position(self._positions.next)
            self._drop()

    def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._held = FetchBuffer()
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
        deadline = monotonic() + self._settings.connect_timeout
        try:
            consumer = self._settings.connect(self._make)
            cluster = metadata_of(consumer)
            trouble = wait_for_topics(cluster, self._topics.names, deadline)
        except KafkaTroubleError as error:
            kind = AwayError if isinstance(error, KafkaAwayError) else SourceError
            raise kind(str(error)) from None
        if trouble is not None:
            consumer.close(autocommit=False, timeout_ms=0)
            raise SourceError(f"Kafka at {self._settings.servers[0]}: {trouble.text}")
        self._consumer = consumer
        self._positions.attach(consumer, cluster)
        try:
            self._topics.attach(cluster)
            self._begin()
            self._stalls.forget()
            self._due = monotonic() + _ASK
        except BaseException:
            self._consumer = None
            consumer.close(autocommit=False, timeout_ms=0)
            raise

    def _begin(self) -> None:
        """Place the consumer, and hold nothing that it fetched before."""
        self._renew()
        partitions = self._topics.partitions()
        self._positions.place(partitions)
        self._consumer.resume(*partitions)
        self._held, self._paused = self._buffer(partitions), set()

    def _renew(self) -> None:
        """Read topics from their beginning that were made anew; raises LostDataError."""
        renewed = self._topics.renewed()
        self._positions.anew(renewed)
        self._topics.ids.update(renewed)

    def _buffer(self, partitions: list[Any]) -> FetchBuffer:
        """Return what holds what is fetched; one partition has its order already."""
        if not self._by_time or len(partitions) < 2:
            return FetchBuffer()
        times = self._batches.times
        return TimeBuffer(partitions, self._max_wait, self._positions.more, times)

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

    def _fetch(self, max_records: int, timeout: float) -> Portion | None:
        """Return the next messages, None if none may be handed out in time."""
        portion = self._held.take(max_records)
        if portion is None:
            self._polled(max(max_records, _AT_ONCE), min(timeout, self._held.wait))
            portion = self._held.take(max_records) if self._consumer is not None else None
        if self._consumer is None:
            return None
        # What was fetched is handed out before an error is told of.
        with contextlib.suppress(SourceError), self._final(LostDataError):
            ends = {} if portion is None else portion.ends()
            self._positions.move_on(ends, self._held.held)
        return portion

    def _polled(self, most: int, timeout: float) -> None:
        """Hold what the consumer has got; nothing if it was lost or in trouble."""
        from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError

        self._pause()
        try:
            found = self._consumer.poll(timeout_ms=ceil(timeout * 1000), max_records=most)
        except OffsetOutOfRangeError as error:
            with self._final(LostDataError):
                self._positions.out_of_range(error)
        except LogTruncationError as error:
            with self._final(LostDataError):
                self._positions.truncated(error)
        except KafkaError as error:
            if not error.retriable:
                self._start_over(error)
            else:
                log.warning("%s: %s; trying again", self.name, self._settings.scrub(error))
                sleep(min(timeout, 0.1))
        except Exception as error:  # records that cannot be unpacked, or the thread has died
            self._start_over(error)
        else:
            count = sum(len(piece) for _, piece in pieces_of(found))
            self._rest = {next(reversed(found))} if count >= most else set()
            self._stalls.polled(rest=bool(self._rest), partitions=len(self._positions.next))
            self._held.put(found)

    def _pause(self) -> None:
        """Fetch no more of partitions that hold much already, while others are waited for.

        But for the one of which the last poll has left something: that would be set aside, and
        kafka-python may never come back to it.
        """
        full = self._held.full() - self._rest
        if full != self._paused:
            self._consumer.pause(*(full - self._paused))
            self._consumer.resume(*(self._paused - full))
            self._paused = full

    @contextlib.contextmanager
    def _final(self, kind: type[SourceError]) -> Iterator[None]:
        """Let an error of this kind end the source: it is raised again with every poll."""
        try:
            yield
        except kind as error:
            self._broken = error
            raise

    def _start_over(self, error: Exception) -> None:
        """Connect anew from where this stands; raise SourceError if that was tried here before.

        After most errors kafka-python's consumer is of no use: its next poll spins for ever.
        """
        text = self._settings.scrub(f"{type(error).__name__}: {error}"[:500])
        if self._positions.next == self._failed_at:
            at = ", ".join(
                f"{one.topic}/{one.partition}@{n}" for one, n in self._positions.next.items()
            )
            self._broken = SourceError(f"Kafka: reading cannot go on at {at[:300]} ({text})")
            raise self._broken from error
        log.warning("%s: %s; connecting anew", self.name, text)
        self._failed_at = dict(self._positions.next)
        self._connect_anew()

    def _connect_anew(self) -> None:
        """Let go of the consumer; the next goes on where this one stands."""
        self._positions.given = as_position(self._positions.next)
        self._drop()

    def _ask(self) -> None:
        """Ask where partitions end, now and then: what is behind, and gives nothing, has stalled.

        Where a broker is slow to answer, no more than a tenth of the time goes into that.
        """
        begin = monotonic()
        if begin < self._due:
            return
        answered = self._positions.ask()
        now = monotonic()
        self._due = now + max(_ASK, 10 * (now - begin))
        self.trouble = "" if answered else _AWAY
        if not answered:
            self._stalls.forget()
            return
        with self._final(LostDataError):
            behind = self._positions.behind(self._awaited() - self._paused)
        stalled = self._stalls.look(behind, now)
        for one in stalled:
            text = f"{one.topic}/{one.partition} has more and gives nothing; connecting anew"
            log.warning("%s: %s", self.name, text)
            self.incidents.append(Incident("stalled", text, 1))
        if stalled:
            self._connect_anew()

    def _awaited(self) -> set[Any]:
        """Return the partitions that are read now."""
        return set(self._positions.next)

    def _look(self) -> None:
        """Take up partitions that were added; notice topics that were deleted."""
        now = monotonic()
        if now < self._looked + min(1.0, self._discover_every):
            return
        self._looked = now
        with self._final(SourceError):
            if not self._topics.there():
                return
            anew = bool(self._topics.renewed())
        if self._positions.take_up(self._topics.partitions()) and self._by_time:
            anew = True  # what is held has to wait for more partitions now
        if anew:
            with self._final(LostDataError):
                self._positions.given = as_position(self._positions.next)
                self._begin()


def _one_of(name: str, value: str, *allowed: str) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, not {value!r}")
