"""Slices of topics are fetched while models are merged, against a real broker."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import KeyedClassifier, SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import Batch, Position
from stream_llsvm.connectors.kafka.slices import Slices
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.cluster.streams import digest, seen_of
from tests.connectors.kafka.support import Kafka

N = 9_000


def filled(kafka: Kafka) -> str:
    topic, chance = kafka.topic(3), random.Random(5)
    kafka.producer.partitions_for(topic)
    for i in range(N):
        a, b = chance.gauss(0, 1), chance.gauss(0, 1)
        value = f'{{"a": {a}, "b": {b}, "who": "k{i % 9}", "y": {int(a * b > 0)}}}'.encode()
        at = chance.randrange(3)
        kafka.producer.send(topic, value, partition=at, timestamp_ms=10**12 + i)
    kafka.producer.flush(60)
    return topic


def learned(kafka: Kafka, topic: str, folder: Path, *, by_key: bool) -> ClusterEngine:
    model = KeyedClassifier(SAPLClassifier(), key="who") if by_key else SAPLClassifier()
    where = {"from": [f"kafka://{kafka.servers}/{topic}"], "label": "y"}
    engine = ClusterEngine(where, model, workers=2, cluster="local", slice=1_000,
                           checkpoints=Checkpoints(folder))  # fmt: skip
    engine.run(N)
    engine.source.close()
    return engine


@pytest.mark.parametrize("by_key", [False, True])
def test_a_learner_has_fetched_what_it_learns_next(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_key: bool
) -> None:
    topic = filled(kafka)
    fetched, read = list[tuple[Slices, Position, Position]](), list[Any]()
    really, between = Slices.prefetch, Slices.between

    def prefetch(one: Slices, begin: Position, end: Position) -> None:
        fetched.append((one, begin, end))
        really(one, begin, end)

    def noted(one: Slices, begin: Position, end: Position) -> Iterator[Batch]:
        read.append((one, begin, end))
        return between(one, begin, end)

    monkeypatch.setattr(Slices, "prefetch", prefetch)
    monkeypatch.setattr(Slices, "between", noted)
    engine = learned(kafka, topic, tmp_path / "fetched", by_key=by_key)
    assert len(fetched) >= 5
    missed = [one for one in fetched if one not in read]
    # Where one learner became two keys came from a longer stretch, and the last one was shorter.
    assert len(missed) <= 2
    # Fetched or not, it is the same.
    monkeypatch.setattr(Slices, "prefetch", lambda *_: None)
    alone = learned(kafka, topic, tmp_path / "alone", by_key=by_key)
    same = seen_of if by_key else digest
    assert same(engine.model) == same(alone.model)
    assert engine.report()["scores"] == alone.report()["scores"]
    assert engine.progress.counts["learned"] == N


def test_what_nobody_wants_any_more_is_not_waited_for(kafka: Kafka) -> None:
    """As where the broker is away: the end of the slice never comes."""
    topic = kafka.topic(1)
    kafka.send(topic, [b'{"a": 1, "y": 1}'] * 10)
    source = KafkaSource(topic, kafka.servers, label="y")
    begin = source.start()
    source.prefetch(begin, {topic: {"0": 1_000}})
    source.close()
