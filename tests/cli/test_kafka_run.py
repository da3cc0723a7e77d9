"""``run`` between two topics, as a process of its own: stopped, it goes on with the next record."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import newest, refused, run, started, told, wait_for
from tests.cli.test_signals import SMALL, ended
from tests.connectors.kafka.support import Kafka, offsets, written_place

RECORDS = 20_000


def values(n: int) -> list[bytes]:
    """Return records of two features and a label."""
    chance = random.Random(0)
    pairs = [(chance.gauss(0, 1), chance.gauss(0, 1)) for _ in range(n)]
    return [json.dumps({"a": a, "b": b, "y": int(a * b > 0)}).encode() for a, b in pairs]


def arguments(kafka: Kafka, source: str, *more: Any) -> list[Any]:
    return ["run", "--from", f"kafka://{kafka.servers}/{source}", "--label", "y", *SMALL, *more]


def places(kafka: Kafka, topic: str) -> list[str]:
    return [written_place(record.value) for record in kafka.everything(topic)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_stopped_pipeline_goes_on_with_the_very_next_record(
    kafka: Kafka, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    source, target, folder = kafka.topic(), kafka.topic(), tmp_path / "kept"
    kafka.send(source, values(RECORDS))
    more = ["--to", f"kafka://{kafka.servers}/{target}", "--checkpoints", folder]
    more += ["--every", 3600]  # the only checkpoint is that of the signal
    slowly = ["--max-batch", 1]  # so that it is not over before it is stopped
    process = started(*arguments(kafka, source, *more, *slowly, "--json"))
    try:
        wait_for(lambda: process.poll() is not None or places(kafka, target))
    finally:
        process.send_signal(number)
    status, out, err = ended(process)
    assert status == code, err
    first = json.loads(out)
    assert first["stopped_by"] == number.name
    learned = first["learned"]
    assert 0 < learned < RECORDS, "it was over before it was stopped"
    kept = newest(folder)
    assert offsets(kept["position"]) == {source: {"0": learned}}
    assert kept["progress"]["counts"]["learned"] == learned
    assert places(kafka, target) == [f"{source}/0@{i}" for i in range(learned)]
    model, alone = tmp_path / "model.llsvm", tmp_path / "alone.llsvm"
    rest = ["--max-records", RECORDS - learned, "--save", model]
    assert told(*arguments(kafka, source, *more, *rest))["learned"] == RECORDS
    assert places(kafka, target) == [f"{source}/0@{i}" for i in range(RECORDS)]
    told(*arguments(kafka, source, "--max-records", RECORDS, "--save", alone))
    assert model.read_bytes() == alone.read_bytes()


def test_lost_data_stops_a_run_unless_it_may_go_on(kafka: Kafka, tmp_path: Path) -> None:
    source, folder = kafka.topic(), tmp_path / "kept"
    kafka.send(source, values(300))
    more = ["--checkpoints", folder, "--max-batch", 100]
    assert told(*arguments(kafka, source, *more, "--max-records", 100))["learned"] == 100
    kafka.delete_below(source, 250)
    complaint = refused(*arguments(kafka, source, *more))
    assert f"{source}/0 lost data: offset 100 is wanted, 250 to 300 are there" in complaint
    assert "--on-lost-data earliest" in complaint
    rest = ["--max-records", 50, "--on-lost-data", "earliest"]
    assert told(*arguments(kafka, source, *more, *rest))["learned"] == 150


def test_a_topic_to_write_to_that_is_not_there_is_told_at_the_start(
    kafka: Kafka, tmp_path: Path
) -> None:
    source = kafka.topic()
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(f'[sink]\nto = "kafka://{kafka.servers}/nowhere"\nconnect_timeout = 1')
    complaint = refused(*arguments(kafka, source)[:1], pipeline, *arguments(kafka, source)[1:])
    assert "there is no topic 'nowhere'" in complaint


def test_topics_to_write_to_are_made_if_asked_for(kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.topic(), f"{kafka.topic()}-made"
    kafka.send(source, [*values(20), b"poison"])
    to = f"kafka://{kafka.servers}/{target}"
    more = ["--to", to, "--dead-letters", f"{to}-dead", "--max-records", 21]
    result = run(*arguments(kafka, source, *more, "--make-topics"))
    assert result.exit_code == 0, result.output
    assert f"made the topic {target!r}" in result.stderr
    assert places(kafka, target) == [f"{source}/0@{i}" for i in range(20)]
    assert [one.value for one in kafka.everything(f"{target}-dead")] == [b"poison"]
    again = run(*arguments(kafka, source, *more, "--make-topics"))
    assert again.exit_code == 0 and "made the topic" not in again.stderr


def test_a_misspelled_label_is_told_of(kafka: Kafka) -> None:
    source = kafka.topic()
    kafka.send(source, values(120))
    given = ["run", "--from", f"kafka://{kafka.servers}/{source}", "--label", "Y", *SMALL]
    result = run(*given, "--max-records", 120)
    assert result.exit_code == 0, result.output
    assert "warning: no labels: none of the first 120 records has one" in result.stderr
    assert "did you mean 'y'?" in result.stderr
