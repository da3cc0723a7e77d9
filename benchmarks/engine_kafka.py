"""From a topic to a model, and on to another topic: rates beside a bare loop, and delays.

Needs Java, Maven and openssl for a broker of its own (tools/kafka_broker.py), or an address of one
in KAFKA_BOOTSTRAP_SERVERS. The bare loop polls with kafka-python and reads each value with orjson,
and does nothing with them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import engine
import numpy as np
import options
import orjson
import peers
import results
import timing

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tools/

from stream_llsvm import Engine
from stream_llsvm.connectors import KafkaSink, KafkaSource, message_codec

ROUNDS = 3
RATE = 1_000


@contextlib.contextmanager
def servers() -> Iterator[str]:
    """Give the address of a broker."""
    given = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if given:
        yield given
        return
    from tools.kafka_broker import Broker

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        broker = Broker(Path(folder))
        broker.start()
        try:
            yield broker.bootstrap
        finally:
            broker.stop()


def new_topic(at: str) -> str:
    """Make a topic of one partition."""
    from kafka import KafkaAdminClient

    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=at)
    admin.create_topics([name])
    admin.wait_for_topics([name])
    admin.close()
    return name


def values(n: int) -> list[bytes]:
    """Return records of two classes as JSON."""
    X, y = engine.records(n)
    names = [f"f{i}" for i in range(X.shape[1])]
    rows = zip(X.tolist(), y.tolist(), strict=True)
    return [orjson.dumps(dict(zip(names, row, strict=True)) | {"y": label}) for row, label in rows]


def fill(at: str, topic: str, sent: list[bytes]) -> None:
    """Write the values to a topic."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=at, linger_ms=5, batch_size=1 << 16)
    for first in range(0, len(sent), 5_000):
        for value in sent[first : first + 5_000]:
            producer.send(topic, value)
        producer.flush()
    producer.close()


def consumer(at: str, topic: str) -> Any:
    """Return a consumer that stands at the beginning, with what our source sets for speed."""
    from kafka import KafkaConsumer, TopicPartition

    one = KafkaConsumer(
        bootstrap_servers=at,
        enable_auto_commit=False,
        max_partition_fetch_bytes=4 << 20,
        metrics_enabled=False,
    )
    one.assign([TopicPartition(topic, 0)])
    one.seek_to_beginning()
    one.position(TopicPartition(topic, 0))  # connected before the clock starts
    return one


def bare(at: str, topic: str, n: int) -> float:
    """Return the microseconds a record of a loop that polls and reads, and nothing else."""
    one, seen = consumer(at, topic), 0
    begin = time.perf_counter()
    while seen < n:
        for records in one.poll(timeout_ms=500, max_records=engine.BLOCK).values():
            for record in records:
                orjson.loads(record.value)
            seen += len(records)
    seconds = time.perf_counter() - begin
    one.close(autocommit=False)
    return 1e6 * seconds / n


def learned(at: str, topic: str, n: int, name: str, target: str | None = None) -> float:
    """Return the microseconds a record of a run, to the acknowledgement of its last prediction."""
    source = KafkaSource(topic, at, codec=message_codec(label="y"))
    source.seek(source.position)
    sink = None if target is None else KafkaSink(target, at)
    if sink is not None:
        sink.connect()
    run = Engine(source, peers.ours(name), sink=sink)
    begin = time.perf_counter()
    run.run(n)
    seconds = time.perf_counter() - begin
    source.close()
    if sink is not None:
        sink.close()
    return 1e6 * seconds / n


def alone(name: str, n: int) -> float:
    """Return the microseconds a record of learning by itself."""
    X, y = engine.records(n)
    return 1e6 * engine.learn(name, X, y) / n


def send_and_read(at: str, topic: str, target: str, n: int, told: Any) -> None:
    """Send records at the fixed rate, read what comes back, and tell the milliseconds of each.

    This is a process of its own: what it costs is not the engine's.
    """
    from kafka import KafkaProducer

    sent = values(n)
    reader = consumer(at, target)
    begun, came = np.zeros(n), np.zeros(n)

    def send() -> None:
        producer = KafkaProducer(bootstrap_servers=at, linger_ms=0)
        producer.partitions_for(topic)
        start = time.perf_counter()
        for i, value in enumerate(sent):
            time.sleep(max(0.0, start + i / RATE - time.perf_counter()))
            begun[i] = time.perf_counter()
            producer.send(topic, value, key=b"%d" % i)
        producer.close()

    producing = threading.Thread(target=send)
    producing.start()
    left = n
    while left:
        for records in reader.poll(timeout_ms=500).values():
            now = time.perf_counter()
            for record in records:
                came[int(record.key)] = now
            left -= len(records)
    producing.join()
    reader.close(autocommit=False)
    told.put((1e3 * (came - begun)).tolist())


def delays(
    at: str, name: str, seconds: float, topic: str | None = None, order: str = "time"
) -> list[float]:
    """Return the milliseconds from produce to prediction, one record at a time at a fixed rate.

    The topic is one of one partition unless another is given.
    """
    topic, target = topic or new_topic(at), new_topic(at)
    n = int(RATE * seconds)
    source = KafkaSource(topic, at, codec=message_codec(label="y"), order=order)
    source.seek(source.position)
    sink = KafkaSink(target, at)
    sink.connect()
    run = Engine(source, peers.ours(name), sink=sink)
    spawn = multiprocessing.get_context("spawn")
    told: Any = spawn.Queue()
    other = spawn.Process(target=send_and_read, args=(at, topic, target, n, told))
    other.start()
    run.run(n)
    late = told.get(timeout=60)
    other.join()
    for one in (source, sink):
        one.close()
    warm = n // 5  # kernels and connections warm up
    return list(map(float, late[warm:]))


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--rows", type=options.at_least(engine.BLOCK), default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the measurement of delays")
    arguments = parser.parse_args()
    n = arguments.rows
    for name in ("sapl", "committee"):
        alone(name, 2_000)  # compiled before the clock starts
    with servers() as at:
        topic = new_topic(at)
        fill(at, topic, values(n))
        runners: dict[str, Callable[[], float]] = {"bare loop": partial(bare, at, topic, n)}
        for name in ("sapl", "committee"):
            runners[f"{name} alone, from memory"] = partial(alone, name, n)
            runners[name] = partial(learned, at, topic, n, name)
            back = f"{name}, predictions written back"
            runners[back] = partial(learned, at, topic, n, name, new_topic(at))
        rounds = timing.alternate(runners, ROUNDS)
        late = delays(at, "committee", arguments.seconds)
    header, lines = ["what runs", "records/s", "to the bare loop", "to the model alone"], []
    for name in runners:
        beside = ["bare loop"]
        if name != "bare loop":
            beside.append(f"{name.replace(',', '').split()[0]} alone, from memory")
        ratios = [f"{1 / rounds.ratio(name, one):.2f}x" for one in beside]
        lines.append([name, f"{1e6 / rounds.micros(name):,.0f}", *ratios, "-"][:4])
    cuts = quantiles(late, n=100)
    text = "\n\n".join(
        [
            results.table(header, lines),
            f"{n:,} JSON records of {engine.FEATURES} features on one partition; broker, engine "
            f"and reader on one machine; medians of {ROUNDS} alternating rounds. The bare loop "
            "polls with kafka-python and reads each value with orjson.",
            f"One record at a time, {RATE:,} a second, to a committee and its prediction on "
            f"another topic: {cuts[49]:.1f} ms at the median, {cuts[94]:.1f} ms at 95 %, "
            f"{cuts[98]:.1f} ms at 99 %.",
        ]
    )
    results.publish("engine_kafka", "From a topic to a model", text, arguments.write)


if __name__ == "__main__":
    main()
