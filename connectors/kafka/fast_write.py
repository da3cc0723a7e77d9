"""Private parts of kafka-python's producer: many messages handed over at once, and its metadata.

For each message kafka-python makes a future, takes locks and calls a function for every number. A
bundle writes the same bytes of all its messages in one loop and puts them into the producer's queue
as one batch; sending, retries, splits, transactions and sequence numbers stay kafka-python's.

All that is private of the producer is used here and nowhere else. `missing` says what a release
lacks; messages are then sent one by one, by public means, at a fifth of the speed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

log = logging.getLogger("stream_llsvm.kafka")

_NOT_THERE = b"\x01"  # the length -1
_OF_PRODUCER = {"_accumulator", "_metadata", "_partition", "_sender", "_transaction_manager"}
_OF_QUEUE = {"_appends_in_progress", "_batches", "_closed", "_incomplete", "_tp_lock"}
_OF_BUILDER = {"_buffer", "_num_records", "_last_offset", "_first_timestamp", "_max_timestamp"}


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


def metadata_of(producer: Any) -> Any:
    """Return what the producer knows of topics and brokers; it shows that in no other way."""
    return producer._metadata


def partition_of(producer: Any, topic: str, key: bytes | None, value: bytes) -> int:
    """Return the partition to which the producer would send a message."""
    return int(producer._partition(topic, None, key, value, key, value))


def force_close(producer: Any) -> None:
    """End the thread of a producer whose ``close`` has left something unsent."""
    producer._sender.force_close()


def missing() -> str:
    """Return what of kafka-python's producer is not as it has to be; nothing if all is."""
    from kafka import KafkaProducer
    from kafka.producer.future import FutureProduceResult
    from kafka.producer.producer_batch import ProducerBatch
    from kafka.producer.record_accumulator import RecordAccumulator
    from kafka.record.default_records import DefaultRecordBatchBuilder
    from kafka.record.memory_records import MemoryRecordsBuilder

    for kind, wanted in ((KafkaProducer, _OF_PRODUCER), (RecordAccumulator, _OF_QUEUE)):
        known = {*dir(kind), *kind.__init__.__code__.co_names}  # also what is set there
        if lacking := wanted - known:
            return f"{kind.__name__} has no {min(lacking)}"
    slots = {
        DefaultRecordBatchBuilder: _OF_BUILDER,
        MemoryRecordsBuilder: {"_builder", "_next_offset"},
        FutureProduceResult: {"_latch"},
    }
    for slotted, names in slots.items():
        if lacking := names - set(slotted.__slots__):
            return f"{slotted.__name__} has no {min(lacking)}"
    return "" if hasattr(ProducerBatch, "try_append") else "ProducerBatch has no try_append"


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
        """Whether this kafka-python is made inside as it has to be, and so is this producer."""
        lacking = missing()
        if lacking:
            log.warning(
                "this kafka-python is not known (%s): messages are sent one by one, which is "
                "slower; kafka-python>=3.0,<3.1 is", lacking,
            )  # fmt: skip
            return False
        return bool(producer._accumulator.config.get("message_version") == 2)

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
