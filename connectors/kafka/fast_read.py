"""Private parts of kafka-python's consumer: a faster way to unpack what brokers send, and metadata.

kafka-python makes one object of a message after another, with a call for each of its numbers. Here
a compiled loop finds where in the bytes of a batch its messages lie, finds the same faults, and
that is what a poll returns: `Messages`, of which objects are made only when asked for. Which
messages are whole, committed, or marks of transactions is still decided by kafka-python.

All that is private of the consumer is used here and nowhere else. `missing` says what a release
lacks; records are then read by kafka-python's own loop, at a fifth of the speed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stream_llsvm.connectors.flat.message_sets import BROKEN, COLUMNS, NAMES, locate
from stream_llsvm.connectors.kafka.messages import Messages, Objects

log = logging.getLogger("stream_llsvm.kafka")

_NEEDED = (
    "_consume_aborted_transactions_up_to",
    "_contains_abort_marker",
    "_is_batch_aborted",
    "_maybe_raise_next_inline_exception",
    "_maybe_skip_record",
    "_unpack_records",
    "drain",
    "take",
)
# All that may be done with what was taken: count it, and add it to a list.
_APPENDING = {
    "OffsetAndMetadata", "_sensors", "_subscriptions", "assignment", "debug", "drain", "extend",
    "highwater", "is_assigned", "is_fetchable", "leader_epoch", "len", "log", "next_fetch_offset",
    "offset", "position", "record", "records_fetch_lag", "take", "topic_partition",
}  # fmt: skip


class Taken:
    """Messages from one or several batches: as many as they are, and added to a list as they are.

    kafka-python counts what is taken, and adds it to what a poll returns; so a poll returns
    `Messages`, and no more of them than it was asked for.
    """

    def __init__(self) -> None:
        self._pieces: list[Messages] = []
        self._count = 0

    def add(self, piece: Messages) -> None:
        """Take some more."""
        self._pieces.append(piece)
        self._count += len(piece)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Messages]:
        return iter(self._pieces)


def metadata_of(consumer: Any) -> Any:
    """Return what the consumer knows of topics and brokers; it shows that in no other way."""
    return consumer._cluster


def keep_joining(consumer: Any) -> None:
    """Let a consumer that began to join its group anew go on with that when it is polled.

    One that leads its group joins anew when it is told of more partitions. If a poll ends before
    that is done, kafka-python forgets it: records are handed out as before, whose offsets cannot
    be committed, and no heartbeat is sent until the group takes its partitions away.
    """
    coordinator = getattr(consumer, "_coordinator", None)
    if coordinator is not None and coordinator.rebalance_in_progress():
        coordinator.request_rejoin()


def missing(fetcher: Any = None) -> str:
    """Return what of kafka-python's consumer is not as it has to be; nothing if all is.

    Parameters
    ----------
    fetcher
        What its consumer fetches with; its class if None.

    """
    if fetcher is None:
        from kafka.consumer.fetcher import Fetcher

        fetcher = Fetcher

    slow = getattr(fetcher, "PartitionRecords", None)
    if slow is None:
        return "Fetcher has no PartitionRecords"
    for name in _NEEDED:
        if not hasattr(slow, name):
            return f"PartitionRecords has no {name}"
    code = getattr(getattr(fetcher, "_append", None), "__code__", None)
    if code is None:
        return "Fetcher has no _append"
    if more := set(code.co_names) - _APPENDING:
        return f"Fetcher._append does something with {min(more)}"
    return ""


def quicken(consumer: Any) -> bool:
    """Let a consumer of kafka-python's unpack its records faster.

    Returns False, and changes nothing, if this is a kafka-python that is made differently inside.
    """
    fetcher: Any = getattr(consumer, "_fetcher", None)
    lacking = missing(fetcher) if fetcher is not None else "KafkaConsumer has no _fetcher"
    if lacking:
        log.warning(
            "this kafka-python is not known (%s): records are unpacked by its own loop, which is "
            "slower; kafka-python>=3.0,<3.1 is", lacking,
        )  # fmt: skip
        return False
    fetcher.PartitionRecords = _quick(fetcher.PartitionRecords)
    return True


def stop_at(consumer: Any, ends: Mapping[Any, int], limit: int) -> bool:
    """Let a consumer ask brokers for nothing at or behind these offsets, and so many bytes at once.

    Returns False, and the consumer fetches more than is wanted, if this is a kafka-python that is
    made differently inside.
    """
    fetcher: Any = getattr(consumer, "_fetcher", None)
    own = getattr(type(fetcher), "_fetchable_partitions", None)
    if own is None or not hasattr(fetcher, "_subscriptions") or not hasattr(fetcher, "config"):
        return False

    def fetchable() -> list[Any]:
        there = fetcher._subscriptions.assignment
        found = []
        for one in own(fetcher):
            at = there[one].position if one in there else None
            if at is None or at.offset < ends.get(one, at.offset + 1):
                found.append(one)
        return found

    fetcher._fetchable_partitions = fetchable
    fetcher.config["max_partition_fetch_bytes"] = limit
    return True


def _quick(slow: Any) -> Any:
    """Return kafka-python's class for the records of a partition, with a faster loop."""
    from kafka.consumer.fetcher import IsolationLevel
    from kafka.errors import CorruptRecordError

    class Quick(slow):  # type: ignore[misc]
        leader_epoch: int
        _begun: Messages | None = None  # what is left of the last batch

        def _maybe_skip_record(self, piece: Messages) -> bool:
            return False  # what lies before the wanted offset is left out below

        def take(self, n: int) -> Taken:
            self._maybe_raise_next_inline_exception()
            taken = Taken()
            try:
                while len(taken) < n:
                    piece = self._begun
                    if piece is None:
                        piece = next(self.record_iterator, None)
                        if piece is None:
                            break
                    left = n - len(taken)
                    self._begun = piece.chosen(slice(left, None)) if left < len(piece) else None
                    piece = piece.chosen(slice(left))
                    taken.add(piece)
                    self.next_fetch_offset = int(piece.offsets[-1]) + 1
            except Exception as error:
                if not len(taken):
                    raise
                self._next_inline_exception = error  # for the next call
            return taken

        def _unpack_records(self, tp: Any, records: Any, *_: object) -> Iterator[Messages]:
            committed = self.isolation_level == IsolationLevel.READ_COMMITTED
            batch = records.next_batch()
            last = None
            while batch is not None:
                last = batch
                if self.check_crcs and not batch.validate_crc():
                    raise CorruptRecordError(f"{tp}@{batch.base_offset}: wrong checksum of a batch")
                if batch.magic < 2:  # written for a broker older than 0.11
                    old = list(_old(tp, self.leader_epoch, batch))
                    if old:
                        yield from self._wanted(Objects(old))
                    batch = records.next_batch()
                    continue
                self.leader_epoch = batch.leader_epoch
                if self._hidden(batch, committed) or batch.is_control_batch:
                    self.next_fetch_offset = batch.next_offset
                else:
                    yield from self._wanted(unpacked(tp.topic, tp.partition, batch))
                    self.records_read += batch.records_count
                    self.bytes_read += batch.size_in_bytes
                batch = records.next_batch()
            if last is not None and last.magic == 2:  # it may have lost its last to compaction
                self.next_fetch_offset = last.next_offset
            self.drain()

        def _wanted(self, piece: Messages) -> Iterator[Messages]:
            """Give those from the wanted offset on, if there are any."""
            offsets = piece.offsets
            if len(offsets) and int(offsets.min()) < self.fetch_offset:
                # A reader may be sent a whole batch for its last message.
                piece = piece.chosen(slice(int(np.argmax(offsets >= self.fetch_offset)), None))
                if int(offsets.max()) < self.fetch_offset:
                    return
            if len(piece):
                yield piece

        def _hidden(self, batch: Any, committed: bool) -> bool:
            """Say if a batch belongs to a transaction that was aborted."""
            if not (committed and batch.has_producer_id()):
                return False
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
                return False
            return bool(self._is_batch_aborted(batch))

    return Quick


def _old(tp: Any, epoch: int, batch: Any) -> Iterator[Any]:
    """Give the records of a batch in an older format, as kafka-python reads them."""
    from kafka.consumer.fetcher import ConsumerRecord
    from kafka.errors import CorruptRecordError

    for one in batch:
        if not one.validate_crc():
            raise CorruptRecordError(f"{tp}@{one.offset}: wrong checksum of a record")
        sizes = [-1 if part is None else len(part) for part in (one.key, one.value)]
        yield ConsumerRecord(
            tp.topic, tp.partition, epoch, one.offset, one.timestamp, one.timestamp_type,
            one.key, one.value, one.headers, one.checksum, *sizes, -1,
        )  # fmt: skip


def unpacked(topic: str, partition: int, batch: Any) -> Messages:
    """Return the messages of a batch.

    Raises kafka-python's CorruptRecordError if they are not what the batch says.
    """
    from kafka.errors import CorruptRecordError

    iter(batch)  # unzips it
    data, kind, count = bytes(batch._buffer), batch.timestamp_type, batch.records_count
    # A message has seven bytes at least: a wrong count must not take memory.
    if not 0 <= count <= len(data):
        raise CorruptRecordError(f"{topic}/{partition}: a batch of {count} messages")
    table = np.empty((count, COLUMNS), dtype=np.int64)
    one_time = batch.max_timestamp if kind else -1  # the broker's, of the whole batch
    told = locate(
        np.frombuffer(data, dtype=np.uint8), batch._pos, batch.base_offset, batch.first_timestamp,
        one_time, table,
    )  # fmt: skip
    messages = Messages(topic, partition, batch.leader_epoch, kind, data, table)
    try:
        if told == BROKEN:
            raise ValueError("its messages are not as long as they say")
        if told == NAMES:
            for i in range(count):
                messages.headers(i)  # which raises if a name is not UTF-8
    except ValueError as error:
        where = f"{topic}/{partition}@{batch.base_offset}"
        raise CorruptRecordError(f"{where}: a batch that cannot be unpacked: {error}") from None
    return messages
