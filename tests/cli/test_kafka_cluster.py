"""``run --workers`` between topics: whatever is killed, readers see each prediction once."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.support import newest, started, told, wait_for
from tests.cli.test_cluster import TIMES
from tests.cli.test_kafka_run import places, values
from tests.cluster.processes import descendants, kill
from tests.connectors.kafka.support import Kafka, committed

if TYPE_CHECKING:
    from tools.kafka_broker import Broker

RECORDS = 12_000


def arguments(kafka: Kafka, source: str, *more: Any) -> list[Any]:
    address = f"kafka://{kafka.servers}/{source}"
    of_cluster = ["--workers", 2, "--slice", 1_000]
    return ["run", "--from", address, "--label", "y", "--model", "sapl", *of_cluster, *more]


def filled(kafka: Kafka, partitions: int, records: int = RECORDS) -> str:
    """Return a topic of records whose times are all over its partitions."""
    source, chance = kafka.topic(partitions), random.Random(0)
    kafka.producer.partitions_for(source)
    for at, value in enumerate(values(records)):
        kafka.producer.send(
            source, value, partition=chance.randrange(partitions), timestamp_ms=10**12 + at // 3
        )
    kafka.producer.flush(60)
    return source


def learned_in(folder: Path) -> int:
    """Return how many records the newest manifest holds."""
    there = folder.exists() and any(folder.glob("checkpoint-*.llsvm"))
    return int(newest(folder)["progress"]["counts"]["learned"]) if there else 0


def test_a_run_goes_on_when_its_broker_is_back(
    broker: Broker, own_kafka: Kafka, tmp_path: Path
) -> None:
    """It dies amid a round, and is away for long where the run waits for more."""
    pytest.importorskip("ray", reason="comes with the extra 'test'")
    many, more = 30_000, 500
    source, target, folder = filled(own_kafka, 2, many), own_kafka.topic(), tmp_path / "kept"
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(
        f"""
[source]
from = "kafka://{own_kafka.servers}/{source}"
label = "y"
connect_timeout = 5
[model]
class = "sapl"
[sink]
to = "kafka://{own_kafka.servers}/{target}"
transactional_id = "{target}"
[checkpoints]
folder = "{folder}"
[cluster]
workers = 2
slice = 1_000
"""
    )
    said: list[str] = []
    with started("run", pipeline, "--json") as process:
        assert process.stderr is not None
        hears = threading.Thread(target=said.extend, args=(process.stderr,))
        hears.start()

        def until(holds: Callable[[], bool]) -> None:
            wait_for(lambda: process.poll() is not None or holds())
            assert process.poll() is None, said

        try:
            until(lambda: learned_in(folder) > 1_000)
            broker.kill()
            assert learned_in(folder) < many, "it was over before the broker died"
            broker.start()
            until(lambda: learned_in(folder) == many)
            broker.stop()
            until(lambda: any("recovering: no broker answers" in line for line in said))
            broker.start()
            own_kafka.send(source, values(more))
            until(lambda: learned_in(folder) == many + more)
        finally:
            broker.start()  # which is nothing if it is there
            process.send_signal(signal.SIGTERM)
        hears.join(120)
        assert process.stdout is not None
        report = json.loads(process.stdout.read())
    assert process.returncode == 0
    assert report["learned"] == report["predicted"] == report["records"] == many + more
    assert any("reconnected" in line for line in said)
    found = places(own_kafka, target)
    assert len(found) == len(set(found)) == many + more


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
    # The run goes on from what its transactions committed, which may be one manifest behind.
    left = RECORDS - sum(committed(kafka, target, source).values())
    report = told(*run, "--max-records", max(1, left), "--save", model)
    assert report["learned"] == report["predicted"] == RECORDS
    found = places(kafka, target)
    assert len(found) == len(set(found)) == RECORDS
    local = ["--cluster", "local", "--max-records", RECORDS, "--save", alone]
    assert told(*arguments(kafka, source, *local))["learned"] == RECORDS
    assert model.read_bytes() == alone.read_bytes()
