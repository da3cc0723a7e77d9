"""The file of a run's history: a row a minute for some days, a row an hour for years, and events.

A row says how many records had come by its end. So what a run that goes on from a checkpoint does
again takes the place of what it had done: rows of records after the checkpoint are *replaced*, and
nothing is counted twice. Counters are kept as they stood at a row's end, other numbers as the mean
over it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

NAME = "history.sqlite"
MINUTE, HOUR = 60, 3_600
#: For how long rows of each kind are kept, in seconds.
KEPT = {MINUTE: 8 * 86_400, HOUR: 3 * 366 * 86_400}
VERSION = 1
_MOST_EVENTS = 20_000
_MOST_SERIES = 5_000  # names ever seen
_MOST_VALUES = 400  # of a row
_LETTERS = 500
_PATIENCE = 1.0  # seconds to wait for another process that writes

_SCHEMA = """
CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, counts INTEGER
);
CREATE TABLE IF NOT EXISTS rows (
    span INTEGER, time INTEGER, record INTEGER, replaced INTEGER NOT NULL DEFAULT 0, data BLOB,
    PRIMARY KEY (span, time)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL, record INTEGER, kind TEXT, text TEXT,
    replaced INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS events_by_time ON events (time);
"""
#: Events that come again when their records do.
_OF_RECORDS = ("drift", "better")


class Series(NamedTuple):
    """A number that is followed: its name, and whether it counts up and up."""

    name: str
    counts: bool


class Row(NamedTuple):
    """What a minute or an hour was like.

    Attributes
    ----------
    time
        When it began, in seconds since 1970.
    span
        How many seconds it has.
    record
        How many records had come by its end.
    values
        By name, what the numbers were.

    """

    time: int
    span: int
    record: int
    values: dict[str, float]


class Event(NamedTuple):
    """Something that happened."""

    time: float
    record: int
    kind: str
    text: str


class NewerError(Exception):
    """The file is of a newer version, which alone should write to it."""


class HistoryFile:
    """Rows and events in a file.

    Parameters
    ----------
    path
        The file; it is made if it is not there and is to be written.
    write
        Whether it is written.

    Raises
    ------
    sqlite3.Error, NewerError
        If it cannot be used.

    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        if write:
            with contextlib.suppress(OSError):  # SQLite says why
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = _connected(path, "rwc" if write else "ro")
        try:
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise NewerError(f"{path} is of a newer version of stream_llsvm: upgrade it")
            if write:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                with self._db:
                    self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION};")
            self._ids: dict[str, int] = {}
            self._series: dict[int, Series] = {}
            for number, name, counts in self._db.execute("SELECT id, name, counts FROM series"):
                self._know(number, name, bool(counts))
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let it go."""
        self._db.close()

    def _know(self, number: int, name: str, counts: bool) -> None:
        self._ids[name], self._series[number] = number, Series(name, counts)

    def continued_at(self, record: int) -> None:
        """Note that records after this one come again: what was kept of them is replaced."""
        with _Transaction(self._db):
            self._db.execute("UPDATE rows SET replaced = 1 WHERE record > ?", (record,))
            hours = self._db.execute(
                "SELECT DISTINCT time - time % ? FROM rows AS minute "
                "WHERE span = ? AND NOT replaced AND EXISTS "
                "(SELECT 1 FROM rows WHERE span = ? AND replaced "
                "AND time = minute.time - minute.time % ?)",
                (HOUR, MINUTE, HOUR, HOUR),
            ).fetchall()
            for (hour,) in hours:
                self._sum_up(hour)
            marks = ", ".join("?" * len(_OF_RECORDS))
            self._db.execute(
                f"UPDATE events SET replaced = 1 WHERE record > ? AND kind IN ({marks})",
                (record, *_OF_RECORDS),
            )

    def write(self, row: Row, kinds: Mapping[str, bool], events: Sequence[Event] = ()) -> None:
        """Write a minute, in the place of what is there of it, its hour, and events.

        ``kinds`` says of each number whether it counts up and up.
        """
        with _Transaction(self._db):
            data = {}
            for name, value in list(row.values.items())[:_MOST_VALUES]:
                number = self._number(name, kinds[name])
                if number is not None:
                    data[str(number)] = value
            self._put(row, data)
            self._sum_up(row.time - row.time % HOUR)
            self._db.executemany(
                "INSERT INTO events (time, record, kind, text) VALUES (?, ?, ?, ?)",
                [(e.time, e.record, e.kind, e.text[:_LETTERS]) for e in events],
            )

    def forget(self, now: float) -> None:
        """Forget what is too old, and events that are too many."""
        with _Transaction(self._db):
            for span, seconds in KEPT.items():
                self._db.execute(
                    "DELETE FROM rows WHERE span = ? AND time < ?", (span, int(now) - seconds)
                )
            self._db.execute(
                "DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", (_MOST_EVENTS,)
            )

    def _number(self, name: str, counts: bool) -> int | None:
        """Return the number of a series; None if there are too many."""
        if name not in self._ids:
            if len(self._ids) >= _MOST_SERIES:
                return None
            cursor = self._db.execute(
                "INSERT INTO series (name, counts) VALUES (?, ?)", (name, counts)
            )
            assert cursor.lastrowid is not None
            self._know(cursor.lastrowid, name, counts)
        return self._ids[name]

    def _put(self, row: Row, data: Mapping[str, float]) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO rows (span, time, record, data) VALUES (?, ?, ?, ?)",
            (row.span, row.time, row.record, orjson.dumps(data)),
        )

    def _sum_up(self, hour: int) -> None:
        """Make the row of an hour of those of its minutes."""
        minutes = self._rows(MINUTE, hour, hour + HOUR)
        if not minutes:
            return
        found = merged([row.values for row in minutes], self.counting())
        data = {str(self._ids[name]): value for name, value in found.items()}
        self._put(Row(hour, HOUR, minutes[-1].record, {}), data)

    def counting(self) -> set[str]:
        """Return the names of numbers that count up and up."""
        return {one.name for one in self._series.values() if one.counts}

    def rows(self, begin: float, end: float) -> list[Row]:
        """Return what is known of a time, oldest first: minutes where there are any, else hours."""
        minutes = self._rows(MINUTE, begin, end)
        first = minutes[0].time if minutes else end
        # An hour that minutes are kept of only in part stands for what was before them.
        return [*self._rows(HOUR, begin, first - first % HOUR), *minutes]

    def record_before(self, begin: float) -> int:
        """Return how many records had come by a time; 0 if nobody knows."""
        found = self._db.execute(
            "SELECT max(record) FROM (SELECT record FROM rows WHERE time + span <= ? "
            "AND NOT replaced ORDER BY time + span DESC LIMIT 1)",
            (begin,),
        ).fetchone()
        return int(found[0] or 0)

    def _rows(self, span: int, begin: float, end: float) -> list[Row]:
        found = self._db.execute(
            "SELECT time, record, data FROM rows WHERE span = ? AND time >= ? AND time < ? "
            "AND NOT replaced ORDER BY time",
            (span, begin, end),
        )
        return [Row(time, span, record, self._named(data)) for time, record, data in found]

    def _named(self, data: Any) -> dict[str, float]:
        try:
            values = orjson.loads(data)
            return {self._series[int(i)].name: float(value) for i, value in values.items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            raise sqlite3.DatabaseError("a row is malformed") from None

    def events(self, begin: float, end: float, most: int = 2_000) -> list[Event]:
        """Return what happened in a time, oldest first; of many the last."""
        found = self._db.execute(
            "SELECT time, record, kind, text FROM events WHERE time >= ? AND time < ? "
            "AND NOT replaced ORDER BY id DESC LIMIT ?",
            (begin, end, most),
        )
        return [Event(*one) for one in found][::-1]


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection; a file on a disk that can only be read is read as it lies there."""

    def connected(how: str) -> sqlite3.Connection:
        address = f"{path.absolute().as_uri()}?{how}"
        return sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)

    db = connected(f"mode={mode}")
    if mode == "ro":
        try:
            db.execute("PRAGMA schema_version")
        except sqlite3.OperationalError:
            db.close()
            db = connected("mode=ro&immutable=1")
    return db


class _Transaction:
    """All or nothing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def merged(values: Iterable[Mapping[str, float]], counting: set[str]) -> dict[str, float]:
    """Return the numbers of a longer time: those that count as they stood last, the mean of others.

    Examples
    --------
    >>> merged([{"n": 1.0, "rate": 2.0}, {"n": 5.0, "rate": 4.0}], {"n"})
    {'n': 5.0, 'rate': 3.0}

    """
    sums: dict[str, tuple[float, int]] = {}
    last: dict[str, float] = {}
    for one in values:
        for name, value in one.items():
            if name in counting:
                last[name] = value
            else:
                total, n = sums.get(name, (0.0, 0))
                sums[name] = total + value, n + 1
    return last | {name: total / n for name, (total, n) in sums.items()}
