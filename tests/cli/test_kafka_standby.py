"""``run --standby`` between topics: whoever owns the run, readers see each prediction once."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_llsvm.engine.lease import newest_term
from tests.cli.pair import ALLOWED, TIMES, Pair
from tests.cli.support import newest, told
from tests.cli.test_kafka_run import arguments, places, values
from tests.connectors.kafka.support import Kafka, offsets


@contextmanager
def growing(kafka: Kafka, topic: str) -> Iterator[list[int]]:
    """Send records as time goes by; the list says at the end how many."""
    ended, sent, block = threading.Event(), [0], values(100)

    def send() -> None:
        while not ended.wait(0.1):
            kafka.send(topic, block)
            sent[0] += len(block)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        ended.set()
        thread.join()


def test_owners_are_killed_and_paused_and_readers_see_each_prediction_once(
    kafka: Kafka, tmp_path: Path
) -> None:
    source, target, folder = kafka.topic(), kafka.topic(), tmp_path / "kept"
    to = ["--to", f"kafka://{kafka.servers}/{target}", "--transactional-id", target]
    more = [*to, "--every", 0.2, "--max-batch", 100]
    pair = Pair(arguments(kafka, source, *more), folder, tmp_path / "log")
    try:
        with growing(kafka, source) as sent:
            pair.torment(random.Random(5))
        records = sent[0]
        pair.stop(lambda: pair.learned() == records)
    finally:
        pair.end()
    assert max(pair.waited) < ALLOWED, pair.waited
    terms = pair.terms()
    assert len(terms) == len(set(terms)) == newest_term(folder).number > TIMES
    assert offsets(newest(folder)["position"]) == {source: {"0": records}}
    assert places(kafka, target) == [f"{source}/0@{i}" for i in range(records)]
    model, alone = tmp_path / "model.llsvm", tmp_path / "alone.llsvm"
    kept = ["--checkpoints", folder, "--max-records", 1, "--save", model]
    kafka.send(source, values(1))
    assert told(*arguments(kafka, source, *kept))["learned"] == records + 1
    told(*arguments(kafka, source, "--max-records", records + 1, "--save", alone))
    assert model.read_bytes() == alone.read_bytes()
