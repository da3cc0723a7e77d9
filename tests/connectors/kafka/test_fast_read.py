"""Unpacking what brokers send: the same records and the same faults as kafka-python finds."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kafka", reason="comes with the extra 'test'")

from kafka.consumer.fetcher import ConsumerRecord, Fetcher
from kafka.errors import CorruptRecordError
from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder
from kafka.structs import TopicPartition

from stream_llsvm.connectors.kafka.fast_read import quicken, unpacked
from stream_llsvm.connectors.kafka.messages import Messages

TP = TopicPartition("t", 3)
Quick = SimpleNamespace(
    _fetcher=SimpleNamespace(PartitionRecords=Fetcher.PartitionRecords, _append=Fetcher._append)
)
assert quicken(Quick)


def packed(records: list[tuple[Any, ...]], magic: int = 2, zipped: int = 0) -> bytearray:
    """Return records as a broker would send them."""
    builder = MemoryRecordsBuilder(magic, zipped, 10_000_000)
    for record in records:
        assert builder.append(*record) is not None
    builder.close()
    buffer = builder.buffer()
    assert isinstance(buffer, bytearray)
    return buffer


def some(seed: int, number: int = 60) -> list[tuple[Any, ...]]:
    """Return records whose every part is short, long, or not there."""
    chance = random.Random(seed)

    def part() -> bytes | None:
        size = chance.choice([None, 0, 1, 63, 64, 200, 9_000])
        return None if size is None else chance.randbytes(size)

    rows: list[tuple[Any, ...]] = []
    for _ in range(number):
        time = 1_700_000_000_000 + chance.choice([0, 5, -70, 9_000, -(10**9), 10**11])
        headers = [("é" * n, chance.randbytes(n * 70)) for n in range(chance.choice([0, 0, 3]))]
        rows.append((time, part(), part(), headers))
    return rows


def objects(taken: Any) -> list[Any]:
    """Return kafka-python's objects of what was taken, which counts as many as there are."""
    found = [r for one in taken for r in (one.records() if isinstance(one, Messages) else [one])]
    assert len(found) == len(taken)
    return found


def read(kind: Any, data: bytes, at: int = 0) -> list[Any]:
    """Return what a class for the records of a partition makes of them."""
    part = kind(at, TP, MemoryRecords(data))
    found = objects(part.take(10**6))
    assert part.next_fetch_offset == (found[-1].offset + 1 if found else at)
    return list(found)


@pytest.mark.parametrize("zipped", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_records_as_kafka_python(seed: int, zipped: int) -> None:
    data = bytes(packed(some(seed), zipped=zipped)) + bytes(packed(some(seed + 100)))
    expected = read(Fetcher.PartitionRecords, data)
    found = read(Quick._fetcher.PartitionRecords, data)
    assert found == expected
    assert len(found) == 120
    assert {type(one) for one in found} == {ConsumerRecord}


@pytest.mark.parametrize("magic", [0, 1])
def test_records_in_an_older_format(magic: int) -> None:
    data = bytes(packed([(5, b"k", b"v"), (6, None, b"w" * 300)], magic))
    found = read(Quick._fetcher.PartitionRecords, data)
    assert found == read(Fetcher.PartitionRecords, data)
    assert [one.value for one in found] == [b"v", b"w" * 300]


def test_reading_begins_at_the_wanted_offset_and_goes_on_behind_what_was_taken() -> None:
    part = Quick._fetcher.PartitionRecords(7, TP, MemoryRecords(packed(some(1))))
    assert [one.offset for one in objects(part.take(3))] == [7, 8, 9]
    assert part.next_fetch_offset == 10
    assert [one.offset for one in objects(part.take(100))] == list(range(10, 60))
    assert not part


def outcome(kind: Any, data: bytes) -> Any:
    """Return the records of a damaged batch, or that it cannot be unpacked."""
    batch = MemoryRecords(data).next_batch()
    try:
        if kind is unpacked:
            batch = kind("t", 0, batch).records()
        return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in batch]
    except CorruptRecordError:
        return "corrupt"
    except UnicodeDecodeError:
        return "corrupt"


def test_what_is_damaged_is_found() -> None:
    """Whatever byte is wrong, the outcome is kafka-python's: a fault, or the same wrong records."""
    chance = random.Random(0)
    rows = [(7 + i, b"key", b"value" * i, [("h", b"x")]) for i in range(4)]
    whole = packed(rows)
    attributes, start = set(), 61  # bytes without a meaning, which kafka-python takes for numbers
    while start < len(whole):
        attributes.add(start + 1)
        start += 1 + (whole[start] >> 1)
    seen = {"corrupt": 0, "records": 0}
    for at in sorted(set(range(61, len(whole))) - attributes):
        for wrong in (0, 1, 127, 128, 255, chance.randrange(256)):
            data = bytearray(whole)
            data[at] = wrong
            mine = outcome(unpacked, bytes(data))
            assert mine == outcome(None, bytes(data)), (at, wrong)
            seen["corrupt" if mine == "corrupt" else "records"] += 1
    assert min(seen.values()) > 20


def test_a_wrong_checksum_is_found() -> None:
    data = packed(some(2))
    data[-1] ^= 1
    part = Quick._fetcher.PartitionRecords(0, TP, MemoryRecords(data))
    with pytest.raises(CorruptRecordError, match="checksum"):
        part.take(1)


def test_another_kafka_python_is_left_as_it_is() -> None:
    other = SimpleNamespace(_fetcher=SimpleNamespace(PartitionRecords=object))
    assert not quicken(other)
    assert not quicken(SimpleNamespace())
    assert other._fetcher.PartitionRecords is object
