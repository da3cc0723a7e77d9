"""A topic of several partitions, merged by time or learned as it arrives; and the price of that.

Needs Java, Maven and openssl for a broker of its own (tools/kafka_broker.py), or an address of one
in KAFKA_BOOTSTRAP_SERVERS. Covertype's records are a millisecond apart and dealt by a random key.
With `--kills` a run over a backlog on four partitions is killed so often, at random moments, and
what it wrote and learned is compared to what an undisturbed one did.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import engine_kafka
import numpy as np
import options
import orjson
import peers
import results

from stream_llsvm import Engine
from stream_llsvm.connectors import KafkaSource, message_codec

PARTITIONS = 4
START = 1_700_000_000_000
ROUNDS = 3
DELAY_ROUNDS = 5


def new_topic(at: str, partitions: int) -> str:
    """Make a topic."""
    from kafka import KafkaAdminClient
    from kafka.admin import NewTopic

    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=at)
    admin.create_topics([NewTopic(name, partitions, 1)])
    admin.wait_for_topics([name])
    admin.close()
    return name


def deal(at: str, topic: str, values: list[bytes], seed: int = 0) -> None:
    """Write values, a millisecond apart, each to the partition of a random key."""
    from kafka import KafkaProducer

    chance = random.Random(seed)
    producer = KafkaProducer(bootstrap_servers=at, linger_ms=20, batch_size=1 << 16)
    for i, value in enumerate(values):
        key = b"%d" % chance.randrange(1_000)
        producer.send(topic, value, key=key, timestamp_ms=START + i)
        if i % 5_000 == 4_999:
            producer.flush()
    producer.close()


def covertype(folder: Path, rows: int) -> list[bytes]:
    """Return records of Covertype as JSON."""
    with np.load(folder / "covtype.npz") as data:
        X, y = data["X"][:rows].astype(np.float64), data["y"][:rows].astype(int)
    names = [f"f{i}" for i in range(X.shape[1])]
    return [
        orjson.dumps(dict(zip(names, row, strict=True)) | {"y": label})
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def learned(at: str, topic: str, n: int, name: str, order: str) -> dict[str, Any]:
    """Return the report of a run, with the seconds that it took."""
    source = KafkaSource(topic, at, codec=message_codec(label="y"), order=order)
    source.seek(source.position)
    run = Engine(source, peers.ours(name))
    begin = time.perf_counter()
    report = run.run(n)
    report["seconds"] = time.perf_counter() - begin
    report["waited"] = run.order.waited
    source.close()
    return report


def read(at: str, topic: str, n: int, order: str) -> float:
    """Return the microseconds of CPU that reading a record takes, with its decoding."""
    source = KafkaSource(topic, at, codec=message_codec(label="y"), order=order)
    source.seek(source.position)
    seen, begin = 0, time.process_time()
    while seen < n:
        batch = source.poll(1_000, 0.5)
        seen += 0 if batch is None else len(batch)
    seconds = time.process_time() - begin
    source.close()
    return 1e6 * seconds / n


def accuracies(at: str, values: list[bytes]) -> str:
    """Return a table of accuracies, and what reading costs."""
    topics = {many: new_topic(at, many) for many in (1, PARTITIONS)}
    for topic in topics.values():
        deal(at, topic, values)
    n, lines = len(values), []
    for many, order in ((1, "time"), (PARTITIONS, "time"), (PARTITIONS, "arrival")):
        cells = []
        report: dict[str, Any] = {}
        for name in ("committee", "sapl"):
            report = learned(at, topics[many], n, name, order)
            cells.append(f"{100 * report['scores']['cumulative']['accuracy']:.2f}")
        cost = median(read(at, topics[many], n, order) for _ in range(ROUNDS))
        late = f"{report['late']:,}"
        lines.append([f"{many}, {order}", *cells, f"{cost:.1f}", late])
    header = ["partitions, order", "committee, %", "SAPL, %", "CPU us to read one", "too late"]
    return results.table(header, lines)


def delays(at: str, order: str, seconds: float) -> list[float]:
    """Return the milliseconds from produce to prediction over four partitions."""
    return engine_kafka.delays(
        at, "committee", seconds, topic=new_topic(at, PARTITIONS), order=order
    )


RUN = """
import json, sys
from pathlib import Path
from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import FileSink, KafkaSource, message_codec
from stream_llsvm.engine.checkpoints import Checkpoints
at, topic, folder, n = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
engine = Engine(
    KafkaSource(topic, at, codec=message_codec(label="y"), max_wait=60.0),
    LLSVMClassifier(n_anchors=10, n_neighbors=3, step_size=1.0),
    sink=FileSink(folder / "out.jsonl"),
    checkpoints=Checkpoints(folder / "checkpoints"),
    every=0.1,
    detector=None,
    clock=lambda: 0.0,
)
print("begun", engine.progress.counts["records"], flush=True)
report = engine.run(n - engine.progress.counts["records"])
engine.model.save(folder / "model.llsvm")
print(report["records"], report["learned"], report["late"], report["gave_up"])
"""


def begun(at: str, topic: str, folder: Path, n: int) -> subprocess.Popen[str]:
    """Return a run that has begun, from its last checkpoint."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", RUN, at, topic, str(folder), str(n)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline().startswith("begun")
    return run


def killed(at: str, topic: str, n: int, kills: int) -> str:
    """Say what became of a run that was killed so often, beside an undisturbed one."""
    with tempfile.TemporaryDirectory() as folder:
        quiet, other = Path(folder, "quiet"), Path(folder, "killed")
        begin = time.perf_counter()
        undisturbed = begun(at, topic, quiet, n).communicate()[0]
        seconds = time.perf_counter() - begin
        chance, done = random.Random(0), 0
        while True:
            run = begun(at, topic, other, n)
            if done < kills:
                try:
                    run.wait(chance.uniform(0.0, 2 * 0.7 * seconds / kills))
                except subprocess.TimeoutExpired:
                    run.kill()
                    run.communicate()
                    done += 1
                    continue
            told = run.communicate()[0]
            break
        same = [
            name
            for name in ("out.jsonl", "model.llsvm")
            if (quiet / name).read_bytes() == (other / name).read_bytes()
        ]
    assert told == undisturbed and len(same) == 2, (told, undisturbed, same)
    records, learnt, late, gave_up = map(int, undisturbed.split())
    return (
        f"A run over {records:,} records on {PARTITIONS} partitions was killed {done} times with "
        f"SIGKILL at random moments: {learnt:,} learned once each, {late} too late, {gave_up} "
        "waits ran out; its predictions and its model are those of an undisturbed run, byte for "
        "byte."
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser: argparse.ArgumentParser = options.parser(__doc__)
    parser.add_argument("--rows", type=options.at_least(1_000), default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement of delays")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--backlog", type=options.at_least(1_000), default=500_000)
    arguments = parser.parse_args()
    for name in ("sapl", "committee"):
        engine_kafka.alone(name, 2_000)  # compiled before the clock starts
    with engine_kafka.servers() as at:
        table = accuracies(at, covertype(arguments.data, arguments.rows))
        waits: dict[str, list[tuple[float, float]]] = {"arrival": [], "time": []}
        for order in ("arrival", "time") * DELAY_ROUNDS:
            late = quantiles(delays(at, order, arguments.seconds / DELAY_ROUNDS), n=100)
            waits[order].append((late[49], late[98]))
        topic = new_topic(at, PARTITIONS)
        deal(at, topic, engine_kafka.values(arguments.backlog))
        sweep = killed(at, topic, arguments.backlog, arguments.kills)
    told = [
        f"{median(one[0] for one in waits[order]):.1f} ms at the median and "
        f"{median(one[1] for one in waits[order]):.1f} ms at 99 % {how}"
        for order, how in (("arrival", "as they arrive"), ("time", "merged by time"))
    ]
    text = "\n\n".join(
        [
            table,
            f"{arguments.rows:,} records of Covertype, a millisecond apart, dealt to partitions by "
            "a random key.",
            f"From produce to prediction, {engine_kafka.RATE:,} records a second on {PARTITIONS} "
            f"partitions: {told[0]}, {told[1]}; medians of {DELAY_ROUNDS} alternating rounds.",
            sweep,
        ]
    )
    results.publish("order", "Several partitions in the order of time", text, arguments.write)


if __name__ == "__main__":
    main()
