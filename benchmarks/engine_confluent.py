"""From a topic to a model by confluent-kafka, beside the source of this package.

Needs `pip install confluent-kafka`, which nothing else here does, and a broker as engine_kafka.py.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import engine
import engine_kafka
import options
import peers
import results
import timing

from stream_llsvm import Engine
from stream_llsvm.connectors import KafkaSource, message_codec
from stream_llsvm.connectors.base import Batch, Position, Source
from stream_llsvm.connectors.columns import Places

ROUNDS = 5


class ConfluentSource:
    """One partition, read by confluent-kafka and decoded as `KafkaSource` does it.

    It has what this measurement needs, and nothing of what goes wrong with a broker.
    """

    name, ended = "confluent-kafka", False

    def __init__(self, topic: str, servers: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._topic, self._next = topic, 0
        self._codec = message_codec(label="y")
        settings = {
            "bootstrap.servers": servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "check.crcs": True,  # as kafka-python does
            "max.partition.fetch.bytes": 4 << 20,
            "queued.min.messages": 100_000,
        }
        self._consumer: Any = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    @property
    def position(self) -> Position:
        return {self._topic: {"0": self._next}}

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        messages = self._consumer.consume(max_records, timeout)
        if not messages:
            return None
        offsets = [message.offset() for message in messages]
        self._next = offsets[-1] + 1
        raws = [message.value() for message in messages]
        places = Places(self._topic, 0, offsets)
        return self._codec.decode(raws, places, self.position, blanks=False)

    def seek(self, position: Position) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._consumer.close()


def opened(kind: str, at: str, topic: str) -> Source:
    """Return a source that is connected."""
    if kind == "confluent-kafka":
        source = ConfluentSource(topic, at)
        source._consumer.get_watermark_offsets(source._consumer.assignment()[0])
        return source
    ours = KafkaSource(topic, at, codec=message_codec(label="y"))
    ours.seek(ours.position)
    return ours


def read(kind: str, at: str, topic: str, n: int) -> float:
    """Return the microseconds a record of reading and decoding, and nothing else."""
    source, seen = opened(kind, at, topic), 0
    begin = time.perf_counter()
    while seen < n:
        batch = source.poll(engine.BLOCK, 0.5)
        seen += 0 if batch is None else len(batch)
    seconds = time.perf_counter() - begin
    source.close()
    return 1e6 * seconds / n


def learned(kind: str, at: str, topic: str, n: int, name: str) -> float:
    """Return the microseconds a record of a run."""
    source = opened(kind, at, topic)
    run = Engine(source, peers.ours(name))
    begin = time.perf_counter()
    run.run(n)
    seconds = time.perf_counter() - begin
    source.close()
    return 1e6 * seconds / n


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--rows", type=options.at_least(engine.BLOCK), default=100_000)
    arguments = parser.parse_args()
    n = arguments.rows
    for name in ("sapl", "committee"):
        engine_kafka.alone(name, 2_000)  # compiled before the clock starts
    kinds = ("KafkaSource", "confluent-kafka")
    with engine_kafka.servers() as at:
        topic = engine_kafka.new_topic(at)
        engine_kafka.fill(at, topic, engine_kafka.values(n))
        runners = {f"read, {kind}": partial(read, kind, at, topic, n) for kind in kinds}
        for name in ("sapl", "committee"):
            for kind in kinds:
                runners[f"{name}, {kind}"] = partial(learned, kind, at, topic, n, name)
        rounds = timing.alternate(runners, ROUNDS)
    lines = []
    for what in ("read", "sapl", "committee"):
        ours, other = (f"{what}, {kind}" for kind in kinds)
        rates = [f"{1e6 / rounds.micros(name):,.0f}" for name in (ours, other)]
        lines.append([what, *rates, rounds.times(ours, other)])
    header = ["records/s", *kinds, "gain"]
    text = "\n\n".join(
        [
            results.table(header, lines),
            f"{n:,} JSON records of {engine.FEATURES} features on one partition, both decoded by "
            f"the same loops in batches of {engine.BLOCK:,}; medians of {ROUNDS} alternating "
            "rounds.",
        ]
    )
    results.publish("engine_confluent", "Another client for Kafka", text, arguments.write)


if __name__ == "__main__":
    main()
