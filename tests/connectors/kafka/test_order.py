"""Several partitions are one stream in the order of time, against a real broker."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import Batch, Disorder
from tests.connectors.kafka.support import Kafka, numbers, offsets, read, until

START = 1_700_000_000_000


def source(kafka: Kafka, topic: Any, **options: Any) -> KafkaSource:
    return KafkaSource(topic, kafka.servers, **({"connect_timeout": 30.0} | options))


def value(number: int, **more: Any) -> bytes:
    return json.dumps({"a": number, "b": 0.5, "label": number % 3} | more).encode()


def deal(
    kafka: Kafka, topic: str, dealt: list[tuple[int, int, int]], field: str | None = None
) -> None:
    """Send each a number, its partition and its time; maybe in a field, and the broker's odd."""
    kafka.producer.partitions_for(topic)
    sent = [
        kafka.producer.send(
            topic,
            value(number) if field is None else value(number, **{field: time}),
            key=b"%d" % number,
            partition=partition,
            timestamp_ms=START + (time if field is None else -number),
        )
        for number, partition, time in dealt
    ]
    kafka.producer.flush(30)
    for one in sent:
        one.get(30)


def by_chance(count: int, partitions: int, seed: int = 0) -> list[tuple[int, int, int]]:
    """Return numbers in the order of time, dealt to partitions, some times equal."""
    chance = random.Random(seed)
    dealt = []
    time = 0
    for _ in range(count):
        time += chance.choice((0, 1, 1, 5))
        dealt.append((time, chance.randrange(partitions)))
    dealt.sort()  # of equal times the lower partition first
    return [(number, partition, time) for number, (time, partition) in enumerate(dealt)]


def told(batches: list[Batch]) -> Disorder:
    found = [batch.disorder for batch in batches if batch.disorder is not None]
    gave_up = tuple(name for one in found for name in one.gave_up)
    return Disorder(sum(one.late for one in found), gave_up, sum(one.waited for one in found))


@pytest.mark.parametrize("field", [None, "at"])
def test_partitions_are_merged_by_time(kafka: Kafka, field: str | None) -> None:
    topic = kafka.topic(4)
    deal(kafka, topic, by_chance(3_000, 4), field)
    one = source(kafka, topic, time=field)
    batches = read(one, 3_000, at_once=77)
    assert numbers(batches) == list(range(3_000))
    assert [key for batch in batches for key in batch.keys or []] == list(map(str, range(3_000)))
    assert [place.part for batch in batches for place in batch.places] == [
        partition for _, partition, _ in by_chance(3_000, 4)
    ]
    assert told(batches)[:2] == (0, ())
    one.close()


def test_the_order_is_the_same_behind_every_position(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    deal(kafka, topic, by_chance(400, 3, seed=1))
    first = source(kafka, topic)
    second = source(kafka, topic)
    seen: list[int] = []
    while len(seen) < 400:
        seen += numbers([until(lambda: first.poll(37, 0.5))])
        second.seek(first.position)
        assert first.position == second.position
        if len(seen) < 400:
            (batch,) = read(second, 1)
            assert numbers([batch]) == [len(seen)]
    assert seen == list(range(400))
    first.close()
    second.close()


def test_a_partition_keeps_its_own_order_whatever_its_times_are(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, [(0, 0, 5), (1, 0, 3), (2, 0, 9), (3, 1, 4), (4, 1, 6)])
    for _ in range(2):
        one = source(kafka, topic)
        assert numbers(read(one, 5)) == [3, 0, 1, 4, 2]
        one.close()


def test_an_idle_partition_holds_nobody_up(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    one = source(kafka, topic, max_wait=30.0)
    for step in range(5):  # two partitions never have anything
        deal(kafka, topic, [(step, 1, step)])
        batch = until(lambda: one.poll(10, 0.5))
        assert numbers([batch]) == [step]
        assert batch.disorder.waited < 5 and batch.disorder[:2] == (0, ())
    one.close()


def test_what_comes_too_late_is_counted_and_not_lost(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    one = source(kafka, topic)
    deal(kafka, topic, [(number, 0, 100 + number) for number in range(10)])
    batches = read(one, 10)
    deal(kafka, topic, [(10, 1, 50), (11, 1, 60), (12, 1, 200)])
    batches += read(one, 3)
    assert numbers(batches) == list(range(13))
    assert told(batches)[:2] == (2, ())
    one.close()


def test_as_they_arrive(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, [(number, number % 2, number) for number in range(100)])
    one = source(kafka, topic, order="arrival")
    batches = read(one, 100)
    assert sorted(numbers(batches)) == list(range(100)) != numbers(batches)
    assert all(batch.disorder is None for batch in batches)
    one.close()


def test_one_partition_is_not_looked_at(kafka: Kafka) -> None:
    topic = kafka.topic()
    deal(kafka, topic, [(number, 0, number) for number in range(10)])
    one = source(kafka, topic, time="nowhere")
    (batch,) = read(one, 10)
    assert numbers([batch]) == list(range(10)) and batch.disorder is None
    one.close()


def test_a_record_without_its_time_is_rejected(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, [(0, 0, 1), (2, 1, 5)], field="at")
    for raw in (value(1), value(1, at="soon"), b"poison", value(1, at=None)):
        kafka.send(topic, [raw], partition=0)
    deal(kafka, topic, [(1, 0, 3)], field="at")
    one = source(kafka, topic, time="at")
    batches = read(one, 7)
    assert numbers(batches) == [0, 1, 2]
    bad = [each for batch in batches for each in batch.rejected]
    assert [(each.place.number, each.reason) for each in sorted(bad)] == [
        (1, "no time"), (2, "no time"), (3, "invalid JSON"), (4, "no time"),
    ]  # fmt: skip
    assert "the field 'at'" in sorted(bad)[0].detail and "'soon'" in sorted(bad)[1].detail
    assert offsets(batches[-1].position) == {topic: {"0": 6, "1": 1}}
    one.close()


def test_a_partition_that_has_more_is_waited_for(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, by_chance(200, 2))
    one = source(kafka, topic, max_wait=60.0)
    one.seek(one.position)
    stuck = max(one._positions.next)
    one._consumer.pause(stuck)  # its broker gives nothing
    assert one.poll(500, 0.5) is None
    one._consumer.resume(stuck)
    batches = read(one, 200)
    assert numbers(batches) == list(range(200))
    assert told(batches)[:2] == (0, ()) and told(batches).waited > 0.4
    one.close()


def test_a_wait_runs_out_and_is_told_of(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    dealt = by_chance(200, 2)
    deal(kafka, topic, dealt)
    one = source(kafka, topic, max_wait=0.3)
    one.seek(one.position)
    stuck = max(one._positions.next)
    one._consumer.pause(stuck)
    mine = [number for number, partition, _ in dealt if partition == 0]
    batches = read(one, len(mine))
    assert numbers(batches) == mine
    assert told(batches)[:2] == (0, (f"{topic}/1",))
    one._consumer.resume(stuck)
    rest = read(one, 200 - len(mine))
    assert numbers(rest) == sorted(set(range(200)) - set(mine))
    assert told(rest)[:2] == (sum(number < mine[-1] for number in numbers(rest)), ())
    one.close()


def test_marks_of_transactions_hold_nobody_up(kafka: Kafka) -> None:
    from kafka import KafkaProducer

    topic = kafka.topic(2)
    producer = KafkaProducer(bootstrap_servers=kafka.servers, transactional_id=topic)
    producer.init_transactions()
    for step, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        for partition in (0, 1):
            number = 2 * step + partition
            producer.send(topic, value(number), partition=partition, timestamp_ms=START + number)
        producer.flush()
        (producer.commit_transaction if commit else producer.abort_transaction)()
    producer.close()
    one = source(kafka, topic, max_wait=60.0)
    batches = read(one, 4)
    assert numbers(batches) == [0, 1, 4, 5]
    deal(kafka, topic, [(6, 0, 6)])
    batches += read(one, 1)
    assert told(batches)[:2] == (0, ()) and told(batches).waited < 30
    one.close()


def test_a_partition_that_is_added_is_merged_from_its_beginning(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    deal(kafka, topic, [(0, 0, 0), (1, 1, 1)])
    one = source(kafka, topic, discover_every=0.5)
    batches = read(one, 2)
    kafka.admin.create_partitions({topic: 3})
    kafka.admin.wait_for_topics([topic])
    until(lambda: len(kafka.producer.partitions_for(topic)) == 3, what="the partition")
    until(lambda: one.poll(1, 0.1) or len(one.position[topic]) == 3, what="it to be found")
    deal(kafka, topic, [(4, 2, 12), (2, 0, 10), (3, 1, 11)])
    batches += read(one, 3)
    assert numbers(batches)[:2] == [0, 1] and sorted(numbers(batches)[2:]) == [2, 3, 4]
    where = one.position
    assert offsets(where) == {topic: {"0": 2, "1": 2, "2": 1}}
    one.seek({topic: {"0": 1, "1": 1}})
    assert numbers(read(one, 3)) == [2, 3, 4]
    one.close()


def test_what_is_held_of_one_partition_is_bounded(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_llsvm.connectors.kafka import buffer

    monkeypatch.setattr(buffer, "_MOST_BYTES", 40_000)
    topic = kafka.topic(2)
    dealt = by_chance(6_000, 2)
    deal(kafka, topic, dealt)
    one = source(kafka, topic, max_wait=60.0, options={"max_partition_fetch_bytes": 20_000})
    one.seek(one.position)
    stuck, other = sorted(one._positions.next, reverse=True)
    one._consumer.pause(stuck)
    assert one.poll(500, 1.0) is None
    assert isinstance(one._held, buffer.TimeBuffer)
    assert other in one._paused and max(one._held._bytes) < 200_000
    one._consumer.resume(stuck)
    assert numbers(read(one, 6_000, at_once=100)) == list(range(6_000))
    assert not one._held.held
    one.close()


def test_a_backlog_of_many_partitions_is_read_to_its_end(kafka: Kafka) -> None:
    """With fetches of the usual size, each of which holds more than one poll gives."""
    topic, partitions, each = kafka.topic(64), 3, 25_000
    kafka.producer.partitions_for(topic)
    for partition in range(partitions):
        for n in range(each):
            number = n * partitions + partition
            kafka.producer.send(
                topic, b'{"a":%d,"label":0}' % number, partition=partition, timestamp_ms=number
            )
    kafka.producer.flush(60)
    one = source(kafka, topic)
    batches = read(one, partitions * each, at_once=5_000)
    assert numbers(batches) == list(range(partitions * each))
    assert told(batches)[:2] == (0, ())
    one.close()


def test_a_partition_that_gives_nothing_is_connected_to_anew(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from stream_llsvm.connectors.kafka import source as module
    from stream_llsvm.connectors.kafka import stalls

    monkeypatch.setattr(stalls, "PATIENCE", 0.5)
    monkeypatch.setattr(module, "_ASK", 0.1)
    topic = kafka.topic(2)
    deal(kafka, topic, by_chance(200, 2))
    one = source(kafka, topic, max_wait=60.0)
    one.seek(one.position)
    stuck = max(one._positions.next)
    one._consumer.pause(stuck)  # which nobody will undo
    with caplog.at_level("WARNING", "stream_llsvm.kafka"):
        batches = read(one, 200)
    assert numbers(batches) == list(range(200)) and told(batches)[:2] == (0, ())
    (incident,) = one.incidents
    assert incident[::2] == ("stalled", 1) and f"{topic}/1 has more" in incident.text
    assert incident.text in caplog.text
    one.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": "size"}, "order is one of"),
        ({"order": "arrival", "time": "at"}, "order='arrival' asks for no time"),
        ({"max_wait": -1.0}, "max_wait is a number of seconds"),
    ],
)
def test_wrong_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        KafkaSource("t", "localhost:1", **options)
