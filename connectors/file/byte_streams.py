"""The bytes of a file, of a compressed file, or of standard input, in order."""

from __future__ import annotations

import os
import select
import stat
import sys
import weakref
import zlib
from pathlib import Path
from typing import Any, Protocol

from stream_llsvm.connectors.base import SourceError
from stream_llsvm.extras import install_command

#: How many bytes before a position tell whether a file is still the one that it was.
TAIL = 64
_BLOCK = 1 << 18
# zstd may blow 512 bytes up to 16 MB at the very worst; real files to a few thousand.
_INPUT = 512


class ByteStream(Protocol):
    """Bytes in order."""

    def read(self, size: int, timeout: float) -> bytes | None:
        """Return some bytes, b"" at the end, None if none came within so many seconds."""

    def skip(self, offset: int) -> bytes:
        """Go from the start to this offset; return the (at most `TAIL`) bytes before it."""

    def close(self) -> None:
        """Let go of the file."""


def opened(path: str) -> int:
    """Open a file and return its descriptor. Raises SourceError."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}; check the path and its permissions") from None
    if stat.S_ISDIR(os.fstat(file).st_mode):
        os.close(file)
        raise SourceError(f"{path}: it is a directory; name the files in it")
    return file


class PlainStream:
    """A file as it is.

    Attributes
    ----------
    offset
        How much was read.
    limit
        Where to stop, if not at its end.

    """

    limit: int | None = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = opened(path)
        self._close = weakref.finalize(self, os.close, self.file)  # whoever forgets to, too
        self.offset = 0
        self._tail = b""

    def read(self, size: int, timeout: float) -> bytes:
        """Return some bytes, b"" at the end."""
        if self.limit is not None:
            size = min(size, max(0, self.limit - self.offset))
        try:
            data = os.read(self.file, size)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror} at byte {self.offset}") from None
        self.offset += len(data)
        self._tail = (self._tail + data[-TAIL:])[-TAIL:]
        return data

    def skip(self, offset: int) -> bytes:
        """Go to this offset; return the bytes before it."""
        if offset > os.fstat(self.file).st_size:
            raise too_short(self.path, offset)
        try:
            before = os.lseek(self.file, max(0, offset - TAIL), os.SEEK_SET)
        except OSError as error:
            raise SourceError(
                f"{self.path}: {error.strerror}; it cannot be read again from a position"
            ) from None
        self.offset = before
        self._tail = b""
        while self.offset < offset and self.read(offset - self.offset, 0):
            pass
        return self._tail

    def truncated(self) -> bool:
        """Tell whether what was read last is no longer there: somebody emptied the file."""
        if os.fstat(self.file).st_size < self.offset:
            return True
        os.lseek(self.file, self.offset - len(self._tail), os.SEEK_SET)
        return os.read(self.file, len(self._tail)) != self._tail

    def close(self) -> None:
        """Let go of the file."""
        self._close()


class StandardInput:
    """What comes in at standard input; it cannot be read twice."""

    def __init__(self) -> None:
        self.file = sys.stdin.fileno()

    def read(self, size: int, timeout: float) -> bytes | None:
        """Return what has come, b"" at the end, None if nothing came in time."""
        if os.name != "nt" and not select.select([self.file], [], [], timeout)[0]:
            return None
        return os.read(self.file, size)

    def skip(self, offset: int) -> bytes:
        """Refuse, unless it is the start."""
        if offset:
            raise SourceError(
                "standard input cannot be read again from a checkpoint's position; "
                "name the file, or start without the position"
            )
        return b""

    def close(self) -> None:
        """Leave standard input open; it is not ours."""


class CompressedStream:
    """What a gzip or zstd file holds; several compressed parts one after the other are one."""

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self._zip = kind == "gz"
        self._make = self._unzip if self._zip else _zstd(path)
        self._file = PlainStream(path)
        self._part: Any = None
        self._waiting = b""
        self._held = b""  # decompressed already

    @staticmethod
    def _unzip() -> Any:
        return zlib.decompressobj(wbits=31)

    def read(self, size: int, timeout: float) -> bytes:
        """Return some bytes (a few more than asked for), b"" at the end."""
        pieces = [self._held] if self._held else []
        got = len(self._held)
        self._held = b""
        while got < size:
            if not self._waiting:
                self._waiting = self._file.read(_BLOCK, 0)
                if not self._waiting:
                    break
            if self._part is None:
                if self._zip:
                    self._waiting = self._waiting.lstrip(b"\0")  # which may fill a file up
                    if not self._waiting:
                        continue
                self._part = self._make()
            head, self._waiting = self._waiting[:_INPUT], self._waiting[_INPUT:]
            try:
                data = self._part.decompress(head)
            except Exception as error:  # zlib and zstandard have errors of their own
                raise self._damaged(str(error)) from None
            if self._part.eof:
                self._waiting = self._part.unused_data + self._waiting
                self._part = None
            pieces.append(data)
            got += len(data)
        if not got and self._part is not None:
            raise self._damaged("it ends too early")
        return b"".join(pieces)

    def _damaged(self, said: str) -> SourceError:
        return SourceError(
            f"{self.path}: the compressed file is damaged ({' '.join(said.split())}); "
            "compress or copy it again"
        )

    def skip(self, offset: int) -> bytes:
        """Read up to this offset; return the bytes before it."""
        tail = b""
        while offset:
            data = self.read(1, 0)
            if not data:
                raise too_short(self.path, offset)
            here, rest = data[:offset], data[offset:]
            tail = (tail + here)[-TAIL:]
            offset -= len(here)
            if rest:
                self._held = rest
        return tail

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def too_short(path: str, offset: int) -> SourceError:
    """Make the error for a file that ends before a position in it."""
    return SourceError(
        f"{path}: it is shorter than it was (the position is byte {offset:,}); "
        "restore the file, or start without the position"
    )


def _zstd(path: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise SourceError(
            f"{path}: zstd files need the package zstandard: {install_command('zstd')}"
        ) from None
    return lambda: zstandard.ZstdDecompressor().decompressobj()


def open_stream(path: str) -> ByteStream:
    """Open a file by its name: ``-`` is standard input, ``.gz`` and ``.zst`` are compressed."""
    if path == "-":
        return StandardInput()
    kind = Path(path).suffix.lower().removeprefix(".")
    return CompressedStream(path, kind) if kind in ("gz", "zst") else PlainStream(path)
