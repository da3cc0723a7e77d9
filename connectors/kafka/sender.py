"""A producer of kafka-python's for one topic, and what became of what it sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.base import SinkAwayError, SinkError
from stream_llsvm.connectors.kafka.client import (
    KafkaAwayError,
    KafkaTroubleError,
    Settings,
    wait_for_topics,
)
from stream_llsvm.connectors.kafka.fast_write import (
    Bundles,
    Message,
    force_close,
    metadata_of,
    partition_of,
)

#: Messages handed over and not acknowledged before a flush: kafka-python sets no limit itself.
MOST_OPEN = 20_000
SAY = 5.0  # seconds after which a wait is told of


class Sender:
    """A producer for one topic, made when it is needed and anew after it broke."""

    def __init__(self, topic: str, settings: Settings, more: Mapping[str, Any]) -> None:
        self.topic = topic
        self.settings = settings
        self._more = dict(more)
        self._producer: Any = None
        self._bundled: bool | None = None  # whether this kafka-python takes bundles
        self._said = False
        self.on_wait: Callable[[str], None] = lambda _: None
        self.forget()

    def forget(self) -> None:
        """Expect no news of what was sent so far."""
        self._ended: list[object] = []  # for each that arrived where, or else why it did not
        self.open = 0

    def ready(self) -> Any:
        """Return the producer, connected."""
        if self._producer is not None:
            return self._producer
        deadline = time.monotonic() + self.settings.connect_timeout
        try:
            producer = self.settings.connect(self._make)
            trouble = wait_for_topics(metadata_of(producer), [self.topic], deadline)
        except KafkaTroubleError as error:
            kind = SinkAwayError if isinstance(error, KafkaAwayError) else SinkError
            raise kind(str(error)) from None
        if trouble is not None:
            producer.close(timeout=0)
            raise SinkError(f"Kafka at {self.settings.servers[0]}: {trouble.text}")
        self._producer = producer
        self.forget()
        return producer

    def _make(self, config: dict[str, Any]) -> Any:
        from kafka import KafkaProducer

        tuned = {"linger_ms": 1, "batch_size": 1 << 16, "metrics_enabled": False}
        fixed = {"acks": "all", "enable_idempotence": True}
        return KafkaProducer(**(tuned | config | fixed | self._more))

    def send(
        self, key: bytes | None, value: bytes, headers: Sequence[tuple[str, bytes | None]]
    ) -> Any:
        """Hand over one message; whether it arrived shows in ``settle``."""
        future = self.ready().send(self.topic, value, key=key, headers=list(headers))
        future.add_both(self._ended.append)
        self.open += 1
        return future

    def send_all(self, messages: Sequence[Message]) -> bool:
        """Hand over many messages; returns False if that must be done one by one."""
        producer = self.ready()
        if self._bundled is None:
            self._bundled = Bundles.possible(producer)
        bundles = Bundles(producer, self._ended) if self._bundled else None
        if bundles is None:
            return False
        longest = bundles.longest
        if any(len(k or b"") + len(v) + len(h) > longest for k, v, h in messages):
            return False
        places: dict[int, list[Message]] = {}
        only = metadata_of(producer).partitions_for_topic(self.topic)
        if only is not None and len(only) == 1:
            places[min(only)] = list(messages)
        else:
            for one in messages:
                key, value, _ = one
                part = partition_of(producer, self.topic, key, value)
                places.setdefault(part, []).append(one)
        for part, mine in places.items():
            bundles.send(self.topic, part, mine)
            self.open += len(mine)
        return True

    def settle(self, timeout: float) -> None:
        """Return when everything sent is acknowledged; raise SinkError if something is not."""
        if self._producer is None:
            return
        from kafka.errors import KafkaError, KafkaTimeoutError, UnknownError

        deadline = time.monotonic() + timeout
        while len(self._ended) < self.open:
            left = max(0.0, deadline - time.monotonic())
            try:
                self._producer.flush(min(SAY, left))
            except KafkaTimeoutError as error:
                if left <= SAY:
                    raise SinkAwayError(f"{self.where}: {self.say(error)}") from error
                self.waits()
                time.sleep(0.005)
            except UnknownError:  # a batch was too large and is sent in parts: those are awaited
                time.sleep(0.005)
            except KafkaError as error:
                raise SinkError(f"{self.where}: {self.say(error)}") from error
            if len(self._ended) < self.open and time.monotonic() > deadline:
                raise SinkAwayError(f"{self.where}: no acknowledgement within {timeout:.0f} s")
        self.waited()
        failed = [one for one in self._ended if isinstance(one, BaseException)]
        self.forget()
        if failed:
            text = f"{len(failed)} records did not arrive, the first because of"
            raise SinkError(f"{self.where}: {text} {self.say(failed[0])}") from failed[0]

    def waits(self) -> None:
        """Say that an answer is waited for."""
        self._said = True
        self.on_wait(f"{self.where}: no broker answers")

    def waited(self) -> None:
        """Say that the wait is over, if there was one."""
        if self._said:
            self._said = False
            self.on_wait("")

    def drop(self) -> None:
        """Let go of the producer without waiting; the next use makes another."""
        producer, self._producer = self._producer, None
        if producer is not None:
            from kafka.errors import KafkaError

            try:
                producer.close(timeout=0)
            except KafkaError:  # something is unsent; close() has left the thread at work
                force_close(producer)

    @property
    def where(self) -> str:
        """The topic, as messages name it."""
        return f"Kafka topic {self.topic!r}"

    def say(self, error: object) -> str:
        """Return an error in one line without secrets."""
        return self.settings.scrub(error)[:300]
