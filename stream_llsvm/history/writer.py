"""Writes the history of a run by a thread of its own; whatever the file does, the run goes on."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from stream_llsvm.history.file import MINUTE, Event, HistoryFile, NewerError, Row, merged

log = logging.getLogger("stream_llsvm")

EVERY = 5.0  # seconds between two looks
_WRITTEN = 10.0  # seconds between two writings of the minute that goes on
_FORGOTTEN = 3_600.0  # seconds between two times that old rows are deleted
_HELD = 1_440  # minutes that wait for a file that cannot be written
_HELD_EVENTS = 1_000
_PATIENCE = 5.0  # seconds to wait for the last row at the end
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Sample(NamedTuple):
    """What a run's numbers were at one moment: each with whether it counts up and up."""

    record: int
    values: dict[str, tuple[float, bool]]


class HistoryWriter:
    """Keeps what a run is like, as long as it is a context.

    A file that cannot be written, such as a locked one, is told of once and tried again; rows wait
    meanwhile, those of a day at most. One that is damaged is moved aside, and a new one begun.

    Parameters
    ----------
    path
        The file.
    sample
        Returns what the numbers are now, None if there are none yet.
    events
        Returns what has happened since the last call.
    record
        How many records have been learned before; what the file says of later ones is replaced.
        None if the run does not go on from where an earlier one stood.

    """

    def __init__(
        self,
        path: Path,
        sample: Callable[[], Sample | None],
        events: Callable[[], Sequence[Event]],
        record: int | None,
    ) -> None:
        self._path, self._sample, self._events, self._record = path, sample, events, record
        self._file: HistoryFile | None = None
        self._minute = -1
        self._samples: list[Sample] = []
        self._waiting: deque[tuple[Row, dict[str, bool]]] = deque(maxlen=_HELD)
        self._happened: deque[Event] = deque(maxlen=_HELD_EVENTS)
        self._told, self._hopeless = False, False
        self._write_at = self._forget_at = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="history", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(_PATIENCE)

    def _work(self) -> None:
        while True:
            done = self._done.wait(EVERY)
            try:
                self._take(time.time(), last=done)
            except Exception:  # a fault here must not end the history
                log.exception("the history of the run")
            if done:
                break
        if self._file is not None:
            self._file.close()

    def _take(self, now: float, *, last: bool) -> None:
        """Look, and write if it is time."""
        minute = int(now) - int(now) % MINUTE
        if minute != self._minute:
            self._end_minute()
            self._minute = minute
        sample = self._sample()
        if sample is not None:
            self._samples.append(sample)
        self._happened.extend(self._events())
        if last or now >= self._write_at or self._write_at > now + 10 * _WRITTEN:
            self._write_at = now + _WRITTEN
            self._end_minute(keep=True)
            self._write(now)

    def _end_minute(self, *, keep: bool = False) -> None:
        """Make a row of the minute so far; ``keep`` if it goes on."""
        if self._samples:
            row, kinds = _row(self._minute, self._samples)
            if self._waiting and self._waiting[-1][0].time == row.time:
                self._waiting.pop()
            self._waiting.append((row, kinds))
        if not keep:
            self._samples = []

    def _write(self, now: float) -> None:
        """Write what waits."""
        if self._hopeless:
            return
        try:
            file = self._opened()
            while self._waiting:
                row, kinds = self._waiting[0]
                events = list(self._happened)
                file.write(row, kinds, events)
                self._waiting.popleft()
                for _ in events:
                    self._happened.popleft()
            if now >= self._forget_at:
                self._forget_at = now + _FORGOTTEN
                file.forget(now)
        except NewerError as error:
            self._hopeless = True
            log.warning("history: %s; nothing is kept of this run", error)
        except (sqlite3.Error, OSError) as error:
            self._close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED or "malformed" in str(
                error
            ):
                self._put_aside(error)
            elif not self._told:
                log.warning(
                    "history: %s cannot be written: %s; it is tried again, and the run goes on",
                    self._path, error,
                )  # fmt: skip
                self._told = True
        else:
            if self._told:
                log.warning("history: %s can be written again", self._path)
                self._told = False

    def _opened(self) -> HistoryFile:
        if self._file is None:
            self._file = HistoryFile(self._path, write=True)
        if self._record is not None:
            self._file.continued_at(self._record)
            self._record = None
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(sqlite3.Error):
                self._file.close()
            self._file = None

    def _put_aside(self, error: Exception) -> None:
        """Move a damaged file out of the way; the last one that was is kept."""
        aside = self._path.with_name(f"{self._path.name}.damaged")
        log.warning("history: %s is damaged (%s) and was moved to %s", self._path, error, aside)
        with contextlib.suppress(OSError):
            for ending in ("-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
            os.replace(self._path, aside)


def _row(minute: int, samples: Iterable[Sample]) -> tuple[Row, dict[str, bool]]:
    """Return a minute's row, and which of its numbers count."""
    several = list(samples)
    kinds = {name: counts for one in several for name, (_, counts) in one.values.items()}
    values = [{name: value for name, (value, _) in one.values.items()} for one in several]
    found = merged(values, {name for name, counts in kinds.items() if counts})
    return Row(minute, MINUTE, several[-1].record, found), kinds
