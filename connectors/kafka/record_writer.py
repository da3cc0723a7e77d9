"""Records as messages of a topic, their bytes as they are."""

from __future__ import annotations

import time
from typing import Any

from stream_llsvm.connectors.base import SinkError
from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings, wait_for_topics
from stream_llsvm.connectors.kafka.fast_write import metadata_of


class TopicRecords:
    """A `RecordWriter` to a topic.

    Parameters
    ----------
    topic
        Its name; it must exist.
    servers
        See ``Settings``.
    patience
        Seconds to wait for a broker, at the start and at the end.

    """

    def __init__(self, topic: str, servers: str, patience: float) -> None:
        from kafka import KafkaProducer

        settings = Settings(servers, None, patience)
        try:
            self._producer: Any = settings.connect(lambda how: KafkaProducer(linger_ms=5, **how))
            metadata, deadline = metadata_of(self._producer), time.monotonic() + patience
            trouble = wait_for_topics(metadata, [topic], deadline)
        except KafkaTroubleError as error:
            raise SinkError(str(error)) from None
        if trouble is not None:
            self._producer.close(timeout=0)
            raise SinkError(f"Kafka at {servers}: {trouble.text}")
        self._topic, self._patience, self._settings = topic, patience, settings
        self._failed: list[BaseException] = []

    def send(self, key: Any, value: bytes) -> None:
        """Hand over a message."""
        coded = None if key is None else str(key).encode()
        self._producer.send(self._topic, value, key=coded).add_errback(self._failed.append)

    def push(self) -> None:
        """Raise SinkError with what went wrong so far."""
        if self._failed:
            text = self._settings.scrub(self._failed[0])
            raise SinkError(f"Kafka topic {self._topic!r}: {text}")

    def close(self) -> None:
        """Wait until all has arrived."""
        self._producer.flush(self._patience)
        self._producer.close(timeout=self._patience)
        self.push()
