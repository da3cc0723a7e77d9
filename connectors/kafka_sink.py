"""Results and rejected records into Kafka."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Position, Rejected, Result, SinkError
from stream_llsvm.connectors.kafka_bundles import Bundles, Message, coded
from stream_llsvm.connectors.kafka_client import KafkaTroubleError, Settings, wait_for_topics

log = logging.getLogger("stream_llsvm.kafka")

_FEW = 16  # results, which are sent one by one and may share a batch with those of the next write
_BUNDLE = 2_000  # results that are made into messages at once
_MOST_OPEN = 20_000  # results handed over and not acknowledged: kafka-python sets no limit itself
_FENCED = ("ProducerFencedError", "InvalidProducerEpochError", "ProducerFenced")


class _Sender:
    """A producer for one topic, made when it is needed and anew after it broke."""

    def __init__(self, topic: str, settings: Settings, more: Mapping[str, Any]) -> None:
        self.topic = topic
        self.settings = settings
        self._more = dict(more)
        self._producer: Any = None
        self._bundled: bool | None = None  # whether this kafka-python takes bundles
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
            # kafka-python shows its metadata in no other way
            trouble = wait_for_topics(producer._metadata, [self.topic], deadline)
        except KafkaTroubleError as error:
            raise SinkError(str(error)) from None
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

    def send(self, key: bytes | None, value: bytes, headers: list[tuple[str, bytes]]) -> Any:
        """Hand over one message; whether it arrived shows in ``settle``."""
        future = self.ready().send(self.topic, value, key=key, headers=headers)
        future.add_both(self._ended.append)
        self.open += 1
        return future

    def send_all(self, messages: Sequence[Message]) -> bool:
        """Hand over many messages; returns False if that must be done one by one."""
        producer = self.ready()
        if self._bundled is None:
            self._bundled = Bundles.possible(producer)
        bundles = Bundles(producer, self._ended) if self._bundled else None
        longest = 0 if bundles is None else bundles.longest
        if bundles is None or any(one.size > longest for one in messages):
            return False
        places: dict[int, list[Message]] = {}
        only = producer._metadata.partitions_for_topic(self.topic)
        if only is not None and len(only) == 1:
            places[min(only)] = list(messages)
        else:
            for one in messages:
                key, value, _ = one
                part = producer._partition(self.topic, None, key, value, key, value)
                places.setdefault(part, []).append(one)
        for part, mine in places.items():
            bundles.send(self.topic, part, mine)
            self.open += len(mine)
        return True

    def settle(self, timeout: float) -> None:
        """Return when everything sent is acknowledged; raise SinkError if something is not."""
        if self._producer is None:
            return
        from kafka.errors import KafkaError, UnknownError

        deadline = time.monotonic() + timeout
        while len(self._ended) < self.open:
            try:
                self._producer.flush(max(0.0, deadline - time.monotonic()))
            except UnknownError:  # a batch was too large and is sent in parts: those are awaited
                time.sleep(0.005)
            except KafkaError as error:
                raise SinkError(f"{self.where}: {self.say(error)}") from error
            if len(self._ended) < self.open and time.monotonic() > deadline:
                raise SinkError(f"{self.where}: no acknowledgement within {timeout:.0f} s")
        failed = [one for one in self._ended if isinstance(one, BaseException)]
        self.forget()
        if failed:
            text = f"{len(failed)} records did not arrive, the first because of"
            raise SinkError(f"{self.where}: {text} {self.say(failed[0])}") from failed[0]

    def drop(self) -> None:
        """Let go of the producer without waiting; the next use makes another."""
        producer, self._producer = self._producer, None
        if producer is not None:
            from kafka.errors import KafkaError

            try:
                producer.close(timeout=0)
            except KafkaError:  # something is unsent; close() has left the thread at work
                producer._sender.force_close()

    @property
    def where(self) -> str:
        return f"Kafka topic {self.topic!r}"

    def say(self, error: object) -> str:
        """Return an error in one line without secrets."""
        return self.settings.scrub(error)[:300]


class KafkaSink:
    """Results as JSON messages, each with its record's key.

    A message is ``{"place", "key", "label", "prediction", "proba"}``; the header ``source`` holds
    the record's place, ``model`` the model's version if one is given. Messages are acknowledged
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
        import orjson

        more = {} if transactional_id is None else {"transactional_id": transactional_id}
        self._sender = _Sender(topic, Settings(servers, options, connect_timeout), more)
        self._id = transactional_id
        self._group = group or transactional_id
        self._flush_timeout = flush_timeout
        self._dumps = orjson.dumps
        self._how = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
        self._initialised: Any = None  # the producer whose transactions are set up
        self._begun = False
        self._tainted = False  # something failed since the transaction began
        self._fenced = False
        self.model_version = model_version

    def __repr__(self) -> str:
        return f"KafkaSink({self._sender.topic!r} at {','.join(self._sender.settings.servers)!r})"

    @property
    def transactional(self) -> bool:
        """Whether results become visible with a commit only."""
        return self._id is not None

    def connect(self) -> None:
        """Connect now, not with the first result: raise SinkError if the topic is out of reach."""
        self._sender.ready()

    def write(self, results: Sequence[Result]) -> None:
        """Take results in order; begins a transaction if there is none and one is wanted."""
        if self._id is not None:
            self._check()
            if not self._begun:
                self.begin()
        from kafka.errors import KafkaError

        try:
            for first in range(0, len(results), _BUNDLE):
                self._write(results[first : first + _BUNDLE])
                if self._sender.open >= _MOST_OPEN:
                    self.flush()
        except KafkaError as error:
            raise self._failed(error) from None

    def _write(self, results: Sequence[Result]) -> None:
        model = [] if self.model_version is None else [("model", self.model_version.encode())]
        ready = [self._message(one) for one in results]
        if len(ready) > _FEW:
            more = [
                Message(key, value, coded([("source", where), *model]))
                for key, value, where in ready
            ]
            if self._sender.send_all(more):
                return
        for key, value, where in ready:
            self._sender.send(key, value, [("source", where), *model])

    def _message(self, result: Result) -> tuple[bytes | None, bytes, bytes]:
        """Return a message's key, its value, and its record's place."""
        place, key, label, prediction, proba = result
        where = str(place)
        message = {"place": where, "key": key, "label": label, "prediction": prediction}
        message["proba"] = None if proba is None else {_plain(k): p for k, p in proba.items()}
        value = self._dumps(message, default=_as_text, option=self._how)
        return _as_key(key), value, where.encode()

    def flush(self) -> None:
        """Return when everything taken is acknowledged, and raise SinkError if anything failed.

        In a transaction it stays invisible until ``commit``. Without one, the next ``write`` after
        an error starts with a new connection.
        """
        try:
            self._sender.settle(self._flush_timeout)
        except SinkError as error:
            if type(error.__cause__).__name__ in _FENCED:
                raise self._failed(error.__cause__) from None
            self._tainted = True
            if self._id is None:
                self._sender.drop()
            raise

    def close(self) -> None:
        """Flush, or abort the transaction that is open, and let go of the connections."""
        try:
            if self._begun:
                self.abort()
            else:
                self.flush()
        finally:
            self._sender.drop()

    def begin(self) -> None:
        """Begin a transaction; ends what a former process with the same name left open."""
        from kafka.errors import KafkaError

        producer = self._transactional()
        if self._begun:
            raise SinkError(f"{self._sender.where}: a transaction is open already")
        try:
            producer.begin_transaction()
        except KafkaError as error:
            raise self._failed(error) from None
        self._begun, self._tainted = True, False

    def commit(self, position: Position | None = None, metadata: str = "") -> None:
        """Make what was written visible, and the position with it, all or nothing.

        After an error, ``abort`` and go on from ``committed_offsets``: if the broker did not
        answer, it alone knows whether the commit went through. The metadata is a text kept with
        the position.
        """
        from kafka import TopicPartition
        from kafka.errors import KafkaError
        from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

        producer = self._transactional()
        self._check()
        if not self._begun:
            self.begin()
        self.flush()
        offsets = {
            TopicPartition(topic, int(part)): OffsetAndMetadata(int(offset), metadata, -1)
            for topic, parts in (position or {}).items()
            for part, offset in parts.items()
        }
        try:
            if offsets:
                group = ConsumerGroupMetadata(self._group)
                self._within_time(producer.send_offsets_to_transaction, offsets, group)
            self._within_time(producer.commit_transaction)
        except KafkaError as error:
            raise self._failed(error) from None
        self._begun = False

    def abort(self) -> None:
        """Take back what was written since the last commit."""
        from kafka.errors import KafkaError

        if not self._begun:
            return
        self._begun = False
        if self._fenced:  # whoever shut this one out has ended its transaction
            self._sender.drop()
            return
        try:
            self._within_time(self._transactional().abort_transaction)
        except (KafkaError, SinkError) as error:
            self._failed(error)
            log.warning("%s: aborting failed: %s", self._sender.where, self._sender.say(error))
        if self._tainted:
            # kafka-python has lost count of what it sent. Its successor ends the transaction too.
            self._sender.drop()
        self._tainted = False
        self._sender.forget()

    def committed_offsets(self) -> Position:
        """Return the position of the last commit, ``{}`` if there was none.

        A transaction that a former process left in the middle of its commit is ended first.
        """
        from kafka import KafkaAdminClient
        from kafka.errors import KafkaError

        self._transactional()
        try:
            client = self._sender.settings.connect(lambda config: KafkaAdminClient(**config))
        except KafkaTroubleError as error:
            raise SinkError(str(error)) from None
        try:
            deadline = time.monotonic() + self._sender.settings.connect_timeout
            while True:
                try:
                    kept = client.list_group_offsets({self._group: None})[self._group]
                    break
                except KafkaError as error:  # a broker that was just started is not ready yet
                    if not error.retriable or time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
        except KafkaError as error:
            raise SinkError(f"{self._sender.where}: {self._sender.say(error)}") from None
        finally:
            client.close()
        found: Position = {}
        for one, where in sorted(kept.items()):
            if where.offset >= 0:
                found.setdefault(one.topic, {})[str(one.partition)] = where.offset
        return found

    def _transactional(self) -> Any:
        if self._id is None:
            raise SinkError(f"{self._sender.where}: transactions need a transactional_id")
        if self._fenced:
            raise SinkError(self._fenced_text())
        from kafka.errors import KafkaError

        producer = self._sender.ready()
        if self._initialised is not producer:
            try:
                producer.init_transactions()
            except KafkaError as error:
                self._sender.drop()
                raise self._failed(error) from None
            self._initialised = producer
        return producer

    def _check(self) -> None:
        """Raise SinkError if the transaction that is open can only be aborted."""
        if self._fenced:
            raise SinkError(self._fenced_text())
        if self._begun and self._tainted:
            raise SinkError(f"{self._sender.where}: something failed; abort the transaction first")

    def _within_time(self, call: Callable[..., None], *arguments: Any) -> None:
        """Call what may wait for a broker for ever, but no longer than ``flush_timeout``."""
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call(*arguments)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, name="kafka-transaction", daemon=True)
        thread.start()
        thread.join(self._flush_timeout)
        if thread.is_alive():
            self._tainted = True
            text = f"no broker answered within {self._flush_timeout:.0f} s"
            raise SinkError(f"{self._sender.where}: {text}")
        if raised:
            raise raised[0]

    def _failed(self, error: BaseException | None) -> SinkError:
        self._tainted = True
        if type(error).__name__ in _FENCED:
            self._fenced = True
            self._sender.drop()
            return SinkError(self._fenced_text())
        if self._id is None:
            self._sender.drop()
        return SinkError(f"{self._sender.where}: {self._sender.say(error)}")

    def _fenced_text(self) -> str:
        return (
            f"{self._sender.where}: shut out; another process uses the transactional id "
            f"{self._id!r}, or a transaction was open for longer than transaction_timeout_ms"
        )


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
        self._sender = _Sender(topic, Settings(servers, options, connect_timeout), {})
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
        if self._sender.open >= _MOST_OPEN:
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


def _as_key(key: Any) -> bytes | None:
    if key is None or isinstance(key, bytes):
        return key
    return str(key).encode(errors="surrogatepass")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _as_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
