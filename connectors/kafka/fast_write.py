"""Many messages handed to kafka-python at once, at a fraction of what one after another costs.

For each message kafka-python makes a future, takes locks and calls a function for every number. A
bundle writes the same bytes of all its messages in one loop and puts them into the producer's queue
as one batch; sending, retries, splits, transactions and sequence numbers stay kafka-python's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

_NOT_THERE = b"\x01"  # the length -1


class Message(NamedTuple):
    """A message: its key, its value, and its headers as `coded` gives them."""

    key: bytes | None
    value: bytes
    headers: bytes


def coded(headers: Sequence[tuple[str, bytes]]) -> bytes:
    """Return headers as they stand in a message."""
    parts = [_number(len(headers))]
    for name, value in headers:
        own = name.encode()
        parts += [_number(len(own)), own, _number(len(value)), value]
    return b"".join(parts)


@cache  # lengths and counts within a batch, of which there are few
def _number(value: int) -> bytes:
    """Return a number from 0 on as it stands in a message: seven bits a byte."""
    left, found = value << 1, bytearray()
    while left > 127:
        found.append(128 | (left & 127))
        left >>= 7
    found.append(left)
    return bytes(found)


class _Fate:
    """Stands in a batch for what becomes of all its messages.

    A batch that is too large is split by kafka-python, which then binds each message to its new
    batch; the old one is never heard of again.
    """

    def __init__(self, ended: list[object]) -> None:
        self._ended = ended
        self._numbers: dict[Any, int] = {}  # of messages in each batch

    def bind(self, result: Any, number: int) -> None:
        """Bind so many more messages to the batch with this result."""
        if result not in self._numbers:
            for other in self._numbers:  # whoever waits for one that was split looks again
                other._latch.set()
            self._numbers[result] = 0
            result.add_callback(self._done, result)
            result.add_errback(self._failed, result)
        self._numbers[result] += number

    def rebind(self, result: Any, index: int) -> None:
        """Bind one more message, as kafka-python asks for it."""
        self.bind(result, 1)

    def _done(self, result: Any, told: Any) -> None:
        error_of = told[2]
        number = self._numbers[result]
        if error_of is None:
            self._ended.extend([None] * number)
        else:
            self._ended.extend(error_of(i) for i in range(number))

    def _failed(self, result: Any, error: BaseException) -> None:
        self._ended.extend([error] * self._numbers[result])


class Bundles:
    """Puts messages for one partition into a producer's queue.

    Parameters
    ----------
    producer
        kafka-python's.
    ended
        Where it is told of each message that it arrived (None), or why it did not.

    """

    def __init__(self, producer: Any, ended: list[object]) -> None:
        self._producer, self._ended = producer, ended
        queue = producer._accumulator
        self._size, self._kind = queue.config["batch_size"], queue.config["compression_attrs"]

    @property
    def longest(self) -> int:
        """The bytes beyond which a message is sent by itself."""
        return int(self._size) // 4

    @staticmethod
    def possible(producer: Any) -> bool:
        """Whether this kafka-python is made inside as it has to be."""
        queue: Any = getattr(producer, "_accumulator", None)
        parts = ("_tp_lock", "_batches", "_incomplete", "_appends_in_progress", "_closed")
        sender = getattr(producer, "_sender", None)
        if not (all(hasattr(queue, one) for one in parts) and hasattr(sender, "wakeup")):
            return False
        if not (hasattr(producer, "_transaction_manager") and hasattr(producer, "_partition")):
            return False
        from kafka.producer.future import FutureProduceResult
        from kafka.producer.producer_batch import ProducerBatch
        from kafka.record.default_records import DefaultRecordBatchBuilder as Builder
        from kafka.record.memory_records import MemoryRecordsBuilder

        slots = {"_buffer", "_num_records", "_last_offset", "_first_timestamp", "_max_timestamp"}
        return (
            slots <= set(Builder.__slots__)
            and {"_builder", "_next_offset"} <= set(MemoryRecordsBuilder.__slots__)
            and hasattr(ProducerBatch, "try_append")
            and "_latch" in FutureProduceResult.__slots__
            and queue.config.get("message_version") == 2
        )

    def send(self, topic: str, partition: int, messages: Sequence[Message]) -> None:
        """Hand over messages, in order."""
        from kafka import TopicPartition

        where = TopicPartition(topic, partition)
        manager = self._producer._transaction_manager
        if manager is not None and manager.is_transactional():
            manager.maybe_add_partition_to_transaction(where)
        first = 0
        while first < len(messages):
            first = self._one_batch(where, messages, first)
        self._producer._sender.wakeup()

    def _one_batch(self, where: Any, messages: Sequence[Message], first: int) -> int:
        """Put as many into the queue as a batch takes; return where to go on."""
        from kafka.errors import IllegalStateError
        from kafka.producer.producer_batch import ProducerBatch
        from kafka.record.memory_records import MemoryRecordsBuilder

        records = MemoryRecordsBuilder(2, self._kind, self._size)
        builder = records._builder
        buffer, most = builder._buffer, self._size
        number, join = _number, b"".join
        n = 0
        for i in range(first, len(messages)):
            key, value, headers = messages[i]
            body = join(
                (
                    b"\0\0", number(n),  # attributes, and the time behind the first's
                    _NOT_THERE if key is None else number(len(key)), key or b"",
                    number(len(value)), value, headers,
                )
            )  # fmt: skip
            if n and len(buffer) + len(body) + 5 > most:
                break
            buffer += number(len(body))
            buffer += body
            n += 1
        builder._first_timestamp = builder._max_timestamp = int(time.time() * 1000)
        builder._num_records, builder._last_offset = n, n - 1
        records._next_offset = n
        batch = ProducerBatch(where, records)
        batch.max_record_size = (len(buffer) // n) + 1
        fate = _Fate(self._ended)
        fate.bind(batch.produce_future, n)
        batch._record_futures = [fate] * n
        queue = self._producer._accumulator
        queue._appends_in_progress.increment()
        try:
            with queue._tp_lock(where):
                if queue._closed:
                    raise IllegalStateError("the producer is closed")
                queue._batches[where].append(batch)
                queue._incomplete.add(batch)
        finally:
            queue._appends_in_progress.decrement()
        return first + n
