"""The engine between two topics, killed again and again: every record learned and answered once."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, EngineError, LLSVMClassifier
from stream_llsvm.connectors import KafkaSink, KafkaSource, message_codec
from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.kafka import sender
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, read_checkpoint
from stream_llsvm.engine.rollback import roll_back
from stream_llsvm.engine.watchers import Watcher
from tests.connectors.kafka.support import Kafka, offsets, until, written_place
from tests.learners.support import everything
from tools.kafka_broker import Broker

RECORDS = 12_000
KILLS = 6

RUN = """
import json
import sys
from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import FileDeadLetters
from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors import KafkaSink
from stream_llsvm.connectors import message_codec
from stream_llsvm.engine.checkpoints import Checkpoints

servers, source, target, folder, records = sys.argv[1:]
print("begun", flush=True)
engine = Engine(
    KafkaSource(source, servers, codec=message_codec(label="label"), max_wait=60.0),
    LLSVMClassifier(n_anchors=10, n_neighbors=3, step_size=1.0),
    sink=KafkaSink(target, servers, transactional_id=target),
    dead_letters=FileDeadLetters(folder + "/dead.jsonl"),
    checkpoints=Checkpoints(folder + "/checkpoints"),
    every=0.1,
    max_batch=200,
    detector=None,
)
report = engine.run(int(records) - engine.progress.counts["records"])
engine.model.save(folder + "/model.llsvm")
names = "records", "learned", "predicted", "rejected", "classes", "late", "gave_up"
told = {name: report[name] for name in names}
of_each = dict(zip(report["classes"], engine.progress.scores.class_counts().tolist()))
print(json.dumps(told | {"of_each": of_each, "position": engine.position}, sort_keys=True))
engine.sink.close()
engine.source.close()
"""


def values(n: int) -> list[bytes]:
    """Return records, one in a hundred of them poisoned."""
    chance = random.Random(0)
    rows = []
    for _ in range(n):
        a, b = chance.gauss(0, 1), chance.gauss(0, 1)
        rows.append(json.dumps({"a": a, "b": b, "label": int(a * b > 0)}).encode())
    rows[::100] = [b"{poison"] * len(rows[::100])
    return rows


def begin(kafka: Kafka, source: str, target: str, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    told = [kafka.servers, source, target, str(folder), str(RECORDS)]
    run = subprocess.Popen([sys.executable, "-c", RUN, *told], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "begun\n"
    return run


def answered(kafka: Kafka, topic: str) -> list[Any]:
    """Return which records were answered, as a reader of committed data sees it, in order."""
    return [written_place(record.value) for record in kafka.everything(topic)]


def kill_and_finish(kafka: Kafka, source: str, target: str, folder: Path) -> str:
    """Kill the run again and again, then let it finish; return what it says at the end."""
    chance, kills = random.Random(1), 0
    while True:
        run = begin(kafka, source, target, folder)
        if kills < KILLS:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(chance.uniform(0.5, 2.0))
            if run.returncode is None:
                run.kill()
                kills += 1
                run.communicate()
                continue
        said = run.communicate()[0]
        assert run.returncode == 0
        assert kills > 0
        return said


def test_every_record_is_learned_and_answered_once(kafka: Kafka, tmp_path: Path) -> None:
    source, quiet, killed = (kafka.topic() for _ in range(3))
    kafka.send(source, values(RECORDS))
    undisturbed = begin(kafka, source, quiet, tmp_path / "quiet").communicate()[0]
    good = RECORDS - RECORDS // 100
    report = json.loads(undisturbed)
    assert [report[name] for name in ("records", "learned", "predicted")] == [RECORDS, good, good]
    assert kill_and_finish(kafka, source, killed, tmp_path / "killed") == undisturbed
    places = answered(kafka, killed)
    assert places == answered(kafka, quiet)
    assert len(places) == len(set(places)) == good
    for name in ("model.llsvm", "dead.jsonl"):
        mine, other = (tmp_path / which / name for which in ("killed", "quiet"))
        assert mine.read_bytes() == other.read_bytes(), name


def test_four_partitions_are_learned_in_one_order(kafka: Kafka, tmp_path: Path) -> None:
    """Merged by time, they give the same model and predictions to the bit, killed or not."""
    source, quiet, killed = kafka.topic(4), kafka.topic(), kafka.topic()
    sent, chance = values(RECORDS), random.Random(2)
    parts: list[list[int]] = [[], [], [], []]
    kafka.producer.partitions_for(source)
    for number, one in enumerate(sent):
        part = chance.choice((0, 0, 0, 1, 1, 2, 3)) if number < RECORDS - 2_000 else 0
        kafka.producer.send(source, one, partition=part, timestamp_ms=1_700_000_000_000 + number)
        parts[part].append(number)
    kafka.producer.flush(30)
    numbers = {
        f"{source}/{part}@{offset}": number
        for part, some in enumerate(parts)
        for offset, number in enumerate(some)
    }
    good = [n for n, one in enumerate(sent) if not one.startswith(b"{poison")]
    labels = [json.loads(sent[n])["label"] for n in good]
    undisturbed = begin(kafka, source, quiet, tmp_path / "quiet").communicate()[0]
    report = json.loads(undisturbed)
    assert offsets(report["position"]) == {
        source: {str(p): len(some) for p, some in enumerate(parts)}
    }
    assert report["records"] == RECORDS
    assert report["learned"] == report["predicted"] == len(good)
    assert report["of_each"] == {str(y): labels.count(y) for y in (0, 1)}
    assert (report["late"], report["gave_up"]) == (0, 0)
    assert [numbers[place] for place in answered(kafka, quiet)] == good
    assert kill_and_finish(kafka, source, killed, tmp_path / "killed") == undisturbed
    assert answered(kafka, killed) == answered(kafka, quiet)
    for name in ("model.llsvm", "dead.jsonl"):
        mine, other = (tmp_path / which / name for which in ("killed", "quiet"))
        assert mine.read_bytes() == other.read_bytes(), name


def test_a_partition_added_while_running_is_learned_too(kafka: Kafka) -> None:
    topic = kafka.topic()
    good = [one for one in values(300) if not one.startswith(b"{poison")]
    kafka.send(topic, good[:100])
    source = KafkaSource(
        topic, kafka.servers, codec=message_codec(label="label"), discover_every=0.5
    )
    engine = Engine(source, LLSVMClassifier(n_anchors=10, n_neighbors=3))
    run = threading.Thread(target=engine.run, args=(len(good),))
    run.start()
    try:
        until(lambda: engine.progress.counts["records"] == 100, what="the first partition")
        kafka.admin.create_partitions({topic: 2})
        kafka.admin.wait_for_topics([topic])
        kafka.send(topic, good[100:], partition=1)
        run.join(30)
        assert not run.is_alive()
    finally:
        engine.stop()
        run.join(30)
        source.close()
    assert engine.report()["learned"] == len(good)
    assert offsets(engine.position) == {topic: {"0": 100, "1": len(good) - 100}}


def answers_are(kafka: Kafka, topic: str, number: int) -> bool:
    return len(answered(kafka, topic)) == number


def test_a_record_is_answered_without_waiting_for_more(kafka: Kafka) -> None:
    """Not for a full batch, not for a checkpoint, and not for the end of the run."""
    topic, target = kafka.topic(), kafka.topic()
    good = [one for one in values(10) if not one.startswith(b"{poison")]
    sink = KafkaSink(target, kafka.servers)
    source = KafkaSource(topic, kafka.servers, codec=message_codec(label="label"))
    engine = Engine(source, LLSVMClassifier(n_anchors=10, n_neighbors=3), sink=sink, max_batch=5000)
    run = threading.Thread(target=engine.run)
    run.start()
    try:
        for n, one in enumerate(good, start=1):
            kafka.send(topic, [one])
            until(partial(answers_are, kafka, target, n), what="the answer")
            assert run.is_alive()
    finally:
        engine.stop()
        run.join(30)
        source.close()
        sink.close()


def test_what_was_committed_is_not_replayed_silently(kafka: Kafka, tmp_path: Path) -> None:
    """The position that the broker keeps neither wins over a rollback nor is passed over."""
    source, target = kafka.topic(), kafka.topic()
    good = [one for one in values(400) if not one.startswith(b"{poison")]
    kafka.send(source, good)
    kept = tmp_path / "kept"

    def going(n: int | None, transactional_id: str = target) -> Engine:
        with contextlib.ExitStack() as stack:
            reads = KafkaSource(source, kafka.servers, codec=message_codec(label="label"))
            stack.callback(reads.close)
            sink = KafkaSink(target, kafka.servers, transactional_id=transactional_id)
            stack.callback(sink.close)
            checkpoints = Checkpoints(kept, keep=9)
            stack.callback(checkpoints.close)
            model = LLSVMClassifier(n_anchors=10, n_neighbors=3)
            engine = Engine(reads, model, sink=sink, checkpoints=checkpoints, max_batch=50)
            engine.run(n)
            return engine

    then = going(100).made
    assert then is not None
    going(100)
    checkpoints = Checkpoints(kept, keep=9)
    with pytest.raises(CheckpointError, match="committed to Kafka, which cannot take them back"):
        roll_back(checkpoints, then.number, replay=True)
    old = read_checkpoint(checkpoints.path(then.number)) | {"rolled_back": "to checkpoint 2"}
    checkpoints.write(old, wait=True)  # as if by somebody who does not ask
    checkpoints.close()
    with pytest.raises(EngineError, match="goes back to checkpoint 2, and predictions were comm"):
        going(None)
    checkpoints = Checkpoints(kept, keep=9)
    checkpoints.path(checkpoints.number).unlink()
    checkpoints.close()
    checkpoints = Checkpoints(kept, keep=9)
    assert roll_back(checkpoints, then.number, replay=False).records == 100
    checkpoints.close()
    engine = going(len(good) - 200)
    assert engine.progress.counts["records"] == len(good)
    places = answered(kafka, target)
    assert len(places) == len(set(places)) == len(good)
    alone = LLSVMClassifier(n_anchors=10, n_neighbors=3)
    for one in good[:100] + good[200:]:
        x = json.loads(one)
        y = x.pop("label")
        alone.predict_one(x)
        alone.learn_one(x, y)
    assert alone._payload()["features"] == engine.model._payload()["features"]
    assert engine.model.predict_proba_one({"a": 0.3, "b": -1.0}) == alone.predict_proba_one(
        {"a": 0.3, "b": -1.0}
    )


class PausesTheBroker(Watcher):
    """Lets the broker answer nothing from some record on, until the run waits for it."""

    def __init__(self, broker: Broker, record: int) -> None:
        self._broker, self._record = broker, record

    def on_batch(self, engine: Engine, batch: Batch, answers: Any, seconds: float) -> None:
        if engine.progress.counts["records"] >= self._record:
            self._record = sys.maxsize
            self._broker.pause()
            threading.Thread(target=self._wait, args=(engine,)).start()

    def _wait(self, engine: Engine) -> None:
        try:
            until(lambda: engine.trouble, 90, "the run to wait")
        finally:
            self._broker.resume()


@pytest.mark.parametrize(
    "options", [{"request_timeout_ms": 1_000}, {}], ids=["given up", "waited for"]
)
def test_a_transactional_run_outlives_a_broker_that_gives_no_answer(
    broker: Broker,
    own_kafka: Kafka,
    tmp_path: Path,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What kafka-python gives up is done again, from what was committed; a wait is told of."""
    monkeypatch.setattr(sender, "SAY", 60.0 if options else 0.2)
    source, target, total = own_kafka.topic(2), own_kafka.topic(), 3_000
    rows = [{"a": n % 7, "b": n % 5, "label": n % 2} for n in range(total)]
    own_kafka.producer.partitions_for(source)
    for n, row in enumerate(rows):
        own_kafka.producer.send(source, json.dumps(row).encode(), partition=n % 2, timestamp_ms=n)
    own_kafka.producer.flush(30)
    sink = KafkaSink(
        target,
        broker.bootstrap,
        transactional_id=target,
        options=options,
        flush_timeout=10.0 if options else 90.0,
    )
    engine = Engine(
        KafkaSource(source, broker.bootstrap, label="label"),
        LLSVMClassifier(n_anchors=10, n_neighbors=3),
        sink=sink,
        checkpoints=Checkpoints(tmp_path),
        every=0.1,
        max_batch=100,
        watchers=[PausesTheBroker(broker, 1_000)],
    )
    report = engine.run(total)
    assert report["records"] == report["learned"] == total
    sink.close()
    engine.source.close()
    places = answered(own_kafka, target)
    assert places == [f"{source}/{n % 2}@{n // 2}" for n in range(total)]
    events = [one["kind"] for one in engine.progress.events]
    assert events.index("recovering") < events.index("reconnected")
    assert ("continued" in events) == bool(options)
    undisturbed = Engine(
        KafkaSource(source, broker.bootstrap, label="label"),
        LLSVMClassifier(n_anchors=10, n_neighbors=3),
        max_batch=100,
    )
    undisturbed.run(total)
    undisturbed.source.close()
    assert everything(engine.model) == everything(undisturbed.model)
