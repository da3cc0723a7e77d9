"""Rejected records into Kafka."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.base import Rejected, SinkError
from stream_llsvm.connectors.kafka.client import Settings
from stream_llsvm.connectors.kafka.sender import MOST_OPEN, Sender

log = logging.getLogger("stream_llsvm.kafka")


class KafkaDeadLetters:
    """Rejected records as they were: their bytes as the value, why and whence in the headers.

    The headers are ``source`` (the place), ``reason`` and ``detail``. What does not arrive is
    kept, and sent again through a new connection by the next ``flush``.

    Parameters
    ----------
    topic
        Where they go; it must exist.
    servers, options, connect_timeout
        See ``Settings``.
    max_bytes
        A longer record is cut there; the header ``cut`` then holds its whole length.
    flush_timeout
        Seconds that ``flush`` waits for acknowledgement.

    """

    def __init__(
        self,
        topic: str,
        servers: str | Sequence[str],
        *,
        max_bytes: int = 900_000,
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
        flush_timeout: float = 60.0,
    ) -> None:
        self._sender = Sender(topic, Settings(servers, options, connect_timeout), {})
        self._max_bytes = max_bytes
        self._flush_timeout = flush_timeout
        self._waiting: list[tuple[bytes, list[tuple[str, bytes]], Any]] = []

    def __repr__(self) -> str:
        servers = ",".join(self._sender.settings.servers)
        return f"KafkaDeadLetters({self._sender.topic!r} at {servers!r})"

    def connect(self) -> None:
        """Connect now, not with the first record: raise SinkError if the topic is out of reach."""
        self._sender.ready()

    def write(self, rejected: Sequence[Rejected]) -> None:
        """Take rejected records in order."""
        for place, reason, detail, raw in rejected:
            headers = [("source", str(place)), ("reason", reason), ("detail", detail)]
            if len(raw) > self._max_bytes:
                headers.append(("cut", str(len(raw))))
            coded = [(name, text.encode(errors="replace")) for name, text in headers]
            part = raw[: self._max_bytes]
            self._waiting.append((part, coded, self._send(part, coded)))
        if self._sender.open >= MOST_OPEN:
            self.flush()

    def _send(self, raw: bytes, headers: list[tuple[str, bytes]]) -> Any:
        from kafka.errors import KafkaError

        try:
            return self._sender.send(None, raw, headers)
        except (KafkaError, SinkError) as error:
            log.warning("%s: %s", self._sender.where, self._sender.say(error))
            return None

    def flush(self) -> None:
        """Return when everything taken is acknowledged; raise SinkError if it cannot be."""
        for last in (False, True):
            try:
                self._sender.settle(self._flush_timeout)
            except SinkError as error:
                log.warning("%s", error)
                failure: SinkError | None = error
            else:
                failure = None
            left = [one for one in self._waiting if one[2] is None or not one[2].succeeded()]
            self._waiting = left
            if not left:
                return
            self._sender.drop()
            if last:
                text = f"{len(left)} rejected records did not arrive"
                raise failure or SinkError(f"{self._sender.where}: {text}")
            self._sender.ready()
            self._waiting = [(raw, given, self._send(raw, given)) for raw, given, _ in left]

    def close(self) -> None:
        """Flush, and let go of the connections."""
        try:
            self.flush()
        finally:
            self._sender.drop()
