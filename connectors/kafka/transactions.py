"""Transactions of a producer: what was sent becomes visible with a position, or not at all."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from stream_llsvm.connectors.base import Position, SinkAwayError, SinkError
from stream_llsvm.connectors.kafka import sender
from stream_llsvm.connectors.kafka.client import KafkaAwayError, KafkaTroubleError
from stream_llsvm.connectors.kafka.positions import offsets_of
from stream_llsvm.connectors.kafka.sender import Sender

log = logging.getLogger("stream_llsvm.kafka")

_UNKNOWN = 3  # failures for unknown reasons, one after the other, that may be a broker's silence
_FENCED = ("ProducerFencedError", "InvalidProducerEpochError", "ProducerFenced")


class Transactions:
    """The transactions of a sender, one after the other.

    Parameters
    ----------
    sender
        Whose messages they are about.
    id
        Its transactional id; None if it has none, and then there are no transactions.
    group
        The name under which positions are kept.
    limit
        Seconds to wait for an answer.

    Attributes
    ----------
    begun
        Whether one is open.
    tainted
        Whether something failed since it began.

    """

    def __init__(self, sender: Sender, id: str | None, group: str | None, limit: float) -> None:
        self._sender, self.id, self._group, self._limit = sender, id, group, limit
        self._initialised: Any = None  # the producer whose transactions are set up
        self._fenced = False
        self._unknown = 0
        self.begun = False
        self.tainted = False

    def begin(self) -> None:
        """Begin a transaction; ends what a former process with the same name left open."""
        from kafka.errors import KafkaError

        producer = self._ready()
        if self.begun:
            raise SinkError(f"{self._sender.where}: a transaction is open already")
        try:
            producer.begin_transaction()
        except KafkaError as error:
            raise self.failed(error) from None
        self.begun, self.tainted = True, False

    def commit(self, position: Position | None = None, metadata: str = "") -> None:
        """Make what was sent visible, and the position with it, all or nothing."""
        from kafka.errors import KafkaError
        from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

        producer = self._ready()
        self.check()
        if not self.begun:
            self.begin()
        self.flush()
        offsets = {
            one: OffsetAndMetadata(offset, metadata, -1)
            for one, offset in offsets_of(position or {}).items()
        }
        try:
            if offsets:
                group = ConsumerGroupMetadata(self._group)
                self._within_time(producer.send_offsets_to_transaction, offsets, group)
            self._within_time(producer.commit_transaction)
        except KafkaError as error:
            raise self.failed(error) from None
        self.begun, self._unknown = False, 0

    def abort(self) -> None:
        """Take back what was sent since the last commit."""
        from kafka.errors import KafkaError

        if not self.begun:
            return
        self.begun = False
        if self._fenced:  # whoever shut this one out has ended its transaction
            self._sender.drop()
            return
        try:
            self._within_time(self._ready().abort_transaction)
        except (KafkaError, SinkError) as error:
            self.failed(error)
            log.warning("%s: aborting failed: %s", self._sender.where, self._sender.say(error))
        if self.tainted:
            # kafka-python has lost count of what it sent. Its successor ends the transaction too.
            self._sender.drop()
        self.tainted = False
        self._sender.forget()

    def committed_offsets(self) -> Position:
        """Return the position of the last commit, ``{}`` if there was none.

        One that failed, or that a former process left in the middle of its commit, is ended first.
        """
        from kafka import KafkaAdminClient
        from kafka.errors import KafkaError

        if self.tainted:  # kafka-python's producer is of no use any more
            self._sender.drop()
            self._sender.forget()
            self.begun = self.tainted = False
        self._ready()
        try:
            client = self._sender.settings.connect(lambda config: KafkaAdminClient(**config))
        except KafkaTroubleError as error:
            kind = SinkAwayError if isinstance(error, KafkaAwayError) else SinkError
            raise kind(str(error)) from None
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
            raise self._error(error) from None
        finally:
            client.close()
        found: Position = {}
        for one, where in sorted(kept.items()):
            if where.offset >= 0:
                found.setdefault(one.topic, {})[str(one.partition)] = where.offset
        return found

    def _ready(self) -> Any:
        if self.id is None:
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
                raise self.failed(error) from None
            self._initialised = producer
        return producer

    def flush(self) -> None:
        """Return when all that was sent is acknowledged; raise SinkError if something is not."""
        try:
            self._sender.settle(self._limit)
        except SinkError as error:
            if type(error.__cause__).__name__ in _FENCED:
                raise self.failed(error.__cause__) from None
            self.tainted = True
            if self.id is None:
                self._sender.drop()
            if error.__cause__ is not None and self._away(error.__cause__):
                raise SinkAwayError(str(error)) from error.__cause__
            raise

    def check(self) -> None:
        """Raise SinkError if the transaction that is open can only be aborted."""
        if self._fenced:
            raise SinkError(self._fenced_text())
        if self.begun and self.tainted:
            raise SinkError(f"{self._sender.where}: something failed; abort the transaction first")

    def _within_time(self, call: Callable[..., None], *arguments: Any) -> None:
        """Call what may wait for a broker for ever, but no longer than is allowed."""
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call(*arguments)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, name="kafka-transaction", daemon=True)
        thread.start()
        deadline = time.monotonic() + self._limit
        while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
            thread.join(min(sender.SAY, left))
            if thread.is_alive():
                self._sender.waits()
        if thread.is_alive():
            self.tainted = True
            text = f"no broker answered within {self._limit:.0f} s"
            raise SinkAwayError(f"{self._sender.where}: {text}")
        if raised:
            raise raised[0]
        self._sender.waited()

    def failed(self, error: BaseException | None) -> SinkError:
        """Note that something failed; return the error that tells of it."""
        self.tainted = True
        if type(error).__name__ in _FENCED:
            self._fenced = True
            self._sender.drop()
            return SinkError(self._fenced_text())
        if self.id is None:
            self._sender.drop()
        return self._error(error)

    def _error(self, error: BaseException | None) -> SinkError:
        kind = SinkAwayError if self._away(error) else SinkError
        return kind(f"{self._sender.where}: {self._sender.say(error)}")

    def _away(self, error: BaseException | None) -> bool:
        """Whether an error says that brokers did not answer, and others may later.

        kafka-python gives a transactional request up that had no answer in time, and calls that
        an unknown reason: a plain KafkaError. The same may be meant by others, which come again.
        """
        from kafka.errors import KafkaError

        if type(error) is KafkaError:
            self._unknown += 1
            return self._unknown <= _UNKNOWN
        return isinstance(error, KafkaError) and bool(error.retriable)

    def _fenced_text(self) -> str:
        return (
            f"{self._sender.where}: shut out; another process uses the transactional id "
            f"{self.id!r}, or a transaction was open for longer than transaction_timeout_ms"
        )
