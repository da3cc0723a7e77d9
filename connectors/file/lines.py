"""Bytes -> the lines of one file: records as bytes, with their numbers and where they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.csv_codec import Quotes
from stream_llsvm.connectors.file.byte_streams import TAIL, ByteStream
from stream_llsvm.connectors.flat.spans import Spans

_BLOCK = 1 << 19
_HEAD = 1000
# Stands for a line that is too long: no quoted field can go on or end in it.
_NO_END = b'"x'
_END = 10
BOM = b"\xef\xbb\xbf"


class _Long(NamedTuple):
    """What is kept of a line that is too long."""

    head: bytes
    size: int
    tail: bytes


class Taken(NamedTuple):
    """Some records: their bytes, their line numbers, and the start of each line too long."""

    raws: Spans | list[bytes]
    numbers: Sequence[int]
    too_long: list[tuple[int, int, bytes]]


class LineReader:
    """Reads records from a stream of lines, with bounded memory.

    Parameters
    ----------
    stream
        Where the bytes come from, at `offset`.
    limit
        A line longer than so many bytes is not kept.
    quotes
        Tells how many lines a record has; None if it is always one.
    offset, line, tail
        Where the stream stands: so many bytes and lines were before, and these bytes last.

    Attributes
    ----------
    offset, line, tail
        The same behind the last record taken.

    """

    def __init__(
        self,
        stream: ByteStream,
        limit: int,
        quotes: Quotes | None = None,
        offset: int = 0,
        line: int = 0,
        tail: bytes = b"",
    ) -> None:
        self.stream = stream
        self.limit = limit
        self.quotes = quotes
        self.offset = offset
        self.line = line
        self.tail = tail
        self.final = False
        self._open_end = False  # the last line came without its end
        # Whole lines that need no closer look, and where each begins and ends.
        self._block = b""
        self._starts = self._ends = np.zeros(0, dtype=np.int64)
        self._lines: list[bytes | _Long] = []  # others
        self._next = 0
        self._rest = b""
        self._long: _Long | None = None  # of the line whose end has not come yet
        self._fresh = offset == 0
        self._bom = 0

    def fill(self, timeout: float) -> bool | None:
        """Read on; False at the end of the stream, None if nothing came in time."""
        data = self.stream.read(_BLOCK, timeout)
        if not data:
            return None if data is None else False
        if self._long is not None:
            end = data.find(b"\n")
            here = data if end < 0 else data[:end]
            head, size, tail = self._long
            head += here[: max(0, _HEAD - len(head))]
            self._long = _Long(head, size + len(here), (tail + here[-TAIL:])[-TAIL:])
            if end < 0:
                return True
            self._lines.append(self._long)
            self._long = None
            data = data[end + 1 :]
        if self._next == len(self._lines) and self._whole(self._rest + data):
            return True
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if self._next:
            del self._lines[: self._next]
            self._next = 0
        if lines and max(map(len, lines)) > self.limit:
            self._lines += [self._cut(line) if len(line) > self.limit else line for line in lines]
        else:
            self._lines += lines
        if len(self._rest) > self.limit:
            self._long = self._cut(self._rest)
            self._rest = b""
        return True

    def _whole(self, data: bytes) -> bool:
        """Keep the lines as one block; False, and nothing is kept, if one needs a closer look."""
        rest = data.rfind(b"\n") + 1
        block = data[:rest]
        if self._fresh and block.startswith(BOM):
            return False
        if len(data) - rest > self.limit or (self.quotes is not None and b'"' in block):
            return False
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _END)
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1] + 1
        if len(ends) and int((ends - starts).max()) > self.limit:
            return False
        self._block, self._starts, self._ends = block, starts, ends
        self._lines, self._next, self._rest = [], 0, data[rest:]
        return True

    @staticmethod
    def _cut(line: bytes) -> _Long:
        return _Long(line[:_HEAD], len(line), line[-TAIL:])

    def finish(self) -> None:
        """Take what is left as the last line: nothing more will come."""
        self.final = True
        last = self._long or self._rest
        if last:
            self._lines.append(last)
            self._open_end = True
        self._long = None
        self._rest = b""

    @property
    def pending(self) -> bytes:
        """What has come of a record that is not complete (its start, if it is long)."""
        if len(self._starts):
            return self._block[int(self._starts[0]) :] + self._rest
        lines = [*self._lines[self._next :], self._long or self._rest]
        return b"\n".join(line.head if isinstance(line, _Long) else line for line in lines)

    def take(self, most: int) -> Taken | None:
        """Return complete records, at most so many; None if there is none yet."""
        if len(self._starts):
            return self._take_block(most)
        if self._next == len(self._lines):
            return None
        if self._fresh:
            self._strip_bom()
        lines = self._lines[self._next : self._next + most]
        plain = [line for line in lines if isinstance(line, bytes)]
        if len(plain) == len(lines) and not self._quoted(plain):
            numbers: Sequence[int] = range(self.line + 1, self.line + 1 + len(lines))
            self._consume(lines)
            return Taken(plain, numbers, [])
        return self._take_one_by_one(most)

    def _take_block(self, most: int) -> Taken:
        starts, ends = self._starts[:most], self._ends[:most]
        self._starts, self._ends = self._starts[most:], self._ends[most:]
        first, end = int(starts[0]), int(ends[-1]) + 1
        self._fresh = False
        numbers = range(self.line + 1, self.line + 1 + len(starts))
        self.line += len(starts)
        self.offset += end - first
        self.tail = (self.tail + self._block[max(first, end - TAIL) : end])[-TAIL:]
        return Taken(Spans(self._block, starts, ends), numbers, [])

    def _strip_bom(self) -> None:
        self._fresh = False
        first = self._lines[self._next]
        if isinstance(first, bytes) and first.startswith(BOM):
            self._lines[self._next] = first.removeprefix(BOM)
            self._bom = len(BOM)

    def _quoted(self, lines: list[bytes]) -> bool:
        return self.quotes is not None and any(b'"' in line for line in lines)

    def _take_one_by_one(self, most: int) -> Taken | None:
        raws: list[bytes] = []
        numbers: list[int] = []
        too_long: list[tuple[int, int, bytes]] = []
        at = self._next
        number = self.line + 1
        # A record that goes on over several lines ends before a line that is too long.
        ahead = self._lines[at : at + most + 100] if self.quotes else self._lines[at : at + most]
        known = [_NO_END if isinstance(line, _Long) else line for line in ahead]
        i = 0
        while i < len(ahead) and len(raws) + len(too_long) < most:
            line = ahead[i]
            n = 1
            if isinstance(line, _Long):
                too_long.append((number, line.size, line.head))
            else:
                if self.quotes is not None:
                    ends = self.final and at + len(ahead) == len(self._lines)
                    n = self.quotes.lines(known, i, ends, self.limit)
                    if n == 0:
                        break
                raws.append(b"\n".join(known[i : i + n]))
                numbers.append(number)
            number += n
            i += n
        if not i:
            return None
        self._consume(ahead[:i])
        return Taken(raws, numbers, too_long)

    def _consume(self, lines: Sequence[bytes | _Long]) -> None:
        self._next += len(lines)
        self.line += len(lines)
        whole = not (self._open_end and self._next == len(self._lines))
        self.offset += self._bom + len(lines) - (not whole)
        self.offset += sum(line.size if isinstance(line, _Long) else len(line) for line in lines)
        # So many lines have at least so many bytes, with their ends.
        last = [line.tail if isinstance(line, _Long) else line for line in lines[-TAIL - 1 :]]
        before = self.tail + (BOM if self._bom else b"")
        self.tail = (before + b"\n".join(last) + b"\n" * whole)[-TAIL:]
        self._bom = 0
