"""Messages dealt out over the members of a consumer group, for those who only answer."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from time import monotonic
from typing import Any

from stream_llsvm.connectors.base import Batch, SourceError
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.kafka.buffer import pieces_of
from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings, wait_for_topics
from stream_llsvm.connectors.kafka.fast_read import keep_joining, metadata_of, quicken
from stream_llsvm.connectors.kafka.messages import Portion
from stream_llsvm.connectors.kafka.to_batch import MessageBatches

log = logging.getLogger("stream_llsvm.kafka")


class SharedSource:
    """Topics whose partitions are dealt out over all who name the same group.

    What was handed out counts as done with `commit`, and until then is handed out again if its
    partition goes to another member: each record is handed out at least once. While partitions
    are dealt out anew nothing is handed out, since nothing could be committed.

    Parameters
    ----------
    topics
        Their names.
    servers, options, connect_timeout
        See ``Settings``.
    group
        The consumer group, which keeps the positions.
    codec
        What reads the values.
    start
        Where a group begins that has no position yet: ``"earliest"`` or ``"latest"``.
    isolation
        As of `KafkaSource`.

    """

    def __init__(
        self,
        topics: Sequence[str],
        servers: str,
        group: str,
        *,
        codec: Codec,
        start: str = "earliest",
        isolation: str = "read_committed",
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
    ) -> None:
        self._settings = Settings(servers, options, connect_timeout)
        self._topics = list(topics)
        self._batches = MessageBatches(codec, skip_tombstones=False, key_header=None)
        self._fixed = {
            "group_id": group,
            "enable_auto_commit": False,
            "auto_offset_reset": start,
            "isolation_level": isolation,
            "key_deserializer": None,
            "value_deserializer": None,
        }
        self.name = f"kafka {','.join(topics)} at {servers}, group {group}"
        # The offset behind the last record of each partition that was handed out, and of those
        # that are done and not committed yet.
        self._handed_out: dict[Any, int] = {}
        self._done: dict[Any, int] = {}
        self._consumer = self._connected(monotonic() + connect_timeout)

    def _connected(self, deadline: float) -> Any:
        try:
            consumer = self._settings.connect(self._make)
            trouble = wait_for_topics(metadata_of(consumer), self._topics, deadline)
        except KafkaTroubleError as error:
            raise SourceError(str(error)) from None
        if trouble is not None:
            consumer.close(autocommit=False, timeout_ms=0)
            raise SourceError(f"Kafka at {self._settings.servers[0]}: {trouble.text}")
        consumer.subscribe(self._topics, listener=_listener(self))
        return consumer

    def _make(self, config: dict[str, Any]) -> Any:
        from kafka import KafkaConsumer

        # Who dies is noticed after a session's time, and others go on where it was.
        tuned = {
            "session_timeout_ms": 10_000,
            "heartbeat_interval_ms": 2_000,
            "max_partition_fetch_bytes": 4 << 20,
            "metrics_enabled": False,
        }
        consumer = KafkaConsumer(**(tuned | config | self._fixed))
        quicken(consumer)
        return consumer

    @property
    def ended(self) -> bool:
        """A topic never ends."""
        return False

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records; None if none came in time."""
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        self._tell()  # before partitions may go to others, if that did not succeed
        keep_joining(self._consumer)
        try:
            found = self._consumer.poll(timeout_ms=ceil(timeout * 1000), max_records=max_records)
        except KafkaError as error:
            text = self._settings.scrub(f"{type(error).__name__}: {error}"[:500])
            if not error.retriable:
                raise SourceError(f"{self.name}: {text}") from None
            log.warning("%s: %s; trying again", self.name, text)
            return None
        pieces = [piece for _, piece in pieces_of(found)]
        if not pieces:
            return None
        portion = Portion.of(pieces)
        self._handed_out |= {TopicPartition(*one): end for one, end in portion.ends().items()}
        return self._batches.made(portion, {})

    def commit(self) -> None:
        """Let what was handed out count as done; what cannot be told now is told later."""
        self._done |= self._handed_out
        self._handed_out.clear()
        self._tell()

    def _tell(self) -> None:
        """Commit what is done."""
        from kafka.errors import KafkaError
        from kafka.structs import OffsetAndMetadata

        if not self._done:
            return
        ends = {one: OffsetAndMetadata(end, "", -1) for one, end in self._done.items()}
        try:
            self._consumer.commit(ends)
        except KafkaError as error:
            text = self._settings.scrub(f"{type(error).__name__}: {error}"[:300])
            log.warning("%s: %s; what was answered may be answered again", self.name, text)
        else:
            self._done.clear()

    def kept(self, partitions: Iterable[Any]) -> None:
        """Forget what was handed out of others: where they stand is for their new owner to say."""
        for ends in (self._handed_out, self._done):
            for one in ends.keys() - set(partitions):
                del ends[one]

    def close(self) -> None:
        """Leave the group; what is not done is handed to others."""
        self._tell()
        with contextlib.suppress(Exception):  # its thread may have died, of whatever
            self._consumer.close(autocommit=False, timeout_ms=2000)


def _listener(source: SharedSource) -> Any:
    """Return what kafka-python tells when partitions are dealt out.

    With one it hands nothing out of partitions that are about to be dealt out anew; without, it
    does.
    """
    from kafka.consumer.subscription_state import ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: set[Any]) -> None:
            """Do nothing: whoever polls has committed before."""

        def on_partitions_assigned(self, assigned: set[Any]) -> None:
            source.kept(assigned)

        def on_partitions_lost(self, lost: set[Any]) -> None:
            source.kept(())

    return Listener()
