"""A model that is served: its log, its engine, and the requests that wait for answers.

Requests are appended to the log by the thread that answers, several at once; the engine's thread
reads them from there, predicts and learns them in one pass and in the log's order, and tells the
answers. Another thread syncs the log meanwhile. Nobody else touches the model, and it depends on
nothing but the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from stream_llsvm import limits
from stream_llsvm.connectors.log.segments import LABEL, RECORD
from stream_llsvm.connectors.log.source import LogSource
from stream_llsvm.connectors.log.writer import LogError, LogWriter
from stream_llsvm.dashboard.run_page import RunPage
from stream_llsvm.engine.classes import REASON, beyond, is_beyond
from stream_llsvm.engine.engine import Engine
from stream_llsvm.serve.answers import Teller, Ticket, Told
from stream_llsvm.serve.bodies import Asked, Names, only_label, without_label
from stream_llsvm.serve.ids import Ids
from stream_llsvm.serve.predictions import Predictions, Question
from stream_llsvm.serve.refusal import Refusals, RefusedError

log = logging.getLogger("stream_llsvm")

LONGEST_END = 30.0  # seconds
_ASKING_BYTES = 64_000_000  # of all records that wait to be predicted only
_IDLE = 1.0  # seconds after which entries are synced that nobody waits for
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ServedModel:
    """A model behind requests.

    Parameters
    ----------
    name
        What it is called in addresses.
    writer
        Its log, which the engine's source reads.
    engine
        Who learns it.
    page
        What shows it.
    names
        What the label and the id are called in records.
    ids
        How many ids are remembered.
    waiting
        How many entries may wait for the engine.
    on_failed
        Called, by any thread, when the model has failed: the process is to end.

    """

    def __init__(
        self,
        name: str,
        writer: LogWriter,
        engine: Engine,
        page: RunPage,
        names: Names,
        *,
        ids: int = limits.IDS,
        waiting: int = limits.WAITING,
        on_failed: Callable[[], object],
    ) -> None:
        self.on_failed = on_failed
        self.name, self.log, self.engine, self.names = name, writer, engine, names
        self._most = waiting
        self.ids = Ids(ids)
        self.ids.read(writer, names, self.done)
        self.run_page = page
        self.monitor, self.page = page.monitor, page.page
        self.teller = Teller(self._tell)
        assert isinstance(engine.source, LogSource)
        self._predictions = Predictions(
            engine.source.codec(), lambda: self.done, partial(self._call, self._answer_questions)
        )
        engine.watchers += [self.teller, self._predictions]
        self._asking = self._asking_bytes = 0  # records that wait to be predicted
        self.failed = ""
        self.refusals = Refusals(name)
        self._no_room = 0  # bytes that found no room on the disk, until an append succeeds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[int, tuple[Ticket, int]] = {}
        self._also: dict[int, list[tuple[Ticket, int]]] = {}  # the same record, sent again
        self._unsynced: deque[Ticket] = deque()
        self._asked: deque[tuple[float, Ticket]] = deque()
        self._pending: list[tuple[int, bytes]] = []
        self._pending_tickets: list[Ticket] = []
        self._pending_keys: list[tuple[int, Any]] = []
        self._wanted, self._closing = threading.Event(), False
        self._runner = threading.Thread(target=self._run, name=f"model {name}", daemon=True)
        self._syncer = threading.Thread(target=self._sync, name=f"sync {name}", daemon=True)

    @property
    def done(self) -> int:
        """All entries before this one were predicted, and learned where they have a label."""
        position = self.engine.position
        return self.log.first if position is None else int(position["log"])

    @property
    def state(self) -> str:
        """How it is, in a word."""
        if self.failed:
            return "failed"
        look = self.monitor.look
        return "starting" if look is None else look.status.state

    def missing(self) -> dict[str, str]:
        """Return what is not ready to answer requests, in words, by what it is."""
        missing = self.run_page.readiness.missing()
        if self.log.failed:
            missing["log"] = "it cannot be written; the server's own log says why"
        elif self._no_room and not self._has_room():
            missing["log"] = "the disk is full"
        behind = self.log.end - self.done
        if behind >= self._most:
            missing["waiting"] = f"{behind:,} records wait for the model; {self._most:,} may"
        return missing

    def _has_room(self) -> bool:
        """Whether the disk would take what it last had no room for; nobody may come to try it."""
        try:
            with tempfile.TemporaryFile(dir=self.log.folder) as file:
                file.write(bytes(self._no_room))
                file.flush()
        except OSError:
            return False
        return True

    @property
    def fields(self) -> dict[str, str]:
        """What the fields that have come are, as far as they can be counted."""
        while True:
            try:
                return {name: one.usual for name, one in self.engine.census.fields().items()}
            except RuntimeError:  # the engine's thread has just met a new one
                continue

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn; requests are answered in this loop."""
        self._loop = loop
        self.run_page.__enter__()
        self._runner.start()
        self._syncer.start()
        loop.call_later(_IDLE, self._sweep)

    def close(self) -> None:
        """Learn all that was acknowledged, write the last checkpoint, and return."""
        with contextlib.suppress(LogError):
            self.log.close()
        self._runner.join(LONGEST_END)
        if self._runner.is_alive():  # much is left to be learned again; the log keeps it
            self.engine.stop()
            self._runner.join()
        self._closing = True
        self._wanted.set()
        self._syncer.join()
        self.ids.note(self.log, at_once=True)
        self.run_page.__exit__()

    # By the thread that answers.

    def records(self, asked: Asked) -> Ticket:
        """Take records; the ticket is settled when they are predicted, and durable if wanted."""
        return self._whole(self._records, asked)

    def labels(self, asked: Asked) -> Ticket:
        """Take labels; the ticket is settled when they are durable, if that is wanted."""
        return self._whole(self._labels, asked)

    def _whole(self, take: Callable[[Asked, Ticket], None], asked: Asked) -> Ticket:
        """Take all of a request, or, whatever goes wrong, nothing."""
        self._check(len(asked.bodies))
        ticket = self._ticket(asked)
        entries, keys = len(self._pending), len(self._pending_keys)
        try:
            take(asked, ticket)
        except BaseException:
            more = len(self._pending) - entries
            self._forget(self._pending_keys[keys:], self.log.end + entries, more)
            del self._pending[entries:], self._pending_keys[keys:]
            raise
        self.refusals.records += ticket.rejected
        self._enqueue(ticket)
        return ticket

    def _records(self, asked: Asked, ticket: Ticket) -> None:
        number = self.log.end + len(self._pending)
        for i, given in enumerate(asked.bodies):
            wrong = asked.errors.get(i) or self._one_class_too_many(asked, i, "record")
            if given is None or wrong:
                ticket.answers[i] = {"error": wrong}
                ticket.rejected += 1
                continue
            body, key, labelled = given, asked.ids[i], asked.labelled[i]
            if key is not None:
                known = self.ids.number(key)
                if known is not None:
                    ticket.duplicates += 1
                    if labelled and not self.ids.label(key):  # it had come without its label
                        self._pending_keys.append((LABEL, key))
                        self._pending.append((LABEL, only_label(body, self.names)))
                        ticket.learned += 1
                        number += 1
                    if self._answered_before(ticket, i, known, asked.durable):
                        continue
                    # Its answer was given by a process that is gone: it is asked, not learned.
                    body, labelled = without_label(body, self.names), False
                else:
                    self.ids.add(key, number)
                    if labelled:
                        self.ids.label(key)
                    self._pending_keys.append((RECORD, key))
            self._pending.append((RECORD, body))
            self._open[number] = (ticket, i)
            ticket.left += 1
            ticket.learned += labelled
            number += 1
        if asked.durable and (ticket.left or ticket.learned):
            ticket.upto = number

    def predict(self, asked: Asked) -> Ticket:
        """Take records that are only predicted: nothing is kept of them, and no label can come."""
        self._check(len(asked.bodies))
        ticket = self._ticket(asked)
        for i, error in asked.errors.items():
            ticket.answers[i] = {"error": error}
            ticket.rejected += 1
        bodies = {i: body for i, body in enumerate(asked.bodies) if body is not None}
        size = sum(map(len, bodies.values()))
        if self._asking_bytes > 0 and self._asking_bytes + size > _ASKING_BYTES:
            raise RefusedError(
                429, "too much waits to be predicted: try again", {"Retry-After": "1"}
            )
        ticket.left = len(bodies)
        ticket.settle(0)
        if bodies:
            self._asking += len(bodies)
            self._asking_bytes += size
            self._asked.append((time.monotonic(), ticket))
            self._predictions.ask(self.engine, Question(ticket, bodies, self.log.end))
        return ticket

    def _labels(self, asked: Asked, ticket: Ticket) -> None:
        for i, body in enumerate(asked.bodies):
            wrong = asked.errors.get(i) or self._one_class_too_many(asked, i, "label")
            if body is None or wrong:
                ticket.answers[i] = {"error": wrong}
                ticket.rejected += 1
            elif self.ids.label(asked.ids[i]):
                ticket.duplicates += 1
            else:
                self._pending_keys.append((LABEL, asked.ids[i]))
                self._pending.append((LABEL, body))
                ticket.learned += 1
        if asked.durable:
            ticket.upto = self.log.end + len(self._pending)

    def _one_class_too_many(self, asked: Asked, i: int, what: str) -> str:
        """Say that a label is new, and the model has as many classes as it may; else nothing."""
        known, most = self.engine.progress.classes, self.engine.max_classes
        if len(known) < most or not asked.labelled[i]:
            return ""
        try:
            new = is_beyond(asked.labels[i], known, most)
        except ValueError:  # it is no label: who reads the log says so
            return ""
        return f"{what} {i}: {REASON}: {beyond(asked.labels[i], most)}" if new else ""

    def _ticket(self, asked: Asked) -> Ticket:
        assert self._loop is not None
        return Ticket(asked.labelled, self._loop.create_future())

    def _check(self, more: int) -> None:
        """Raise RefusedError if nothing can be taken just now."""
        if self.failed or self.log.failed:
            why = self.failed or self.log.failed
            raise RefusedError(503, f"the model {self.name} has stopped: {why}")
        if more > self._most:
            raise RefusedError(413, f"at most {self._most:,} may wait at once: send fewer")
        behind = self.log.end + len(self._pending) - self.done + self._asking
        if behind + more > self._most:
            raise RefusedError(
                429,
                f"{behind:,} records wait for the model already: send the same again in a moment",
                {"Retry-After": "1"},
            )

    def _answered_before(self, ticket: Ticket, i: int, number: int, durable: bool) -> bool:
        """Answer a record that has come before, at once or when it is; False if nobody knows."""
        answer = self.ids.answer(number)
        if answer is not None:
            ticket.answers[i] = answer
        elif self.ids.waits(number):
            self._also.setdefault(number, []).append((ticket, i))
            ticket.left += 1
        else:
            return False
        if durable:
            ticket.upto = max(ticket.upto, number + 1)
        return True

    def _enqueue(self, ticket: Ticket) -> None:
        assert self._loop is not None
        self._asked.append((time.monotonic(), ticket))
        if not self._pending_tickets:  # what else comes in this turn of the loop is written with it
            self._loop.call_soon(self._append)
        self._pending_tickets.append(ticket)

    def _append(self) -> None:
        """Write what came in this turn."""
        pending, tickets, keys = self._pending, self._pending_tickets, self._pending_keys
        self._pending, self._pending_tickets, self._pending_keys = [], [], []
        try:
            if pending:
                self.log.append(pending)
        except (OSError, LogError) as error:
            full = isinstance(error, OSError) and error.errno in _FULL
            self._no_room = sum(len(body) for _, body in pending) if full else 0
            text = (
                f"the disk is full: nothing was taken; make room in {self.log.folder}, and send "
                "the same again"
                if full
                else f"the log cannot be written: {error}; nothing was taken"
            )
            self._undo(RefusedError(507 if full else 503, text), len(pending), tickets, keys)
            return
        if pending and self._no_room:
            self._no_room = 0
            self.refusals.over(507)
        synced, durable = self.log.synced, False
        for ticket in tickets:
            if ticket.upto > synced:
                self._unsynced.append(ticket)
                durable = True
            ticket.settle(synced)
        if durable:
            self._wanted.set()

    def _undo(
        self, error: RefusedError, entries: int, tickets: list[Ticket], keys: list[tuple[int, Any]]
    ) -> None:
        """Let requests fail whose records were not written."""
        self._forget(keys, self.log.end, entries)
        for ticket in tickets:
            ticket.fail(error)

    def _forget(self, keys: list[tuple[int, Any]], first: int, entries: int) -> None:
        """Forget the ids of what is not written, and who waits for answers to it."""
        for kind, key in reversed(keys):
            (self.ids.forget if kind == RECORD else self.ids.unlabel)(key)
        for number in range(first, first + entries):
            self._open.pop(number, None)
            self._also.pop(number, None)

    def _sweep(self) -> None:
        """Let requests fail that have waited for too long; their records stay in the log."""
        assert self._loop is not None
        self._loop.call_later(_IDLE, self._sweep)
        late = time.monotonic() - limits.ANSWER_SECONDS
        while self._asked and (self._asked[0][1].done.done() or self._asked[0][0] < late):
            self._asked.popleft()[1].fail(
                RefusedError(
                    503,
                    "what was sent is in the log, and not answered yet: send it again with the "
                    "same ids",
                    {"Retry-After": "5"},
                )
            )

    def _answer(self, told: Told) -> None:
        """Take what became of some entries."""
        if self._open or self._also or self.ids.waiting:
            for number, answer in told.answers():
                self._give(number, answer)

    def _answer_questions(self, asked: Sequence[Question], told: Told | Exception) -> None:
        """Take what became of records that were only to be predicted."""
        answers = {} if isinstance(told, Exception) else dict(told.answers())
        begin = 0
        for one in asked:
            self._asking -= len(one.bodies)
            self._asking_bytes -= sum(map(len, one.bodies.values()))
            if isinstance(told, Exception):
                one.ticket.fail(told)
                continue
            for number, i in enumerate(one.bodies, begin):
                self._put(one.ticket, i, answers[number])
            begin += len(one.bodies)

    def _give(self, number: int, answer: dict[str, Any]) -> None:
        self.ids.keep(number, answer)
        found = self._open.pop(number, None)
        if found is not None:
            ticket, i = found
            ticket.learned -= "error" in answer and ticket.labelled[i]
            self._put(ticket, i, answer)
        for ticket, i in self._also.pop(number, ()):
            self._put(ticket, i, answer)

    def _put(self, ticket: Ticket, i: int, answer: dict[str, Any]) -> None:
        if "error" in answer:
            answer = {"error": f"record {i}: {answer['error']}"}
            ticket.rejected += 1
        ticket.answers[i] = answer
        ticket.left -= 1
        ticket.settle(self.log.synced)

    def _synced(self) -> None:
        synced = self.log.synced
        while self._unsynced and self._unsynced[0].upto <= synced:
            self._unsynced.popleft().settle(synced)
        self.ids.note(self.log)

    def _fail(self, error: RefusedError) -> None:
        """Let all requests fail."""
        self._open.clear()
        self._also.clear()
        self._unsynced.clear()
        while self._asked:
            self._asked.popleft()[1].fail(error)

    # By other threads.

    def _call(self, what: Any, *arguments: Any) -> None:
        """Let the thread that answers do something, as long as it is there."""
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(what, *arguments)

    def _tell(self, told: Told) -> None:
        self._call(self._answer, told)

    def save(self) -> Future[dict[str, Any]]:
        """Ask for a checkpoint."""
        return self.teller.save()

    def _run(self) -> None:
        """Learn until the log is closed; whatever ends it, nobody waits for an answer any more."""
        try:
            self.engine.run()
        except BaseException as error:
            self.failed = " ".join(str(error).split()) or type(error).__name__
            log.error("the model %s has stopped: %s", self.name, self.failed, exc_info=error)
        finally:
            why = self.failed or "the server stops"
            self._call(self._fail, RefusedError(503, f"the model {self.name} has stopped: {why}"))
            if self.failed:
                self.on_failed()

    def _sync(self) -> None:
        while not self._closing:
            self._wanted.wait(_IDLE)
            self._wanted.clear()
            try:
                self.log.sync()
            except LogError as error:
                self.failed = self.failed or str(error)
                self._call(self._fail, RefusedError(503, str(error)))
                self.on_failed()
                return
            self._call(self._synced)
