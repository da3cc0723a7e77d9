"""Lines in files that are renamed when they are full, and can be cut back to a checkpoint.

A file that has grown to `max_bytes` is renamed to ``name.`` and the byte, counted from the very
first file on, at which it starts; so the directory alone tells how much was ever written, and what
was written behind a checkpoint can be cut off again. An empty file of such a name says that the
file before it was moved away, and that another was begun there.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stream_llsvm.connectors.base import SinkError
from stream_llsvm.connectors.ownership import InUseError, Ownership, locked

log = logging.getLogger("stream_llsvm.files")

_BLOCK = 1 << 16


class LineWriter:
    """Lines in files that are renamed when they are full.

    A last line that a crash cut short is removed when the file is opened again. Other processes
    cannot write to the file meanwhile.

    Parameters
    ----------
    path
        The file that is written to.
    max_bytes
        When it is renamed.
    keep
        How many renamed files are kept, at least one.
    on_lost
        If the file is not there any more to which a checkpoint wants it cut back: ``stop``, or go
        on with a ``new`` one.
    header
        The first line of each file, without its end; none if empty.

    Attributes
    ----------
    written
        How many bytes were ever written, those of files deleted since included.
    ownership
        Of the file; busy while a run writes to it.

    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 100_000_000,
        keep: int = 5,
        on_lost: str = "stop",
        header: bytes = b"",
    ) -> None:
        if max_bytes < 1 or keep < 1:
            raise ValueError("max_bytes and keep must be at least 1")
        if on_lost not in ("stop", "new"):
            raise ValueError(f'on_lost is "stop" or "new"; got {on_lost!r}')
        self.path = Path(path)
        if self.path.exists() and not (self.path.is_file() or self.path.is_dir()):
            raise ValueError(
                f"{self.path}: a device or a pipe cannot be cut back; name a file, or - for "
                "standard output"
            )
        self.max_bytes = max_bytes
        self.keep = keep
        self._on_lost, self._header = on_lost, header + b"\n" if header else b""
        self._broken = False  # whether something could not be written
        self.ownership = Ownership(self.path, self.close)
        self.ownership.take()
        self._open()

    def _renamed(self) -> list[tuple[int, Path]]:
        """Return the renamed files, each with the byte at which it starts, in order."""
        pattern = re.compile(re.escape(self.path.name) + r"\.(\d{18})")
        found = []
        for path in self.path.parent.iterdir():
            if match := pattern.fullmatch(path.name):
                found.append((int(match[1]), path))
        return sorted(found)

    def _open(self) -> None:
        renamed = self._renamed()
        self._start = renamed[-1][0] + renamed[-1][1].stat().st_size if renamed else 0
        self._append()
        whole = _whole_lines(self.path)
        if whole < self._file.tell():
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        self.written = self._start + whole
        self._begin()

    def _append(self) -> None:
        """Open the file, for this process alone."""
        self._file = self.path.open("ab")
        if not locked(self._file.fileno()):
            self._file.close()
            raise InUseError(
                f"{self.path}: another run writes to it: stop that one, or name another file"
            )

    def _begin(self) -> None:
        """Write the header, if it is not there yet."""
        if self._header and self.written == self._start:
            self._file.write(self._header)
            self.written += len(self._header)

    def write_lines(self, lines: Sequence[bytes]) -> None:
        """Take lines, without their ends; raises SinkError if they cannot be written."""
        if self._file.closed:
            raise SinkError(f"{self.path} was closed, or another run of this process took it over")
        with self._named():
            for line in lines:
                here = self.written - self._start
                if here > len(self._header) and here + len(line) + 1 > self.max_bytes:
                    self._rotate()
                self._file.write(line + b"\n")
                self.written += len(line) + 1

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what goes wrong with the file as a SinkError that names it."""
        try:
            yield
        except OSError as error:
            self._broken = True
            raise SinkError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _rotate(self) -> None:
        self.flush()
        if not os.path.samestat(os.fstat(self._file.fileno()), self.path.stat()):
            raise SinkError(f"{self.path}: another run has taken the file over, or it was moved")
        self._file.close()
        self.path.rename(self._name(self._start))
        for _, path in self._renamed()[: -self.keep]:
            path.unlink()
        self._start = self.written
        self._append()
        self._begin()
        self._sync_directory()

    def _name(self, start: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{start:018d}")

    def _sync_directory(self) -> None:
        if os.name == "nt":
            return
        directory = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def truncate(self, written: int) -> None:
        """Cut off what was written behind so many bytes, as `written` said once.

        Raises ValueError if less was written, or if the file was deleted or moved away since,
        unless a new one may be begun then.
        """
        self.flush()
        begun_only = self.written - self._start <= len(self._header)
        if written > self.written and begun_only and self._on_lost == "new":
            self._begin_anew(written)
            return
        if not 0 <= written <= self.written:
            new = ', or let a new one be begun (on_lost = "new", --on-lost-output new)'
            raise ValueError(
                f"{self.path}: it has {self.written:,} bytes and cannot be cut to {written:,}: "
                f"restore the file{new if begun_only else ''}"
            )
        renamed = self._renamed()
        if written < self._start and not any(
            start <= written <= start + path.stat().st_size for start, path in renamed
        ):
            raise ValueError(
                f"{self.path}: byte {written:,} was in a file deleted since; keep more files"
            )
        self._file.close()
        while written < self._start:
            self._start, path = renamed.pop()
            path.replace(self.path)
        self._append()
        self._file.truncate(written - self._start)
        self.written = written
        self._begin()
        self.flush()
        self._sync_directory()

    def _begin_anew(self, written: int) -> None:
        """Go on with an empty file, as if so much had been written to those moved away."""
        self._name(written).touch()  # so that the next to open it knows, too
        self._file.truncate(0)
        self._start = self.written = written
        self._begin()
        self.flush()
        self._sync_directory()
        log.warning(
            "%s is not there any more and was begun anew: what was written behind the last "
            "checkpoint is in the old file and in the new one", self.path,
        )  # fmt: skip

    def flush(self) -> None:
        """Return when all that was taken is on disk."""
        if not self._file.closed:
            with self._named():
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush, and let go of the file; what could not be written was told of already."""
        if not self._broken:
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()
        self.ownership.leave()


def shut_out(path: Path, check: Callable[[], object]) -> None:
    """Put a copy in a file's place: who has the old one open writes to what nobody reads.

    ``check`` raises if the place is not this process's any more. One that is held up behind it
    finds its copy gone, since the next one removes it.
    """
    target = Path(os.path.realpath(path))
    for rest in target.parent.glob(f".{glob.escape(target.name)}.*.copy"):
        rest.unlink(missing_ok=True)
    if not target.is_file():
        return
    copy = target.with_name(f".{target.name}.{secrets.token_hex(8)}.copy")
    try:
        shutil.copy(target, copy)
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        check()
        copy.replace(target)
    finally:
        copy.unlink(missing_ok=True)


def _whole_lines(path: Path) -> int:
    """Return where a file's last complete line ends."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


class LineRecords:
    """A `RecordWriter` to a file: a line each, without the keys.

    Parameters
    ----------
    path
        The file that is written to.

    """

    def __init__(self, path: str) -> None:
        self._file = LineWriter(path, max_bytes=10**15)

    def send(self, key: Any, value: bytes) -> None:
        """Write a line."""
        self._file.write_lines([value])

    def push(self) -> None:
        """Let others see what was written."""
        self._file._file.flush()

    def close(self) -> None:
        """Finish."""
        self._file.close()
