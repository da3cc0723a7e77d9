"""Slices of files: stretches of lines, or rows, of one file after the other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from stream_llsvm.connectors.base import Batch, Position, SourceError

if TYPE_CHECKING:
    from stream_llsvm.connectors.file.source import FileSource

_AT_ONCE = 1_000  # records
_SAMPLE = 1 << 16  # bytes of a file that tell how long its lines are
_UNZIP = {".gz": "gunzip --keep", ".zst": "unzstd"}


class FileSlices:
    """Finds borders between records, and reads what lies between two of them.

    To find the next border records are counted, and not looked at; a file is gone through once.

    Parameters
    ----------
    source
        The files.
    twin
        Makes a source of the same files that stops at a position.

    """

    def __init__(self, source: FileSource, twin: Callable[[Position], FileSource]) -> None:
        for path, kind in zip(source.paths, source.formats, strict=True):
            _check(path, kind, source)
        self._source, self._twin = source, twin
        self._counter: FileSource | None = None
        self._ends: Position = {}
        self._sizes: dict[str, float] = {}  # bytes of a line

    def ends(self) -> Position:
        """Return where the last file ends now."""
        last = len(self._source.paths) - 1
        path = self._source.paths[last]
        end = {"record": _rows(path)} if self._is_table(last) else {"offset": _bytes(path)}
        return {"file": last, "path": path, **end}

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices of so many records."""
        if size < 1 or count < 1:
            raise ValueError("size and count must be at least 1")
        counter = self._counter
        if counter is None or self._ends != ends or counter.position != begin:
            self.close()
            self._counter, self._ends = self._twin(ends), ends
            counter = self._counter
            counter.seek(begin)
        borders = [begin]
        while len(borders) <= count and counter.pass_over(size):
            borders.append(counter.position)
        return borders

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return about how many records lie between two positions."""
        found = 0.0
        for file in range(begin["file"], ends["file"] + 1):
            path, table = self._source.paths[file], self._is_table(file)
            unit = "record" if table else "offset"
            first = begin.get(unit, 0) if file == begin["file"] else 0
            if file == ends["file"]:
                last = ends.get(unit, 0)
            else:
                last = _rows(path) if table else _bytes(path)
            if not table and last > first:
                if path not in self._sizes:
                    self._sizes[path] = _line_size(path)
                found += max(1.0, (last - first) / self._sizes[path])
            else:
                found += max(0, last - first)
        return round(found)

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield the records of a slice; the last batch stands at its end."""
        if begin == end:
            return
        source = self._twin(end)
        try:
            source.seek(begin)
            last: Batch | None = None
            while not source.ended:
                batch = source.poll(_AT_ONCE, 0.0)
                if batch is not None:
                    if last is not None:
                        yield last
                    last = batch
            if last is not None:
                last.position = end
                yield last
        finally:
            source.close()

    def _is_table(self, file: int) -> bool:
        return self._source.formats[file] == "parquet"

    def close(self) -> None:
        """Let go of the file that is counted."""
        if self._counter is not None:
            self._counter.close()
            self._counter = None


def _check(path: str, kind: str, source: FileSource) -> None:
    """Raise SourceError if a file cannot be read from its middle."""
    if path == "-":
        what = "standard input is read once, by one learner: name a file, or leave out the workers"
        raise SourceError(what)
    ending = os.path.splitext(path)[1].lower()
    if kind != "parquet" and ending in _UNZIP:
        unzip = f"{_UNZIP[ending]} {shlex.quote(path)}"
        raise SourceError(
            f"{path}: a compressed file cannot be read from its middle, as several learners do: "
            f"{unzip}, and name what comes of it"
        )
    if source.encoding is not None:
        raise SourceError(
            f"{path}: only UTF-8 can be read from its middle, as several learners do: "
            f"iconv --from-code {source.encoding} --to-code utf-8 {shlex.quote(path)} > other.csv"
        )
    if source.follow:
        raise SourceError(
            f"{path}: a file that grows is followed by one learner: leave out --follow, or the "
            "workers"
        )


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}; check the path and its permissions") from None


def _rows(path: str) -> int:
    from stream_llsvm.connectors.file.parquet import ParquetReader

    reader = ParquetReader(path, {}, {})
    try:
        return reader.rows
    finally:
        reader.close()


def _line_size(path: str) -> float:
    """Return about how many bytes a line has."""
    with open(path, "rb") as file:
        head = file.read(_SAMPLE)
    return max(1.0, len(head) / max(1, head.count(b"\n")))
