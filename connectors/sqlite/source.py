"""The rows of a table of SQLite, in the order in which they were added."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Any
from urllib.parse import quote

from stream_llsvm.connectors.base import Batch, Position, SourceError
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.json_codec import JsonCodec

_PAUSE = 0.05  # seconds between two looks for new rows


class SqliteSource:
    """Records from a table.

    Rows must be added with rising ``rowid``, as SQLite does by itself (``AUTOINCREMENT`` also where
    rows are deleted): the last one that was read is the position.

    Parameters
    ----------
    path
        The database, which is only read.
    table
        The table, or the view; None if there is only one table.
    follow
        Whether to wait for rows that are added; otherwise it ends with the last one.
    fields
        As for every `Codec`: ``label``, ``key``, ``ignore``, ``features``, ...

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weather.db"
    >>> base = sqlite3.connect(path)
    >>> _ = base.execute("CREATE TABLE wind (speed, gust, storm)")
    >>> _ = base.execute("INSERT INTO wind VALUES (1.5, 2, 0), (9, 'NA', 1)")
    >>> base.commit()
    >>> source = SqliteSource(path, label="storm")
    >>> batch = source.poll(1000, 0.0)
    >>> batch.names, batch.values.tolist(), batch.labels
    (('speed', 'gust'), [[1.5, 2.0], [9.0, nan]], [0, 1])
    >>> source.close(); base.close()

    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        table: str | None = None,
        *,
        follow: bool = False,
        **fields: Any,
    ) -> None:
        self.path = os.fspath(path)
        self._codec = JsonCodec(**fields)
        self.follow = follow
        # The engine reads from a thread of its own.
        where = f"file:{quote(self.path)}?mode=ro"
        try:
            self._base = sqlite3.connect(where, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise SourceError(f"{self.path}: {error}") from None
        self._base.row_factory = sqlite3.Row
        try:
            self.table = table or self._only_table()
        except BaseException:
            self._base.close()
            raise
        quoted = self.table.replace('"', '""')
        self._query = (
            f'SELECT rowid AS "rowid of it", * FROM "{quoted}" WHERE rowid > ? '
            "ORDER BY rowid LIMIT ?"
        )
        self.name = f"{self.path}, table {self.table}"
        self.position: Position = {"table": self.table, "row": 0}
        self.ended = False

    def _only_table(self) -> str:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = [row["name"] for row in self._rows(query)]
        if len(names) != 1:
            raise SourceError(
                f"{self.path}: name the table (--table); there are {', '.join(names) or 'none'}"
            )
        return str(names[0])

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        try:
            return self._base.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise SourceError(f"{getattr(self, 'name', self.path)}: {error}") from None

    def keep_text(self) -> None:
        """Leave values as they are from now on: see `Verbatim`."""
        self._codec.keep_text()

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next rows, at most so many; None if none came within so many seconds."""
        deadline = time.monotonic() + timeout
        while not (rows := self._rows(self._query, self.position["row"], max_records)):
            left = deadline - time.monotonic()
            if not self.follow or left <= 0:
                self.ended = not self.follow
                return None
            time.sleep(min(_PAUSE, left))
        numbers = [row[0] for row in rows]
        names = rows[0].keys()[1:]
        objects = [dict(zip(names, row[1:], strict=True)) for row in map(tuple, rows)]
        self.position = {"table": self.table, "row": numbers[-1]}
        return self._codec.decode_objects(objects, Places(self.name, None, numbers), self.position)

    def seek(self, position: Position) -> None:
        """Continue behind the row of this position."""
        if position.get("table") != self.table or not isinstance(position.get("row"), int):
            raise SourceError(f"{self.name}: not a position in it: {position}")
        self.position = dict(position)
        self.ended = False

    def close(self) -> None:
        """Let go of the database."""
        self._base.close()
