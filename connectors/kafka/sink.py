"""Results into Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.base import Position, Result
from stream_llsvm.connectors.kafka.client import Settings
from stream_llsvm.connectors.kafka.dead_letters import KafkaDeadLetters
from stream_llsvm.connectors.kafka.results import as_messages, headers
from stream_llsvm.connectors.kafka.sender import MOST_OPEN, Sender
from stream_llsvm.connectors.kafka.transactions import Transactions

__all__ = ["KafkaDeadLetters", "KafkaSink"]

_FEW = 16  # results, which are sent one by one and may share a batch with those of the next write
_BUNDLE = 2_000  # results that are made into messages at once


class KafkaSink:
    """Results as JSON messages, each with its record's key.

    A message has the fields that ``predictions.py`` lists; the header ``source`` holds the record's
    place, ``model`` the model's version if one is given. Messages are acknowledged
    by all replicas and neither doubled nor reordered by retries.

    With ``transactional_id``, results become visible to readers of committed data only when
    ``commit`` is called, together with the source's position, which the broker keeps under the
    name ``group``. The first ``write`` after a commit begins the next transaction.

    Parameters
    ----------
    topic
        Where results go; it must exist.
    servers, options, connect_timeout
        See ``Settings``.
    transactional_id
        A name that only one running process uses: a second one shuts the first out.
    group
        The name under which positions are kept; ``transactional_id`` unless given.
    model_version
        Text for the header ``model``; may be set anew at any time.
    flush_timeout
        Seconds that ``flush`` waits for acknowledgement.

    """

    def __init__(
        self,
        topic: str,
        servers: str | Sequence[str],
        *,
        transactional_id: str | None = None,
        group: str | None = None,
        model_version: str | None = None,
        options: Mapping[str, Any] | None = None,
        connect_timeout: float = 60.0,
        flush_timeout: float = 60.0,
    ) -> None:
        more = {} if transactional_id is None else {"transactional_id": transactional_id}
        self._sender = Sender(topic, Settings(servers, options, connect_timeout), more)
        self._transactions = Transactions(
            self._sender, transactional_id, group or transactional_id, flush_timeout
        )
        self.model_version = model_version

    def __repr__(self) -> str:
        return f"KafkaSink({self._sender.topic!r} at {','.join(self._sender.settings.servers)!r})"

    @property
    def transactional(self) -> bool:
        """Whether results become visible with a commit only."""
        return self._transactions.id is not None

    def connect(self) -> None:
        """Connect now, not with the first result: raise SinkError if the topic is out of reach."""
        self._sender.ready()

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order; begins a transaction if there is none and one is wanted."""
        transactions = self._transactions
        if transactions.id is not None:
            transactions.check()
            if not transactions.begun:
                transactions.begin()
        from kafka.errors import KafkaError

        try:
            for first in range(0, len(results), _BUNDLE):
                self._write(results[first : first + _BUNDLE])
                if self._sender.open >= MOST_OPEN:
                    self.flush()
        except KafkaError as error:
            raise transactions.failed(error) from None

    def _write(self, results: Sequence[Result]) -> None:
        messages = as_messages(results, self.model_version)
        if len(messages) > _FEW and self._sender.send_all(messages):
            return
        for result, (key, value, _) in zip(results, messages, strict=True):
            own = headers(str(result.place).encode(), self.model_version)
            self._sender.send(key, value, own)

    def flush(self) -> None:
        """Return when everything taken is acknowledged, and raise SinkError if anything failed.

        In a transaction it stays invisible until ``commit``. Without one, the next ``write`` after
        an error starts with a new connection.
        """
        self._transactions.flush()

    def close(self) -> None:
        """Flush, or abort the transaction that is open, and let go of the connections."""
        try:
            if self._transactions.begun:
                self.abort()
            else:
                self.flush()
        finally:
            self._sender.drop()

    def begin(self) -> None:
        """Begin a transaction; ends what a former process with the same name left open."""
        self._transactions.begin()

    def commit(self, position: Position | None = None, metadata: str = "") -> None:
        """Make what was written visible, and the position with it, all or nothing.

        After an error, ``abort`` and go on from ``committed_offsets``: if the broker did not
        answer, it alone knows whether the commit went through. The metadata is a text kept with
        the position.
        """
        self._transactions.commit(position, metadata)

    def abort(self) -> None:
        """Take back what was written since the last commit."""
        self._transactions.abort()

    def committed_offsets(self) -> Position:
        """Return the position of the last commit, ``{}`` if there was none.

        A transaction that a former process left in the middle of its commit is ended first.
        """
        return self._transactions.committed_offsets()
