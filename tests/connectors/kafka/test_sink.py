"""Results and rejected records written to Kafka, against a real broker."""

from __future__ import annotations

import contextlib
import json
import uuid
from typing import Any

import numpy as np
import pytest

from stream_llsvm.connectors import KafkaDeadLetters, KafkaSink, KafkaSource
from stream_llsvm.connectors.base import Place, Result, SinkError
from stream_llsvm.connectors.kafka.fast_write import Bundles
from stream_llsvm.connectors.predictions import as_line
from tests.connectors.kafka.support import (
    Kafka,
    numbers,
    read,
    reject,
    result,
    value,
    written_place,
)
from tools.kafka_broker import Broker


def shown(kafka: Kafka, topic: str, isolation: str = "read_committed") -> list[str]:
    """Return the places in the values of all records of a topic."""
    return [written_place(one.value) for one in kafka.everything(topic, isolation)]


def test_what_a_message_says(kafka: Kafka) -> None:
    topic = kafka.topic()
    sink = KafkaSink(topic, kafka.servers, model_version="v7")
    sink.write([result(3, "key"), result(4, b"\xff")])
    sink.model_version = None
    odd = Result(Place("f.csv", None, 9), 12, np.int64(1), "é", np.float64(0.5))
    sink.write([odd, Result(Place("in", 0, 5), None, None, None, None)])
    sink.flush()
    one, two, three, four = kafka.everything(topic)
    assert json.loads(one.value) == {
        "source": "in",
        "partition": 0,
        "offset": 3,
        "key": "key",
        "label": 1,
        "prediction": 0,
        "probability": 0.75,
        "probabilities": {"0": 0.25, "1": 0.75},
        "time": "1970-01-01T00:00:00.000Z",
        "model_version": "",
        "records_learned": None,
    }
    assert one.value == as_line(result(3, "key")), "in files it is the same"
    assert one.key == b"key" and one.headers == [("source", b"in/0@3"), ("model", b"v7")]
    assert two.key == b"\xff"
    assert three.key == b"12" and three.headers == [("source", b"f.csv:9")]
    assert json.loads(three.value)["prediction"] == "é"
    assert four.key is None and json.loads(four.value)["probability"] is None
    sink.close()


def test_order_and_number(kafka: Kafka) -> None:
    topic = kafka.topic()
    sink = KafkaSink(topic, kafka.servers)
    for start in range(0, 5000, 1000):
        sink.write([result(n) for n in range(start, start + 1000)])
    sink.close()
    assert shown(kafka, topic) == [f"in/0@{n}" for n in range(5000)]


@pytest.mark.parametrize("number", [17, 3_000])
@pytest.mark.parametrize("bundled", [True, False])
def test_many_at_once_are_what_they_are_one_by_one(
    kafka: Kafka, number: int, bundled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a kafka-python that takes no bundles: the same messages at the same places."""
    many, single = kafka.topic(4), kafka.topic(4)
    results = [result(n, None if n == 7 else "é" * (n % 90)) for n in range(number)]
    results[5] = result(5, "k" * 70_000)  # which no batch of the usual size takes
    if not bundled:
        monkeypatch.setattr(Bundles, "possible", lambda _: False)
    for topic, at_once in ((many, number), (single, 1)):
        with contextlib.closing(KafkaSink(topic, kafka.servers, model_version="v1")) as sink:
            for first in range(0, number, at_once):
                sink.write(results[first : first + at_once])
            sink.flush()
    found, expected = (
        [(r.partition, r.key, r.value, r.headers) for r in kafka.everything(topic) if r.key]
        for topic in (many, single)
    )
    assert sorted(found) == sorted(expected)
    for part in range(4):
        mine, its = ([one for one in rows if one[0] == part] for rows in (found, expected))
        assert mine == its
    assert len(kafka.everything(many)) == number
    times = [one.timestamp for one in kafka.everything(many)]
    assert max(times) - min(times) < 60_000 and min(times) > 1.6e12


def test_what_is_too_large_together_is_sent_in_parts(kafka: Kafka) -> None:
    topic = kafka.topic(max_message_bytes=4000)
    with contextlib.closing(KafkaSink(topic, kafka.servers)) as sink:
        sink.write([result(n) for n in range(300)])
        sink.flush()
    assert shown(kafka, topic) == [f"in/0@{n}" for n in range(300)]


def test_how_many_of_many_do_not_arrive_is_said(kafka: Kafka) -> None:
    """With a record that is too large by itself, kafka-python gives up all behind it."""
    topic = kafka.topic(max_message_bytes=4000)
    sink = KafkaSink(topic, kafka.servers)
    sink.write([result(n, "k" * 9000 if n == 50 else None) for n in range(200)])
    with pytest.raises(SinkError, match="150 records did not arrive"):
        sink.flush()
    assert shown(kafka, topic) == [f"in/0@{n}" for n in range(50)]
    sink.write([result(n) for n in range(200, 300)])
    sink.flush()
    assert shown(kafka, topic)[50:] == [f"in/0@{n}" for n in range(200, 300)]
    sink.close()


def test_many_in_a_transaction(kafka: Kafka) -> None:
    topic = kafka.topic()
    sink = KafkaSink(topic, kafka.servers, transactional_id=f"tx-{uuid.uuid4().hex[:8]}")
    sink.write([result(n) for n in range(500)])
    sink.flush()
    assert shown(kafka, topic) == []
    sink.abort()
    sink.write([result(n) for n in range(500, 900)])
    sink.commit()
    sink.write([result(n) for n in range(900, 1000)])
    sink.close()  # an open transaction is taken back
    assert shown(kafka, topic) == [f"in/0@{n}" for n in range(500, 900)]


def test_what_does_not_arrive_is_said(kafka: Kafka) -> None:
    topic = kafka.topic(max_message_bytes=2000)
    sink = KafkaSink(topic, kafka.servers)
    sink.write([result(0, "k" * 5000)])
    with pytest.raises(SinkError, match="1 records did not arrive") as told:
        sink.flush()
    assert topic in str(told.value) and "\n" not in str(told.value)
    sink.write([result(1)])  # it goes on with a producer of its own
    sink.flush()
    assert shown(kafka, topic) == ["in/0@1"]
    with pytest.raises(SinkError, match="larger"):
        sink.write([result(2, "k" * 3_000_000)])
    sink.close()


def test_no_topic(kafka: Kafka) -> None:
    sink = KafkaSink("test-none", kafka.servers, connect_timeout=0.5)
    with pytest.raises(SinkError, match="no topic 'test-none'"):
        sink.write([result(0)])
    sink.close()
    assert "test-none" not in kafka.admin.list_topics()


def test_transactions(kafka: Kafka) -> None:
    source, topic = kafka.topic(2), kafka.topic()
    name = f"tx-{uuid.uuid4().hex[:8]}"
    sink = KafkaSink(topic, kafka.servers, transactional_id=name)
    assert sink.committed_offsets() == {}
    sink.write([result(0), result(1)])
    sink.flush()
    assert shown(kafka, topic) == []
    assert len(shown(kafka, topic, "read_uncommitted")) == 2
    sink.commit({source: {"0": 2, "1": 0}}, metadata="checkpoint 1")
    assert shown(kafka, topic) == ["in/0@0", "in/0@1"]
    sink.write([result(2)])
    sink.abort()
    sink.begin()
    sink.write([result(3)])
    with pytest.raises(SinkError, match="open already"):
        sink.begin()
    sink.commit({source: {"0": 4}})
    sink.commit({source: {"1": 7}})  # a position without results
    assert shown(kafka, topic) == ["in/0@0", "in/0@1", "in/0@3"]
    assert sink.committed_offsets() == {source: {"0": 4, "1": 7}}
    sink.write([result(5)])
    sink.close()  # an open transaction is taken back
    again = KafkaSink(topic, kafka.servers, transactional_id=name)
    assert again.committed_offsets() == {source: {"0": 4, "1": 7}}
    assert len(shown(kafka, topic)) == 3
    again.close()


def test_a_failed_record_takes_its_transaction_along(kafka: Kafka) -> None:
    source, topic = kafka.topic(), kafka.topic(max_message_bytes=2000)
    name = f"tx-{uuid.uuid4().hex[:8]}"
    sink = KafkaSink(topic, kafka.servers, transactional_id=name)
    sink.write([result(0), result(1, "k" * 5000)])
    with pytest.raises(SinkError):
        sink.commit({source: {"0": 2}})
    sink.abort()
    assert sink.committed_offsets() == {}
    sink.write([result(2)])
    sink.commit({source: {"0": 3}})
    assert shown(kafka, topic) == ["in/0@2"]
    assert sink.committed_offsets() == {source: {"0": 3}}
    sink.close()


def test_the_older_process_is_shut_out(kafka: Kafka) -> None:
    source, topic = kafka.topic(), kafka.topic()
    name = f"tx-{uuid.uuid4().hex[:8]}"
    old = KafkaSink(topic, kafka.servers, transactional_id=name)
    old.write([result(0)])
    old.flush()
    new = KafkaSink(topic, kafka.servers, transactional_id=name)
    assert new.committed_offsets() == {}
    new.write([result(1)])
    new.commit({source: {"0": 1}})
    for _ in range(2):
        with pytest.raises(SinkError, match="another process uses"):
            old.write([result(2)])
            old.commit({source: {"0": 9}})
    old.abort()
    old.close()
    assert shown(kafka, topic) == ["in/0@1"]
    assert new.committed_offsets() == {source: {"0": 1}}
    new.close()


def test_without_an_id_there_are_no_transactions(kafka: Kafka) -> None:
    sink = KafkaSink(kafka.topic(), kafka.servers)
    for call in (sink.begin, sink.commit, sink.committed_offsets):
        with pytest.raises(SinkError, match="transactional_id"):
            call()
    sink.close()


def test_kill_in_the_middle_of_transactions(broker: Broker, own_kafka: Kafka) -> None:
    """Read, write and commit in turns while the broker dies: every record exactly once."""
    source, topic, total = own_kafka.topic(), own_kafka.topic(), 300
    own_kafka.send(source, map(value, range(total)))
    name = f"tx-{uuid.uuid4().hex[:8]}"
    reader = KafkaSource(source, broker.bootstrap)
    sink = KafkaSink(topic, broker.bootstrap, transactional_id=name)
    reader.seek(sink.committed_offsets())
    seen, turn = 0, 0
    while seen < total:
        (batch,) = read(reader, 50, 60, at_once=50)
        turn += 1
        sink.write([result(n) for n in numbers([batch])])
        if turn == 2:
            sink.flush()
            broker.kill()
            broker.start()
        try:
            sink.commit(batch.position)
        except SinkError:  # whether that went through, the broker knows
            sink.abort()
            reader.seek(sink.committed_offsets())
        seen = reader.position[source]["0"]
    assert sink.committed_offsets() == {source: {"0": total}}
    assert shown(own_kafka, topic) == [f"in/0@{n}" for n in range(total)]
    reader.close()
    sink.close()


def test_dead_letters(kafka: Kafka) -> None:
    topic = kafka.topic()
    letters = KafkaDeadLetters(topic, kafka.servers, max_bytes=100)
    letters.write([reject(1), reject(2, b""), reject(3, b"x" * 250)])
    letters.flush()
    letters.flush()
    one, two, three = kafka.everything(topic)
    assert one.value == b"\xff{" and two.value == b"" and three.value == b"x" * 100
    assert dict(one.headers) == {"source": b"in/0@1", "reason": b"not json", "detail": b"at 0"}
    assert dict(three.headers)["cut"] == b"250"
    letters.close()


def test_dead_letters_go_on_after_an_error(kafka: Kafka) -> None:
    topic = kafka.topic(max_message_bytes=2000)
    letters = KafkaDeadLetters(topic, kafka.servers)
    letters.write([reject(1), reject(2, b"x" * 5000), reject(3)])
    with pytest.raises(SinkError, match="did not arrive"):
        letters.flush()
    _allow(kafka, topic, 10_000)
    letters.flush()  # what did not arrive was kept
    places = {dict(one.headers)["source"] for one in kafka.everything(topic)}
    assert places == {b"in/0@1", b"in/0@2", b"in/0@3"}
    letters.close()


def _allow(kafka: Kafka, topic: str, size: int) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType

    change: Any = ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": str(size)})
    kafka.admin.alter_configs([change])


def test_dead_letters_wait_for_a_broker(broker: Broker, own_kafka: Kafka) -> None:
    topic = own_kafka.topic()
    letters = KafkaDeadLetters(topic, broker.bootstrap, connect_timeout=0.5, flush_timeout=0.5)
    letters.write([reject(0)])
    letters.flush()
    broker.stop()
    letters.write([reject(1)])
    with pytest.raises(SinkError):
        letters.flush()
    broker.start()
    letters._sender.settings.connect_timeout = 30.0
    letters._flush_timeout = 30.0
    letters.flush()
    places = {dict(one.headers)["source"] for one in own_kafka.everything(topic)}
    assert places == {b"in/0@0", b"in/0@1"}
    letters.close()
