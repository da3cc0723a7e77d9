"""A consumer group that shows how far checkpoints have come, and chosen partitions."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import SourceError
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.cli.support import refused, told
from tests.connectors.kafka.support import Kafka, numbers, offsets, read, until, value


def shown(kafka: Kafka, group: str) -> dict[tuple[str, int], int]:
    """Return what kafka-consumer-groups would say that the group has committed."""
    found = kafka.admin.list_group_offsets(group)[group]
    return {(one.topic, one.partition): at.offset for one, at in found.items()}


def run(kafka: Kafka, topic: str, folder: Path, group: str, most: int) -> dict[str, Any]:
    source = KafkaSource(topic, kafka.servers, group=group, features=["a", "b"])
    checkpoints = Checkpoints(folder)
    engine = Engine(source, LLSVMClassifier(n_anchors=9), checkpoints=checkpoints, max_batch=10)
    report = engine.run(max_records=most)
    source.close()
    checkpoints.close()
    return report


def test_a_group_shows_how_far_checkpoints_have_come(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    for part in range(2):
        kafka.send(topic, map(value, range(50)), partition=part)
    group = f"group-{topic}"
    assert run(kafka, topic, tmp_path / "kept", group, 60)["learned"] == 60
    assert sum(shown(kafka, group).values()) == 60
    assert run(kafka, topic, tmp_path / "kept", group, 40)["learned"] == 100
    assert shown(kafka, group) == {(topic, 0): 50, (topic, 1): 50}
    # Where to go on is in the checkpoint alone: a new folder begins anew.
    assert run(kafka, topic, tmp_path / "new", group, 30)["learned"] == 30
    assert sum(shown(kafka, group).values()) == 30


def test_a_group_in_use_is_told_and_stops_nothing(
    kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from kafka import KafkaConsumer

    topic = kafka.topic()
    kafka.send(topic, map(value, range(20)))
    group = f"group-{topic}"
    member = KafkaConsumer(topic, bootstrap_servers=kafka.servers, group_id=group)
    try:
        until(lambda: member.poll(timeout_ms=100) or member.assignment(), what="the member")
        with caplog.at_level(logging.WARNING, "stream_llsvm.kafka"):
            assert run(kafka, topic, tmp_path, group, 20)["learned"] == 20
    finally:
        member.close(autocommit=False)
    assert f"the offsets of the group '{group}' are not shown: " in caplog.text


def test_the_command_takes_partitions_and_a_group(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic(3)
    for part in range(3):
        kafka.send(topic, map(value, range(100 * part, 100 * part + 20)), partition=part)
    given = ["run", "--from", f"kafka://{kafka.servers}/{topic}", "--label", "label"]
    given += ["--partitions", "0,2", "--group", f"group-{topic}", "--model", "lcc"]
    assert "give --checkpoints too" in refused(*given)
    report = told(*given, "--checkpoints", tmp_path / "kept", "--max-records", 40)
    assert report["learned"] == 40
    assert shown(kafka, f"group-{topic}") == {(topic, 0): 20, (topic, 2): 20}
    said = refused("run", "--from", "kafka://x/y", "--label", "y", "--partitions", "0,one")
    assert "partitions must be whole numbers, as in partitions = [0, 1]" in said


def test_chosen_partitions_must_hold_the_position(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    for part in range(2):
        kafka.send(topic, map(value, range(10)), partition=part)
    one = KafkaSource({topic: [1]}, kafka.servers)
    assert numbers(read(one, 10)) == list(range(10)) and offsets(one.position) == {topic: {"1": 10}}
    with pytest.raises(SourceError, match=r"also in partition 0 of .*, which is not read"):
        one.seek({topic: {"0": 3, "1": 4}})
    one.seek({topic: {"1": 4}})
    assert numbers(read(one, 6)) == list(range(4, 10))
    one.close()


def test_fields_make_a_codec(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [b"1;NA;x", b"2;0,5;y"])
    how: dict[str, Any] = {"format": "csv", "names": ["a", "b", "y"], "label": "y"}
    one = KafkaSource(topic, kafka.servers, **how, delimiter=";", decimal=",", features=["b"])
    (batch,) = read(one, 2)
    assert batch.names == ("b",) and batch.labels == ["x", "y"]
    assert batch.values is not None and batch.values[1, 0] == 0.5
    one.close()
    with pytest.raises(TypeError, match="give a codec, or label; not both"):
        KafkaSource(topic, kafka.servers, codec=one._batches.codec, label="y")
