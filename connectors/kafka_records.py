"""Unpack what brokers send, several times faster than kafka-python does by itself.

kafka-python makes one object of a message after another, with a call for each of its numbers. What
is here reads the same bytes in one loop, makes the same records and finds the same faults. Which
messages are whole, committed, or marks of transactions is still decided by kafka-python.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

log = logging.getLogger("stream_llsvm.kafka")

_NEEDED = (
    "_consume_aborted_transactions_up_to",
    "_contains_abort_marker",
    "_is_batch_aborted",
    "_unpack_records",
    "drain",
)


def quicken(consumer: Any) -> bool:
    """Let a consumer of kafka-python's unpack its records faster.

    Returns False, and changes nothing, if this is a kafka-python that is made differently inside.
    """
    fetcher: Any = getattr(consumer, "_fetcher", None)
    slow = getattr(fetcher, "PartitionRecords", None)
    if slow is None or not all(hasattr(slow, name) for name in _NEEDED):
        log.info("this kafka-python is not known; its own, slower way to unpack records is used")
        return False
    fetcher.PartitionRecords = _quick(slow)
    return True


def _quick(slow: Any) -> Any:
    """Return kafka-python's class for the records of a partition, with a faster loop."""
    from kafka.consumer.fetcher import IsolationLevel
    from kafka.errors import CorruptRecordError

    class Quick(slow):  # type: ignore[misc]
        leader_epoch: int

        def _unpack_records(self, tp: Any, records: Any, *_: object) -> Iterator[Any]:
            committed = self.isolation_level == IsolationLevel.READ_COMMITTED
            batch = records.next_batch()
            last = None
            while batch is not None:
                last = batch
                if self.check_crcs and not batch.validate_crc():
                    raise CorruptRecordError(f"{tp}@{batch.base_offset}: wrong checksum of a batch")
                if batch.magic < 2:  # written for a broker older than 0.11
                    for record in _old(tp, self.leader_epoch, batch):
                        self.next_fetch_offset = record.offset + 1
                        yield record
                    batch = records.next_batch()
                    continue
                self.leader_epoch = batch.leader_epoch
                if self._hidden(batch, committed) or batch.is_control_batch:
                    self.next_fetch_offset = batch.next_offset
                else:
                    for record in unpacked(tp.topic, tp.partition, batch):
                        self.next_fetch_offset = record[3] + 1
                        yield record
                    self.records_read += batch.records_count
                    self.bytes_read += batch.size_in_bytes
                batch = records.next_batch()
            if last is not None and last.magic == 2:  # it may have lost its last to compaction
                self.next_fetch_offset = last.next_offset
            self.drain()

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


def unpacked(topic: str, partition: int, batch: Any) -> Iterator[Any]:
    """Give the records of a batch, as kafka-python's ``ConsumerRecord``.

    Raises kafka-python's CorruptRecordError if they are not what the batch says.
    """
    from kafka.consumer.fetcher import ConsumerRecord
    from kafka.errors import CorruptRecordError

    iter(batch)  # unzips it
    data, pos = bytes(batch._buffer), batch._pos
    epoch, base, kind = batch.leader_epoch, batch.base_offset, batch.timestamp_type
    first_time = batch.first_timestamp
    one_time = batch.max_timestamp if kind else None  # the broker's, of the whole batch
    new = tuple.__new__
    try:
        for _ in range(batch.records_count):
            length, pos = _number(data, pos)
            end = pos + length
            delta = data[pos + 1]  # behind the attributes, which have no meaning yet
            pos += 2
            if delta > 127:
                later, pos = _number(data, pos - 1)
            else:
                later = (delta >> 1) ^ -(delta & 1)
            at = data[pos]
            pos += 1
            if at > 127:
                offset, pos = _number(data, pos - 1)
            else:
                offset = (at >> 1) ^ -(at & 1)
            key = value = None
            size = data[pos]
            pos += 1
            key_size = -1
            if size != 1:  # which stands for -1, none at all
                key_size = size >> 1
                if size > 127:
                    key_size, pos = _number(data, pos - 1)
                key = data[pos : pos + key_size]
                pos += key_size
            value_size, pos = _number(data, pos)
            if value_size >= 0:
                value = data[pos : pos + value_size]
                pos += value_size
            headers: list[tuple[str, bytes | None]] = []
            if data[pos]:
                pos = _headers(data, pos, headers)
            else:
                pos += 1
            if pos != end:
                raise ValueError("a record is not as long as it says")
            yield new(
                ConsumerRecord,
                (
                    topic, partition, epoch, base + offset,
                    first_time + later if one_time is None else one_time, kind,
                    key, value, headers, None, key_size, value_size, _size(headers),
                ),
            )  # fmt: skip
        if pos != len(data):
            raise ValueError(f"{len(data) - pos} bytes are left over")
    except (ValueError, IndexError) as error:
        text = f"{topic}/{partition}@{base}: a batch that cannot be unpacked: {error}"
        raise CorruptRecordError(text) from None


def _number(data: bytes, pos: int) -> tuple[int, int]:
    """Read a number that is written in seven bits a byte; return it and where the next begins."""
    byte = data[pos]
    pos += 1
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), pos
    found, shift = byte & 127, 7
    while True:
        byte = data[pos]
        pos += 1
        if byte < 128:
            found |= byte << shift
            return (found >> 1) ^ -(found & 1), pos
        found |= (byte & 127) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _headers(data: bytes, pos: int, headers: list[tuple[str, bytes | None]]) -> int:
    """Read a record's headers into a list; return where they end."""
    count, pos = _number(data, pos)
    if count < 0:
        raise ValueError("a number of headers below 0")
    for _ in range(count):
        size, pos = _number(data, pos)
        if size < 0:
            raise ValueError("a header without a name")
        name = data[pos : pos + size].decode()
        pos += size
        size, pos = _number(data, pos)
        value = None
        if size >= 0:
            value = data[pos : pos + size]
            pos += size
        headers.append((name, value))
    return pos


def _size(headers: list[tuple[str, bytes | None]]) -> int:
    """Return how many bytes headers are; -1 if there are none."""
    if not headers:
        return -1
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)
