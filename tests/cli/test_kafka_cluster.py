"""``run --workers`` between topics: whatever is killed, readers see each prediction once."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import newest, started, told, wait_for
from tests.cli.test_cluster import TIMES
from tests.cli.test_kafka_run import places, values
from tests.cluster.processes import descendants, kill
from tests.connectors.kafka.support import Kafka

RECORDS = 12_000


def arguments(kafka: Kafka, source: str, *more: Any) -> list[Any]:
    address = f"kafka://{kafka.servers}/{source}"
    of_cluster = ["--workers", 2, "--slice", 1_000]
    return ["run", "--from", address, "--label", "y", "--model", "sapl", *of_cluster, *more]


def filled(kafka: Kafka, partitions: int) -> str:
    """Return a topic of records whose times are all over its partitions."""
    source, chance = kafka.topic(partitions), random.Random(0)
    kafka.producer.partitions_for(source)
    for at, value in enumerate(values(RECORDS)):
        kafka.producer.send(
            source, value, partition=chance.randrange(partitions), timestamp_ms=10**12 + at // 3
        )
    kafka.producer.flush(60)
    return source


def test_all_is_killed_and_readers_see_each_prediction_once(kafka: Kafka, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="comes with the extra 'test'")
    source, target, folder = filled(kafka, 3), kafka.topic(), tmp_path / "kept"
    model, alone, chance = tmp_path / "m", tmp_path / "alone", random.Random(11)
    to = ["--to", f"kafka://{kafka.servers}/{target}", "--transactional-id", target]
    run = arguments(kafka, source, *to, "--checkpoints", folder)

    def epoch() -> int:
        there = list(folder.glob("checkpoint-*.llsvm")) if folder.exists() else []
        return int(newest(folder)["cluster"]["epoch"]) if there else 0

    for _ in range(TIMES):
        before, process = epoch(), started(*run)
        wait_for(lambda b=before, p=process: p.poll() is not None or epoch() > b)  # type: ignore[misc]
        time.sleep(chance.random() * 0.3)  # any moment of a round
        for one in [process.pid, *descendants(process.pid)]:
            kill(one)
        process.communicate()
    left = RECORDS - newest(folder)["progress"]["counts"]["records"]
    report = told(*run, "--max-records", max(1, left), "--save", model)
    assert report["learned"] == report["predicted"] == RECORDS
    found = places(kafka, target)
    assert len(found) == len(set(found)) == RECORDS
    local = ["--cluster", "local", "--max-records", RECORDS, "--save", alone]
    assert told(*arguments(kafka, source, *local))["learned"] == RECORDS
    assert model.read_bytes() == alone.read_bytes()
