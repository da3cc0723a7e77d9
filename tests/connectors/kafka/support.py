"""Topics, records and waiting for the tests of the Kafka connectors."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from stream_llsvm.connectors import KafkaSource
from stream_llsvm.connectors.base import TOPIC_IDS, Batch, Place, Position, Rejected, Result


def until(condition: Callable[[], Any], seconds: float = 30.0, what: str = "it") -> Any:
    """Return what the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def value(number: int) -> bytes:
    return json.dumps({"a": number, "b": 0.5, "label": number % 3}).encode()


def numbers(batches: Iterable[Batch]) -> list[int]:
    """Return the feature ``a`` of every record."""
    found: list[int] = []
    for batch in batches:
        if batch.values is not None:
            found += map(int, batch.values[:, 0])
        else:
            found += [one["a"] for one in batch.records or []]
    return found


def read(source: KafkaSource, count: int, seconds: float = 30.0, at_once: int = 500) -> list[Batch]:
    """Return batches that hold exactly so many records, the rejected among them."""
    found: list[Batch] = []
    deadline = time.monotonic() + seconds
    while (left := count - sum(len(one) + len(one.rejected) for one in found)) > 0:
        assert time.monotonic() < deadline, f"{left} of {count} records missing"
        batch = source.poll(min(at_once, left), 0.5)
        if batch is not None:
            found.append(batch)
    return found


def offsets(position: Position | None) -> Position:
    """Return a position without the ids of its topics."""
    return {name: at for name, at in (position or {}).items() if name != TOPIC_IDS}


def written_place(value: bytes) -> str:
    """Return where the record of a written prediction came from."""
    fields = json.loads(value)
    return str(Place(fields["source"], fields["partition"], fields["offset"]))


def result(number: int, key: Any = None) -> Result:
    place = Place("in", 0, number)
    return Result(place, key, number % 2, (number + 1) % 2, 0.75, {0: 0.25, 1: 0.75})


def reject(number: int, raw: bytes = b"\xff{") -> Rejected:
    return Rejected(Place("in", 0, number), "not json", "at 0", raw)


def committed(kafka: Kafka, group: str, topic: str = "") -> dict[int, int]:
    """Return a group's offsets of a topic, by partition; the group is named as it unless said."""
    from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError

    try:
        found = kafka.admin.list_group_offsets({group: None})[group]
    except (CoordinatorNotAvailableError, CoordinatorLoadInProgressError):
        return {}  # a broker that has just begun has not made room for groups yet
    return {
        one.partition: kept.offset for one, kept in found.items() if one.topic == (topic or group)
    }


class Kafka:
    """A broker to make topics at and fill them, apart from the code under test."""

    def __init__(self, servers: str) -> None:
        from kafka import KafkaAdminClient, KafkaProducer

        self.servers = servers
        patient = {"bootstrap_servers": servers, "reconnect_backoff_max_ms": 500}
        self.admin = KafkaAdminClient(**patient)
        more = {"max_request_size": 20_000_000, "linger_ms": 2, "metadata_max_age_ms": 500}
        self.producer = KafkaProducer(**(patient | more))

    def close(self) -> None:
        self.producer.close(timeout=0)
        self.admin.close()

    def topic(self, partitions: int = 1, **configs: Any) -> str:
        """Make a topic with a name of its own and return that."""
        from kafka.admin import NewTopic

        name = f"test-{uuid.uuid4().hex[:12]}"
        settings = {k.replace("_", "."): str(v) for k, v in configs.items()}
        new = NewTopic(name, partitions, 1, topic_configs=settings)
        until(lambda: self._made(new), what="the topic")
        self.admin.wait_for_topics([name])
        return name

    def _made(self, topic: Any) -> bool:
        """Make the topic, unless the broker is just being connected to."""
        from kafka.errors import NodeNotReadyError, TopicAlreadyExistsError

        try:
            self.admin.create_topics([topic])
        except NodeNotReadyError:
            return False
        except TopicAlreadyExistsError:
            pass  # only the answer was lost
        return True

    def make_anew(self, topic: str, partitions: int = 1) -> None:
        """Delete a topic, and make another with its name."""
        from kafka.admin import NewTopic
        from kafka.errors import TopicAlreadyExistsError

        self.admin.delete_topics([topic])

        def made() -> bool:
            try:
                self.admin.create_topics([NewTopic(topic, partitions, 1)])
            except TopicAlreadyExistsError:
                return False
            return True

        until(made, what="the topic")
        self.admin.wait_for_topics([topic])

    def send(
        self,
        topic: str,
        values: Iterable[bytes | None],
        partition: int | None = 0,
        key: bytes | None = b"k",
        headers: list[tuple[str, bytes]] | None = None,
    ) -> None:
        """Write the values and return when they are there."""
        if partition:
            until(lambda: partition in self.producer.partitions_for(topic), what="the partition")
        sent = [
            self.producer.send(topic, one, key=key, partition=partition, headers=headers)
            for one in values
        ]
        self.producer.flush(30)
        for one in sent:
            one.get(30)

    def delete_below(self, topic: str, offset: int, partition: int = 0) -> None:
        from kafka import TopicPartition

        self.admin.delete_records({TopicPartition(topic, partition): offset})

    def everything(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """Return all records of a topic up to its end, as kafka-python reads them."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(
            bootstrap_servers=self.servers, isolation_level=isolation, enable_auto_commit=False
        )
        try:
            parts = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
            consumer.assign(parts)
            consumer.seek_to_beginning()
            ends = consumer.end_offsets(parts)
            found: list[Any] = []
            deadline = time.monotonic() + 30
            while any(consumer.position(one) < ends[one] for one in parts):
                assert time.monotonic() < deadline
                for records in consumer.poll(timeout_ms=200).values():
                    found += records
            return found
        finally:
            consumer.close(autocommit=False)
