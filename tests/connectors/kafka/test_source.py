"""A source of Kafka records, against a real broker."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any

import pytest

from stream_llsvm.connectors import KafkaSource, message_codec
from stream_llsvm.connectors.base import TOPIC_IDS, Place, Position, SourceError
from tests.connectors.kafka.support import Kafka, numbers, offsets, read, until, value


def source(kafka: Kafka, topics: Any, **options: Any) -> KafkaSource:
    return KafkaSource(topics, kafka.servers, **({"connect_timeout": 30.0} | options))


def stands_at(one: KafkaSource, position: Position) -> bool:
    assert one.poll(1, 0.1) is None
    return offsets(one.position) == position


def test_reads_all_in_order_and_says_where_it_stands(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, map(value, range(0, 40)), partition=0)
    kafka.send(topic, map(value, range(40, 60)), partition=1)
    one = source(kafka, topic)
    assert one.position == {} and not one.ended
    batches = read(one, 60, at_once=7)
    assert all(len(batch) <= 7 for batch in batches)
    by_part: dict[int, list[int]] = {0: [], 1: []}
    for batch in batches:
        for place, number in zip(batch.places, numbers([batch]), strict=True):
            assert place.part is not None
            by_part[place.part].append(number)
            assert place.number == number - 40 * place.part
    assert by_part == {0: list(range(40)), 1: list(range(40, 60))}
    assert batches[-1].position == one.position
    assert offsets(one.position) == {topic: {"0": 40, "1": 20}}
    assert [n % 3 for n in numbers(batches)] == [y for batch in batches for y in batch.labels]
    assert batches[0].names == ("a", "b") and batches[0].keys is not None
    assert set(batches[0].keys) == {"k"}
    assert str(batches[0].places[0]).startswith(f"{topic}/")
    assert one.poll(10, 0.0) is None
    one.close()


def test_goes_on_behind_any_batch(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    for part in range(3):
        kafka.send(topic, map(value, range(100 * part, 100 * part + 50)), partition=part)
    first = source(kafka, topic)
    seen: list[int] = []
    for _ in range(4):
        seen += numbers([until(lambda: first.poll(13, 0.5))])
    where = first.position
    first.close()
    assert first.position == where
    second = source(kafka, topic)
    second.seek(where)
    assert second.position == where
    seen += numbers(read(second, 150 - len(seen)))
    assert sorted(seen) == sorted(n for p in range(3) for n in range(100 * p, 100 * p + 50))
    second.seek(where)  # again, on a source that is running
    left = 150 - sum(where[topic].values())
    assert sorted(numbers(read(second, left))) == sorted(seen[-left:])
    second.close()


def test_a_seek_forgets_what_was_fetched_and_not_handed_out(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(value, range(50)))
    one = source(kafka, topic)
    assert numbers([until(lambda: one.poll(10, 0.5))]) == list(range(10))
    assert offsets(one.position) == {topic: {"0": 10}}
    one.seek({topic: {"0": 5}})
    assert offsets(one.position) == {topic: {"0": 5}}
    assert numbers(read(one, 45)) == list(range(5, 50))
    one.close()


def test_latest_and_several_topics_and_chosen_partitions(kafka: Kafka) -> None:
    old, new = kafka.topic(2), kafka.topic(1)
    kafka.send(old, map(value, range(5)), partition=0)
    kafka.send(old, map(value, range(5)), partition=1)
    late = source(kafka, {old: [1], new: None}, start="latest")
    assert late.poll(10, 0.2) is None
    assert offsets(late.position) == {old: {"1": 5}, new: {"0": 0}}
    kafka.send(old, [value(70)], partition=0)
    kafka.send(old, [value(71)], partition=1)
    kafka.send(new, [value(72)])
    assert sorted(numbers(read(late, 2))) == [71, 72]
    late.close()


def test_start_at_a_position(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(value, range(10)))
    one = source(kafka, topic, start={topic: {"0": 7}})
    assert numbers(read(one, 3)) == [7, 8, 9]
    one.close()


def test_poison_and_tombstones(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [value(0), b"\xff poison", None, b'{"a": [[1]]}', value(4)])
    one = source(kafka, topic)
    batches = read(one, 5)
    assert numbers(batches) == [0, 4]
    bad = [each for batch in batches for each in batch.rejected]
    assert [(r.place, r.reason) for r in bad] == [
        (Place(topic, 0, 1), "invalid UTF-8"),
        (Place(topic, 0, 2), "no value"),
        (Place(topic, 0, 3), "odd value"),
    ]
    assert bad[0].raw == b"\xff poison"
    one.close()
    two = source(kafka, topic, tombstones="skip")
    assert len(read(two, 4)[0].rejected) == 2
    assert two.skipped == 1 and offsets(two.position) == {topic: {"0": 5}}
    two.close()


def test_only_poison_is_a_batch_too(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [b"x", b"y"])
    one = source(kafka, topic)
    (batch,) = read(one, 2)
    assert len(batch) == 0 and len(batch.rejected) == 2
    assert offsets(batch.position) == {topic: {"0": 2}}
    one.close()


def test_headers_and_keys(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [value(0), b"poison"], key=b"\xff", headers=[("trace", b"abc"), ("n", b"1")])
    kafka.send(topic, [value(1)], key=None)
    one = source(kafka, topic, key_header="trace")
    (batch,) = read(one, 3)
    assert batch.keys == ["abc", None]
    assert [record.key for record in one.raw] == [b"\xff", None]
    assert one.raw[0].headers == [("trace", b"abc"), ("n", b"1")]
    one.close()
    two = source(kafka, topic, codec=message_codec(key="b"))
    assert read(two, 3)[0].keys == [0.5, 0.5]
    two.close()


def test_a_partition_added_while_running_is_read_from_its_beginning(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [value(0)])
    one = source(kafka, topic, start="latest", discover_every=0.5)
    assert one.poll(10, 0.0) is None
    kafka.admin.create_partitions({topic: 3})
    kafka.admin.wait_for_topics([topic])
    kafka.send(topic, [value(5)], partition=2)
    assert numbers(read(one, 1)) == [5]
    assert offsets(one.position) == {topic: {"0": 1, "1": 0, "2": 1}}
    where = {topic: {"0": 1}}  # a checkpoint from before
    one.seek(where)
    assert numbers(read(one, 1)) == [5]
    one.close()


def test_lag(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, map(value, range(10)), partition=1)
    one = source(kafka, topic)
    assert one.lag() == {}
    read(one, 4, at_once=4)
    assert one.lag() == {topic: {"0": 0, "1": 6}}
    told: list[Any] = []
    other = threading.Thread(target=lambda: told.append(one.lag()))
    other.start()
    other.join(20)
    assert told == [{topic: {"0": 0, "1": 6}}]
    one.close()
    assert one.lag() == {}


def test_seek_below_what_was_deleted(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(value, range(20)))
    kafka.delete_below(topic, 12)
    one = source(kafka, topic)
    with pytest.raises(SourceError) as told:
        one.seek({topic: {"0": 3}})
    text = str(told.value)
    assert f"{topic}/0" in text and "offset 3 " in text and "12 to 20" in text
    assert "\n" not in text
    one.seek({topic: {"0": 15}})
    assert numbers(read(one, 5)) == [15, 16, 17, 18, 19]
    one.close()
    two = source(kafka, topic, on_lost_data="earliest")
    two.seek({topic: {"0": 3}})
    assert numbers(read(two, 8)) == list(range(12, 20)) and two.lost == 9
    two.close()


@pytest.mark.parametrize("what", ["stop", "earliest"])
def test_what_is_wanted_is_deleted_while_running(kafka: Kafka, what: str) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(value, range(5)))
    one = source(kafka, topic, on_lost_data=what)
    read(one, 5)
    one._consumer.pause(
        *one._positions.next
    )  # the source is busy elsewhere: nothing is fetched ahead
    kafka.send(topic, map(value, range(5, 30)))
    kafka.delete_below(topic, 25)
    one._consumer.resume(*one._positions.next)
    one._consumer.seek(*next(iter(one._positions.next.items())))  # forget what was fetched
    if what == "stop":
        with pytest.raises(SourceError, match=r"offset 5 is wanted, 25 to 30"):
            until(lambda: one.poll(100, 0.5))
        with pytest.raises(SourceError, match="offset 5 is wanted"):
            one.poll(100, 0.5)
        one.seek({topic: {"0": 27}})
        assert numbers(read(one, 3)) == [27, 28, 29]
    else:
        assert numbers(read(one, 5)) == list(range(25, 30))
        assert one.lost == 20
        assert [(kind, number) for kind, _, number in one.incidents] == [("lost_records", 20)]
    one.close()


def test_an_offset_behind_the_end_is_loud(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [value(0)])
    for isolation in ("read_committed", "read_uncommitted"):
        one = source(kafka, topic, isolation=isolation)
        with pytest.raises(SourceError, match=r"offset 9 is wanted, 0 to 1 are there"):
            one.seek({topic: {"0": 9}})
            until(partial(one.poll, 1, 0.5))
        one.close()


@pytest.mark.parametrize("what", ["stop", "earliest"])
def test_a_topic_made_anew_is_loud(kafka: Kafka, what: str) -> None:
    topic = kafka.topic()
    kafka.send(topic, map(value, range(3)))
    one = source(kafka, topic, discover_every=0.5, on_lost_data=what)
    read(one, 3)
    kafka.make_anew(topic)
    if what == "stop":
        with pytest.raises(SourceError, match=r"made anew|lost data"):
            until(lambda: one.poll(10, 0.2))
    else:
        kafka.send(topic, map(value, range(20, 26)))
        seen: set[int] = set()  # what was at the old offset may come before it is noticed, too
        while not seen >= set(range(20, 26)):
            seen |= set(numbers([until(lambda: one.poll(10, 0.2))]))
    one.close()


def test_offsets_belong_to_a_topic_and_not_to_its_name(kafka: Kafka) -> None:
    """Where nothing read it when it was deleted and made anew."""
    topic = kafka.topic(2)
    kafka.send(topic, map(value, range(10)))
    before = source(kafka, topic)
    read(before, 10)
    where, ends = before.position, before.ends()
    before.close()
    assert before.position == where and where[TOPIC_IDS].keys() == {topic}
    kafka.make_anew(topic, 2)
    kafka.send(topic, map(value, range(100, 120)))
    one = source(kafka, topic)
    with pytest.raises(SourceError, match="was deleted and made anew; its offsets mean others"):
        one.seek(where)
    for call in (
        lambda: source(kafka, topic, start=where).poll(1, 0.0),
        lambda: list(one.between({**ends, topic: {"0": 2, "1": 0}}, ends)),
    ):
        with pytest.raises(SourceError, match="made anew"):
            call()
    with pytest.raises(ValueError, match="ids of topics are damaged"):
        one.seek({**where, TOPIC_IDS: {topic: 7}})
    one.seek(offsets(where))  # as older versions kept it
    assert numbers(read(one, 10)) == list(range(110, 120))
    one.close()
    lenient = source(kafka, topic, on_lost_data="earliest")
    lenient.seek(where)
    assert numbers(read(lenient, 20)) == list(range(100, 120))
    (incident,) = lenient.incidents
    assert incident[::2] == ("lost_records", 0) and "made anew" in incident.text
    again = source(kafka, topic)
    again.seek(lenient.position)  # which belongs to the new one
    for each in (lenient, again):
        each.close()


def test_a_compacted_topic_has_gaps(kafka: Kafka) -> None:
    topic = kafka.topic(
        cleanup_policy="compact",
        segment_ms=100,
        min_cleanable_dirty_ratio=0.01,
        max_compaction_lag_ms=200,
    )
    for number in range(6):
        kafka.send(topic, [value(number)], key=b"same")

    def compacted() -> bool:
        kafka.send(topic, [value(99)], key=b"other")  # rolls the segment
        offsets = [r.offset for r in kafka.everything(topic) if r.key == b"same"]
        return offsets == [5]

    until(compacted, 60, "compaction")
    one = source(kafka, topic, start={topic: {"0": 2}})
    seen = numbers(read(one, 1))
    while one.lag()[topic]["0"]:
        seen += numbers(filter(None, [one.poll(100, 0.2)]))
    assert seen[0] == 5 and set(seen[1:]) == {99}
    one.close()


def test_aborted_transactions_and_marks(kafka: Kafka) -> None:
    from kafka import KafkaProducer

    topic = kafka.topic()
    producer = KafkaProducer(bootstrap_servers=kafka.servers, transactional_id=f"tx-{topic}")
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.send(topic, value(number), partition=0)
        producer.flush()
        (producer.commit_transaction if number % 2 else producer.abort_transaction)()
    strict, loose = source(kafka, topic), source(kafka, topic, isolation="read_uncommitted")
    assert numbers(read(strict, 2)) == [1, 3]
    assert numbers(read(loose, 4)) == [0, 1, 2, 3]
    for one in (strict, loose):  # the marks are records of their own
        until(partial(stands_at, one, {topic: {"0": 8}}))
        assert one.lag() == {topic: {"0": 0}}
    producer.begin_transaction()
    producer.send(topic, value(9), partition=0)
    producer.flush()
    assert strict.poll(5, 1.0) is None
    assert numbers(read(loose, 1)) == [9]
    producer.commit_transaction()
    assert numbers(read(strict, 1)) == [9]
    producer.close()
    strict.close()
    loose.close()


def test_a_record_of_10_megabytes(kafka: Kafka) -> None:
    topic = kafka.topic(max_message_bytes=15_000_000)
    big = b'{"a": 1, "b": 2, "label": "' + b"x" * 10_000_000 + b'"}'
    kafka.send(topic, [value(0), big, value(2)])
    one = source(kafka, topic)
    batches = read(one, 3)
    assert numbers(batches) == [0, 1, 2]
    one.close()


def test_compressed_records(kafka: Kafka) -> None:
    from kafka import KafkaProducer

    topic = kafka.topic()
    producer = KafkaProducer(
        bootstrap_servers=kafka.servers, compression_type="gzip", linger_ms=100
    )
    for number in range(100):
        producer.send(topic, value(number))
    producer.close()
    one = source(kafka, topic, start={topic: {"0": 33}})  # in the middle of a batch
    assert numbers(read(one, 67, at_once=10)) == list(range(33, 100))
    one.close()


def test_records_packed_in_a_way_that_is_not_installed_here(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka import KafkaProducer
    from kafka.record import default_records

    topic = kafka.topic()
    producer = KafkaProducer(bootstrap_servers=kafka.servers, compression_type="gzip")
    producer.send(topic, b"x" * 1000).get(20)
    producer.close()
    monkeypatch.setattr(default_records.codecs, "has_gzip", lambda: False)
    one = source(kafka, topic)
    for _ in range(2):  # it does not spin the second time
        with pytest.raises(SourceError, match="compression"):
            until(lambda: one.poll(1, 0.5))
    one.close()


def test_weights_and_values_as_they_are(kafka: Kafka) -> None:
    topic = kafka.topic(1)
    rows = [{"a": i, "n": "007", "w": i % 3, "label": i % 2} for i in range(60)]
    kafka.send(topic, (json.dumps(row).encode() for row in rows))
    one = source(kafka, topic, weight="w")
    first = until(lambda: one.poll(40, 0.5))
    assert first.names == ("a", "n")
    one.keep_text()
    batches = [first, *read(one, 60 - len(first), at_once=40)]
    weights = [w for batch in batches if batch.weights is not None for w in batch.weights.tolist()]
    assert weights == [i % 3 for i in range(60)]
    assert batches[-1].records is not None
    assert batches[-1].records[-1] == {"a": 59, "n": "007"}
    one.close()


def test_a_closed_source_is_closed(kafka: Kafka) -> None:
    one = source(kafka, kafka.topic())
    one.poll(1, 0.0)
    one.close()
    one.close()
    with pytest.raises(SourceError, match="closed"):
        one.poll(1, 0.0)


def test_options_are_checked() -> None:
    for name, wrong in (("start", "now"), ("isolation", "x"), ("on_lost_data", ""), ("topics", [])):
        given: dict[str, Any] = {"topics": "t", "servers": "h:1", name: wrong}
        with pytest.raises(ValueError):
            KafkaSource(**given)
    with pytest.raises(ValueError, match="host:port"):
        KafkaSource("t", "h:port")


def test_names_frames_and_changes(kafka: Kafka) -> None:
    """What producers send: text that comes later, a schema registry's frame, Debezium's deletes."""
    plain, framed, changes = (kafka.topic() for _ in range(3))
    rows = [{"a": i, "city": f"c{i % 3}", "label": i % 2} for i in range(60)]
    kafka.send(plain, [json.dumps(row).encode() for row in [{"a": -1, "label": 0}, *rows]])
    one = source(kafka, plain)
    batches = read(one, 61)
    assert not any(batch.rejected or batch.bad_fields for batch in batches)
    found = [batch.record(i) for batch in batches for i in range(len(batch))]
    assert found[0]["a"] == -1.0 and found[1:] == [{"a": i, "city": f"c{i % 3}"} for i in range(60)]
    one.close()
    frame = b"\0\0\0\0\x2a"
    kafka.send(framed, [frame + json.dumps(row).encode() for row in rows] + [frame + b"\x02x"])
    two = source(kafka, framed)
    batches = read(two, 61)
    assert [batch.record(i)["city"] for batch in batches for i in range(len(batch))] == [
        row["city"] for row in rows
    ]
    reasons = [r.reason for batch in batches for r in batch.rejected]
    assert reasons == ["framed by a schema registry"]
    two.close()
    envelope = [{"before": None, "after": row, "op": "c"} for row in rows]
    deleted = {"before": rows[0], "after": None, "op": "d"}
    kafka.send(changes, [json.dumps(each).encode() for each in [*envelope, deleted]] + [None])
    three = source(kafka, changes, unwrap="after")
    batches = [until(lambda: three.poll(100, 0.5))]
    while offsets(three.position) != {changes: {"0": 62}}:
        batches.append(until(lambda: three.poll(100, 0.5)))
    assert sum(map(len, batches)) == 60 and sum(batch.deletes for batch in batches) == 2
    assert not any(batch.rejected for batch in batches)
    assert all(len(batch.keys or []) == len(batch) == len(batch.places) for batch in batches)
    three.close()
