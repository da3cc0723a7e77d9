"""Slices of a topic are exactly what polling gives, against a real broker."""

from __future__ import annotations

import random
import threading
from collections.abc import Generator
from itertools import pairwise
from typing import Any

import pytest

from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import Batch, Position, Sliced, SourceError
from stream_llsvm.connectors.description import opened
from stream_llsvm.connectors.formats import message_codec
from tests.connectors.kafka.support import Kafka, numbers, read, until
from tests.connectors.kafka.test_order import START, by_chance, deal, source, value


def slices(
    one: KafkaSource, size: int, count: int = 10**9, prefetch: bool = False
) -> tuple[list[Position], list[list[Batch]]]:
    """Return the borders from the start to the end, and the batches of each slice."""
    borders = one.cut(one.start(), one.ends(), size, count)
    found = []
    for begin, end in pairwise(borders):
        found.append(list(one.between(begin, end)))
        if prefetch and (after := borders.index(end) + 1) < len(borders):
            one.prefetch(end, borders[after])
    return borders, found


def places(batches: list[Batch]) -> list[str]:
    return [str(place) for batch in batches for place in batch.places]


def check(kafka: Kafka, topic: Any, size: int, count: int, **options: Any) -> list[list[Batch]]:
    """Check that the slices are what polling gives; return them."""
    one = source(kafka, topic, max_wait=60.0, **options)
    assert isinstance(one, Sliced)
    borders, found = slices(one, size, prefetch=options.get("time") is None)
    polled = read(one, count)
    whole = [batch for slice in found for batch in slice]
    assert places(whole) == places(polled)
    assert numbers(whole) == numbers(polled)
    assert [b.labels for b in whole if b.labels] and sum(map(len, whole)) == sum(map(len, polled))
    assert sorted(map(str, (r for b in whole for r in b.rejected))) == sorted(
        map(str, (r for b in polled for r in b.rejected))
    )
    for end, slice in zip(borders[1:], found, strict=True):
        assert not slice or slice[-1].position == end
    assert one.backlog(borders[0], borders[-1]) >= count
    one.close()
    return found


@pytest.mark.parametrize("partitions", [1, 4])
def test_slices_are_what_polling_gives(kafka: Kafka, partitions: int) -> None:
    topic = kafka.topic(partitions)
    deal(kafka, topic, by_chance(6_000, partitions))
    found = check(kafka, topic, 500, 6_000)
    assert [sum(map(len, slice)) for slice in found[:-1]] == pytest.approx([500] * 11, abs=32)
    assert numbers([batch for slice in found for batch in slice]) == list(range(6_000))


def test_times_in_no_order_and_partitions_of_all_lengths(kafka: Kafka) -> None:
    topic, chance = kafka.topic(4), random.Random(3)
    dealt = []
    for number in range(2_000):  # partition 3 has nothing, 2 ends early, 1 has few
        partition = 2 if number < 300 and number % 2 else int(chance.random() < 0.1)
        dealt.append((number, partition, number // 40 - chance.randrange(9)))
    deal(kafka, topic, dealt)
    assert len(check(kafka, topic, 150, 2_000)) > 10


def test_records_of_one_and_the_same_time(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    deal(kafka, topic, [(number, number % 3, 7) for number in range(900)])
    found = check(kafka, topic, 100, 900)
    assert [sum(map(len, slice)) for slice in found] == [100] * 9


def test_marks_and_aborted_records_are_in_one_slice_too(kafka: Kafka) -> None:
    from kafka import KafkaProducer

    topic = kafka.topic(2)
    producer = KafkaProducer(bootstrap_servers=kafka.servers, transactional_id=topic)
    producer.init_transactions()
    sure, everything = source(kafka, topic), source(kafka, topic, isolation="read_uncommitted")
    committed = 0
    for step in range(20):
        producer.begin_transaction()
        for number in range(step * 20, step * 20 + 20):
            producer.send(topic, value(number), partition=number // 3 % 2)
        producer.flush()
        (producer.abort_transaction if step % 3 == 2 else producer.commit_transaction)()
        committed += 0 if step % 3 == 2 else 20
        # Marks come a moment later; what is sent before that is older than what lies before it.
        until(lambda: sure.ends() == everything.ends(), what="the marks")
    producer.close()
    found = check(kafka, topic, 30, committed)
    assert len(found) > 5
    sure.close()
    everything.close()


def test_a_compacted_topic(kafka: Kafka) -> None:
    topic = kafka.topic(
        2, cleanup_policy="compact", segment_bytes=1_048_576, min_cleanable_dirty_ratio=0.01,
        max_compaction_lag_ms=100, segment_ms=200, min_compaction_lag_ms=0,
    )  # fmt: skip
    sent = 0

    def compacted() -> bool:
        nonlocal sent
        for number in range(sent, sent + 300):
            kafka.producer.send(
                topic, value(number), key=b"%d" % (number % 7), partition=number % 2
            )
        kafka.producer.flush(30)
        sent += 300
        return len(kafka.everything(topic)) < sent - 300

    until(compacted, 120.0, "the topic to be compacted")
    one = source(kafka, topic, max_wait=60.0)
    ends = one.ends()
    borders = one.cut(one.start(), ends, 100, 10**6)
    whole = [batch for begin, end in pairwise(borders) for batch in one.between(begin, end)]
    assert borders[-1] == ends
    assert len(places(whole)) == len(set(places(whole))) < sent
    assert {place for place in places(whole)} >= {
        f"{topic}/{r.partition}@{r.offset}"
        for r in kafka.everything(topic)
        if r.offset < ends[topic][str(r.partition)]
    }
    one.close()


def test_by_a_field_within_slices(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    dealt = by_chance(600, 3)
    kafka.producer.partitions_for(topic)
    for number, partition, time in dealt:  # the broker's times are those of the field, and later
        kafka.producer.send(
            topic, value(number, at=time), partition=partition, timestamp_ms=START + time * 10
        )
    kafka.producer.flush(30)
    kafka.send(topic, [b"poison"], partition=1)
    check(kafka, topic, 100, 601, time="at")


def test_slices_read_again_are_the_same_and_need_no_order(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, by_chance(1_000, 2))
    one = source(kafka, topic)
    borders, found = slices(one, 100)
    assert one.cut(borders[3], borders[-1], 100, 2) == borders[3:6]
    other = opened(one.description)
    assert isinstance(other, KafkaSource)
    for at in (5, 0, 7, 7):
        again = list(other.between(borders[at], borders[at + 1]))
        assert places(again) == places(found[at])
    other.prefetch(borders[2], borders[3])  # which nobody asks for
    assert places(list(other.between(borders[4], borders[5]))) == places(found[4])
    half = other.between(borders[0], borders[-1])
    next(half)
    assert isinstance(half, Generator)
    half.close()
    assert places(list(other.between(borders[0], borders[1]))) == places(found[0])
    one.close()
    other.close()


def test_what_code_alone_can_say_is_not_described() -> None:
    for options, said in (
        ({"codec": message_codec(label="label")}, "say what its fields are"),
        ({"tombstones": "skip"}, "leave out codec, tombstones"),
        ({"options": {"sasl_plain_password": "x"}}, "sasl_plain_password: learners read it"),
    ):
        with pytest.raises(ValueError, match=said):
            _ = KafkaSource("t", "localhost:1", **options).description
    with pytest.raises(ValueError, match="the same partitions of all topics"):
        _ = KafkaSource({"t": [0], "u": [1]}, "localhost:1").description
    secret = {"sasl_plain_password": {"env": "PASSWORD"}}
    whole = KafkaSource(
        {"t": [1, 0]}, "localhost:1", format="csv", names=["a", "y"], label="y", options=secret
    )
    assert whole.description == {
        "from": ["kafka://localhost:1/t"], "isolation": "read_committed", "on_lost_data": "stop",
        "order": "time", "options": secret, "connect_timeout": 60.0, "label": "y",
        "message": "csv", "names": ["a", "y"], "start": "earliest", "partitions": [0, 1],
    }  # fmt: skip


def test_nothing_has_come_yet(kafka: Kafka) -> None:
    one = source(kafka, kafka.topic(2))
    assert one.cut(one.start(), one.ends(), 100, 4) == [one.start()]
    assert list(one.between(one.start(), one.ends())) == []
    one.close()


def test_a_partition_that_is_added_is_in_the_next_slices(kafka: Kafka) -> None:
    topic = kafka.topic(1)
    deal(kafka, topic, [(number, 0, number) for number in range(50)])
    one = source(kafka, topic, discover_every=0.5)
    begin = one.ends()
    kafka.admin.create_partitions({topic: 2})
    kafka.admin.wait_for_topics([topic])
    until(lambda: len(kafka.producer.partitions_for(topic)) == 2, what="the partition")
    deal(kafka, topic, [(number, number % 2, number) for number in range(50, 150)])
    ends = until(lambda: (found := one.ends()) and len(found[topic]) == 2 and found)
    borders = one.cut(begin, ends, 30, 10)
    found = [batch for begin, end in pairwise(borders) for batch in one.between(begin, end)]
    assert numbers(found) == list(range(50, 150))
    one.close()


def test_what_was_deleted_is_told_of(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, by_chance(300, 2))
    one = source(kafka, topic)
    borders = one.cut(one.start(), one.ends(), 100, 10)
    kafka.delete_below(topic, borders[2][topic]["1"], partition=1)
    with pytest.raises(SourceError, match="lost data"):
        list(one.between(borders[0], borders[1]))
    lenient = source(kafka, topic, on_lost_data="earliest")
    left = list(lenient.between(borders[0], borders[1]))
    assert {place.part for batch in left for place in batch.places} == {0}
    one.close()
    lenient.close()


def test_as_they_arrive_there_are_no_slices(kafka: Kafka) -> None:
    one = source(kafka, kafka.topic(2), order="arrival")
    with pytest.raises(SourceError, match="leave out order='arrival'"):
        one.ends()
    one.close()


def test_no_more_is_fetched_than_the_slices(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, [(number, number % 2, number) for number in range(40_000)])
    one = source(kafka, topic)
    borders = one.cut(one.start(), one.ends(), 4_000, 10)
    received: list[int] = []
    lock = threading.Lock()
    reader = one._slices._made()
    one._slices._idle.append(reader)
    reader._ready()
    fetcher = reader._consumer._fetcher
    own = fetcher._handle_fetch_response

    def counted(node: Any, offsets: Any, time: Any, response: Any) -> Any:
        with lock:
            received.extend(
                len(part.records or b"") for told in response.responses for part in told.partitions
            )
        return own(node, offsets, time, response)

    list(one.between(borders[0], borders[1]))  # which tells how large messages are
    fetcher._handle_fetch_response = counted
    whole = 0
    for begin, end in zip(borders[2::2], borders[3::2], strict=False):
        whole += sum(map(len, one.between(begin, end)))
    assert whole == pytest.approx(16_000, abs=1_000)
    wanted = sum(len(value(number)) + 12 for number in range(whole))
    assert wanted / 2 < sum(received) < 1.5 * wanted
    one.close()
