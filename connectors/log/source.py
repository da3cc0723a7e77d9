"""The records of a log, in the order in which they were acknowledged."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Position, SourceError
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.log.segments import (
    HEAD,
    MAGIC,
    RECORD,
    DamagedError,
    Entry,
    Segment,
    entries,
    segment_path,
    segments,
    unpacked,
    whole_after,
)
from stream_llsvm.connectors.log.writer import LogError, writer_of

_AT_ONCE = 2**20  # bytes
_PAUSE = 0.05  # seconds between two looks for more that another process writes
_NOT_THE_END = "It is not the end of the log: restore the file, or begin anew with another folder"


class LogSource:
    """Records from a log, and the labels that came between them, in one order.

    Where this process also writes the log, it follows until that is closed. A batch ends where
    labels have come: they are learned before the records behind them, however often they are read.

    Parameters
    ----------
    folder
        The log.
    follow
        Whether to wait for what another process appends; otherwise it ends with the last entry.
    fields
        As for every `Codec`: ``label``, ``key``, ``ignore``, ``features``, ...

    Examples
    --------
    >>> import tempfile
    >>> from stream_llsvm.connectors.log.writer import LogWriter
    >>> folder = tempfile.mkdtemp()
    >>> log = LogWriter(folder)
    >>> _ = log.append([(0, b'{"x": 1, "id": "a"}'), (1, b'{"id": "a", "y": "up"}')])
    >>> log.close()
    >>> batch = LogSource(folder, label="y", key="id").poll(1000, 0.0)
    >>> batch.keys, batch.labels, batch.late.keys, batch.late.labels, batch.position
    (['a'], [None], ['a'], ['up'], {'log': 2})

    """

    def __init__(
        self, folder: str | os.PathLike[str], *, follow: bool = False, **fields: Any
    ) -> None:
        self.folder = Path(folder)
        self.name = f"{self.folder}"
        self._fields, self._codec = fields, JsonCodec(**fields)
        self._codecs = [self._codec]
        named = {name: fields[name] for name in ("label", "key") if name in fields}
        self._labels = JsonCodec(features=(), **named)
        self._follow = follow
        self._writer = writer_of(self.folder)
        self._grown = threading.Event()
        if self._writer is not None:
            self._writer.readers.append(self._grown)
        elif not self.folder.is_dir():
            raise SourceError(f"{self.folder}: there is no such log")
        self._file, self._offset = -1, 0  # where the block was read
        self._block, self._at = b"", 0  # what was read, and how much of it was handed out
        self._sure = 0  # entries before this one are whole in the block, as far as it holds them
        self.ended = False
        found = segments(self.folder)
        self._number = found[0].first if found else 0

    @property
    def position(self) -> Position:
        """The number of the next entry."""
        return {"log": self._number}

    def keep_text(self) -> None:
        """Leave values as they are from now on: see `Verbatim`."""
        for one in self._codecs:
            one.keep_text()

    def codec(self) -> JsonCodec:
        """Return another one that reads records as this does, for another thread."""
        made = JsonCodec(**self._fields)
        if not self._codec.numeric:
            made.keep_text()
        self._codecs.append(made)
        return made

    def sync(self) -> None:
        """Let all that was handed out survive the machine. Raises SourceError."""
        if self._writer is not None:
            try:
                self._writer.sync()
            except LogError as error:
                raise SourceError(str(error)) from None

    def display(self, position: Position) -> None:
        """Let the log forget what no checkpoint needs any more."""
        if self._writer is not None:
            self._writer.kept(position["log"])

    def lag(self) -> dict[str, dict[str, int]]:
        """Return how many entries were appended and not handed out."""
        return {} if self._writer is None else {
            self.name: {"0": max(0, self._writer.end - self._number)}
        }  # fmt: skip

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None if none came within so many seconds."""
        deadline = time.monotonic() + timeout
        while True:
            self._grown.clear()
            closed = self._writer is not None and self._writer.closed
            taken = self._take(max_records)
            if taken:
                return self._batch(taken)
            if closed or (self._writer is None and not self._follow):
                self.ended = True
                return None
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if self._writer is not None:
                self._grown.wait(left)
            else:
                time.sleep(min(_PAUSE, left))

    def _take(self, most: int) -> list[Entry]:
        """Return the next entries: at most so many records, and as many labels behind them."""
        taken: list[Entry] = []
        records = 0
        while True:
            try:
                for at, entry in unpacked(self._block, self._number, self._at):
                    if entry.number >= self._sure:
                        break
                    labels = len(taken) - records
                    full = records if entry.kind == RECORD else labels
                    if full == most or (entry.kind == RECORD and labels):
                        return taken
                    taken.append(entry)
                    records += entry.kind == RECORD
                    self._at, self._number = at, entry.number + 1
            except DamagedError as error:
                if self._is_behind_the_end():
                    return taken
                raise SourceError(f"{self.folder}: {error}. {_NOT_THE_END}") from None
            if not self._more():
                return taken

    def _is_behind_the_end(self) -> bool:
        """Whether the bytes at hand were written by nobody who finished."""
        if self._writer is not None:
            return self._number >= self._sure
        if segments(self.folder)[-1].first > self._number:
            return False
        begin = self._offset + self._at
        rest = os.pread(self._file, os.fstat(self._file).st_size - begin, begin)
        return whole_after(rest, self._number) is None

    def _more(self) -> bool:
        """Read on from the next entry; returns whether there is something new.

        What lies behind the entries that are surely whole is read again: it may be removed when a
        disk is full, and other bytes written in its place.
        """
        sure = sys.maxsize if self._writer is None else self._writer.end
        if self._number >= sure or (self._file < 0 and not self._open()):
            return False
        left = len(self._block) - self._at
        size = max(_AT_ONCE, 2 * left)
        new = sure > self._sure
        self._offset += self._at
        self._block, self._at = os.pread(self._file, size, self._offset), 0
        self._sure = sure
        if self._block and (new or len(self._block) > left):
            return True
        if self._block or not segment_path(self.folder, self._number).exists():
            return self._goes_on(size)
        if self._offset == len(MAGIC):  # nothing was read of it: it is the same file
            return False
        self._let_go()
        return self._open() and self._more()

    def _goes_on(self, size: int) -> bool:
        """Whether more came to the file meanwhile; SourceError if others follow what is missing."""
        if not any(one.first > self._number for one in segments(self.folder)):
            if not self._block or self._is_behind_the_end():
                return False
        else:
            before, self._block = self._block, os.pread(self._file, size, self._offset)
            if len(self._block) > len(before):
                return True
        raise SourceError(
            f"{self.folder}: entry {self._number:,} is cut off or missing. {_NOT_THE_END}"
        )

    def _open(self) -> bool:
        """Open the segment with the next entry, and pass over those before it."""
        found = [one for one in segments(self.folder) if one.first <= self._number]
        if not found:
            return False
        try:
            self._file = os.open(found[-1].path, os.O_RDONLY)
        except OSError as error:
            raise SourceError(f"{found[-1].path}: {error.strerror}") from None
        self._close_file = weakref.finalize(self, os.close, self._file)
        begins = os.pread(self._file, len(MAGIC), 0)
        if begins != MAGIC:
            self._let_go()
            if MAGIC.startswith(begins):
                return False
            raise SourceError(f"{found[-1].path} does not begin as a log does")
        self._offset, self._block, self._at, self._sure = len(MAGIC), b"", 0, 0
        self._skip(found[-1])
        return True

    def _skip(self, segment: Segment) -> None:
        """Pass over the entries before the next one; they may be damaged."""
        number, begin = segment.first, len(MAGIC)
        for end, entry in entries(segment) if number < self._number else ():
            number, begin = entry.number, end - HEAD - len(entry.body)
            if number < self._number:
                number, begin = number + 1, end
            if number >= self._number:
                break
        if number == self._number:
            self._offset = begin
        else:
            raise SourceError(
                f"{self.folder} ends before entry {number:,}, and the run stands before entry "
                f"{self._number:,}: restore the log, or begin anew with another folder"
                if number < self._number
                else f"{self.folder}: entry {self._number:,} is damaged. {_NOT_THE_END}"
            )

    def _batch(self, taken: list[Entry]) -> Batch:
        records = [one for one in taken if one.kind == RECORD]
        batch = self._decoded(self._codec, records)
        labels = taken[len(records) :]
        if labels:
            batch.late = self._decoded(self._labels, labels)
        return batch

    def _decoded(self, codec: JsonCodec, taken: list[Entry]) -> Batch:
        numbers = [one.number for one in taken]
        places = Places(self.name, None, numbers)
        raws = [one.body for one in taken]
        batch = codec.decode(raws, places, self.position, blanks=False)
        times = np.array([one.time for one in taken], dtype=np.float64)
        if len(batch) < len(taken):
            kept = np.array([place.number for place in batch.places], dtype=np.int64)
            times = times[np.searchsorted(np.array(numbers), kept)]
        batch.times = times
        return batch

    def seek(self, position: Position) -> None:
        """Continue behind this position. Raises SourceError if the log does not hold it."""
        number = position.get("log")
        if set(position) != {"log"} or type(number) is not int or number < 0:
            raise SourceError(f"{self.name}: not a position in a log: {position}")
        if self._writer is not None and self._writer.end > 0:
            try:
                self._writer.begin(number)
            except OSError as error:
                raise SourceError(f"{self.name}: a new file cannot be made: {error}") from None
            if self._writer.failed:
                raise SourceError(self._writer.failed)
        found = segments(self.folder)
        if found and number < found[0].first:
            raise SourceError(
                f"{self.name} begins with entry {found[0].first:,}: entry {number:,} was removed "
                "as the log's size and age ask for"
            )
        self._let_go()
        self._block, self._at, self._number = b"", 0, number
        self.ended = False
        if not self._open() and number > 0:
            raise SourceError(f"{self.name} is empty, and the run stands before entry {number:,}")

    def close(self) -> None:
        """Let go of the files."""
        if self._writer is not None and self._grown in self._writer.readers:
            self._writer.readers.remove(self._grown)
        self._let_go()

    def _let_go(self) -> None:
        if self._file >= 0:
            self._close_file()
            self._file = -1
