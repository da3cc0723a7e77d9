"""Results into Kafka: JSON as in files, the record's key, and its place in a header."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from stream_llsvm.connectors.base import Position, Result, SinkError
from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings, wait_for_topics
from stream_llsvm.connectors.kafka.fast_write import Message, coded, metadata_of
from stream_llsvm.connectors.kafka.messages import headers_at
from stream_llsvm.connectors.kafka.sender import MOST_OPEN, Sender
from stream_llsvm.connectors.kafka.transactions import Transactions
from stream_llsvm.connectors.predictions import as_line

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

    @property
    def on_wait(self) -> Callable[[str], None]:
        """What is called while an answer is waited for, with what for, and with "" afterwards."""
        return self._sender.on_wait

    @on_wait.setter
    def on_wait(self, call: Callable[[str], None]) -> None:
        self._sender.on_wait = call

    def connect(self) -> None:
        """Connect now, not with the first result: raise SinkError if the topic is out of reach."""
        self._sender.ready()

    @property
    def encode(self) -> Callable[[Sequence[Result]], Sequence[Any]]:
        """What makes messages of results, in any process."""
        return partial(as_messages, model_version=self.model_version)

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order; begins a transaction if there is none and one is wanted."""
        for first in range(0, len(results), _BUNDLE):
            self.write_encoded(self.encode(results[first : first + _BUNDLE]))

    def write_encoded(self, encoded: Sequence[Any]) -> None:
        """Take messages in order."""
        transactions = self._transactions
        if transactions.id is not None:
            transactions.check()
            if not transactions.begun:
                transactions.begin()
        from kafka.errors import KafkaError

        try:
            for first in range(0, len(encoded), _BUNDLE):
                self._write(encoded[first : first + _BUNDLE])
                if self._sender.open >= MOST_OPEN:
                    self.flush()
        except KafkaError as error:
            raise transactions.failed(error) from None

    def _write(self, messages: Sequence[Message]) -> None:
        if len(messages) > _FEW and self._sender.send_all(messages):
            return
        for key, value, own in messages:
            self._sender.send(key, value, headers_at(own, 0))

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


_SOURCE = "source"  # the header with the record's place


def as_messages(results: Sequence[Result], model_version: str | None) -> list[Message]:
    r"""Return a message for each result.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> result = Result(Place("in", 0, 7), "k", None, "up", 0.75)
    >>> message = as_messages([result], None)[0]
    >>> message.key, message.headers
    (b'k', b'\x02\x0csource\x0cin/0@7')

    """
    more = headers(b"", model_version)[1:]
    # The same for all but the place, whose length has one byte as long as it is below 64.
    whole = coded([(_SOURCE, b""), *more])
    before = whole[: 2 + len(_SOURCE)]
    after = whole[len(before) + 1 :]
    made = []
    for result in results:
        place = str(result[0]).encode()
        size = len(place)
        if size < 64:
            own = b"%b%c%b%b" % (before, size << 1, place, after)
        else:
            own = coded([(_SOURCE, place), *more])
        made.append(Message(as_key(result[1]), as_line(result), own))
    return made


def headers(place: bytes, model_version: str | None) -> list[tuple[str, bytes]]:
    """Return a message's headers."""
    model = [] if model_version is None else [("model", model_version.encode())]
    return [(_SOURCE, place), *model]


def as_key(key: Any) -> bytes | None:
    """Return a record's key as a message's."""
    if key is None or isinstance(key, bytes):
        return key
    return str(key).encode(errors="surrogatepass")


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
