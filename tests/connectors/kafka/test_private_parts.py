"""kafka-python's private parts that are used are as they were, and there is a way without them."""

from __future__ import annotations

import ast
import logging
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka", reason="comes with the extra 'test'")

import kafka as kafka_python

from stream_llsvm.connectors import KafkaSink, KafkaSource
from stream_llsvm.connectors.kafka import fast_read, fast_write
from tests.connectors.kafka.support import Kafka, numbers, read, result, value

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "connectors" / "kafka"


def test_kafka_python_is_made_inside_as_it_was() -> None:
    """If this fails, its one line says what a new release of kafka-python has changed."""
    lacking = fast_read.missing() or fast_write.missing()
    assert not lacking, f"kafka-python {kafka_python.__version__}: {lacking}"


def test_it_is_bounded_to_the_release_that_was_tested() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    major, minor = map(int, kafka_python.__version__.split(".")[:2])
    for extra in ("kafka", "test"):
        (wanted,) = [one for one in extras[extra] if one.startswith("kafka-python")]
        assert wanted == f"kafka-python>=3.0,<{major}.{minor + 1}"


def test_private_parts_are_used_in_two_files_only() -> None:
    """Names with one underscore are taken of nothing but one's own objects, but there."""
    for path in HERE.glob("*.py"):
        if path.stem in ("fast_read", "fast_write"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                of = node.value
                own = isinstance(of, ast.Name) and of.id in ("self", "cls", "Place")
                assert own or node.attr.startswith("__"), f"{path.name}:{node.lineno}: {node.attr}"


@pytest.mark.parametrize(
    ("module", "owner", "name", "says"),
    [
        (fast_read, "consumer.fetcher.Fetcher", "PartitionRecords", "Fetcher has no PartitionRe"),
        (fast_write, "producer.producer_batch.ProducerBatch", "try_append", "has no try_append"),
        (fast_write, "KafkaProducer", "_partition", "KafkaProducer has no _partition"),
    ],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, module: Any, owner: str, name: str, says: str
) -> None:
    monkeypatch.delattr(f"kafka.{owner}.{name}")
    assert says in module.missing()


def test_without_them_all_is_read_and_written_more_slowly(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (fast_read, fast_write):
        monkeypatch.setattr(module, "missing", lambda *_: "it is another one")
    source, target = kafka.topic(), kafka.topic()
    kafka.send(source, map(value, range(100)))
    with caplog.at_level(logging.WARNING, "stream_llsvm.kafka"):
        one = KafkaSource(source, kafka.servers)
        assert numbers(read(one, 100)) == list(range(100))
        one.close()
        sink = KafkaSink(target, kafka.servers)
        sink.write([result(i) for i in range(50)])
        sink.flush()
        sink.close()
    assert len(kafka.everything(target)) == 50
    said = [one.getMessage() for one in caplog.records if "not known" in one.getMessage()]
    assert len(said) == 2 and all("(it is another one)" in text for text in said)
