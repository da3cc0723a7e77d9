"""Write a log: entries are appended whole or not at all, and synced in groups."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from stream_llsvm.connectors.log.segments import (
    MAGIC,
    Segment,
    entries,
    packed,
    segment_path,
    segments,
)
from stream_llsvm.connectors.ownership import lock_file

SEGMENT_BYTES = 64 * 2**20
KEEP_BYTES = 4 * 2**30
_sync = getattr(os, "fdatasync", os.fsync)
_WRITERS: WeakValueDictionary[str, LogWriter] = WeakValueDictionary()


class LogError(Exception):
    """The log cannot be used; the text says why, and what to do."""


class LogWriter:
    """Appends to a log, which it owns as long as it is open.

    What a crash cut off at the end, behind the last whole entry, is cut away when the log is
    opened, and kept in a file beside it. If whole entries follow what is damaged, no byte is
    touched, and nothing can be appended unless `begin` says that it is not needed. `append` is
    called by one thread; `sync` by any.

    Parameters
    ----------
    folder
        Where; it is made if it is not there.
    segment_bytes
        How long a file grows.
    keep_bytes, keep_seconds
        How much is kept of what no checkpoint needs any more, and how long; the latter None for
        as long as there is room.
    checkpoints
        How many of the last checkpoints a run may go back to.

    Attributes
    ----------
    end
        The number of the next entry; all before it can be read.
    synced
        All before this one survive the machine.
    torn
        How many bytes were cut away when it was opened.
    failed
        Why nothing can be appended any more, nothing if it can.
    passed_over
        Which entries the reader did not need that are damaged or missing; nothing if all are there.

    Examples
    --------
    >>> import tempfile
    >>> log = LogWriter(tempfile.mkdtemp())
    >>> log.append([(0, b'{"x": 1}'), (0, b'{"x": 2}')])
    0
    >>> log.sync()
    2
    >>> log.close()

    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        keep_bytes: int = KEEP_BYTES,
        keep_seconds: float | None = None,
        checkpoints: int = 8,
    ) -> None:
        self.folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._keep_bytes, self._keep_seconds = keep_bytes, keep_seconds
        self.torn, self.torn_why, self.failed, self.closed = 0, "", "", False
        self.passed_over = ""
        self._whole_from = 0  # what is before this entry may be damaged
        self._made = self._made_synced = 0  # files, and how many of them survive the machine
        self.readers: list[threading.Event] = []
        self._guard = threading.Lock()  # of what is open, and how far it was written
        self._syncing = threading.Lock()
        self._unsynced: list[int] = []  # files that are full
        self._needed: deque[int] = deque(maxlen=checkpoints)
        self.first = 0
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock, holder = lock_file(self.folder / "lock")
            if self._lock < 0:
                raise LogError(f"{self.folder} is in use by {holder}: stop that one first")
            try:
                self._open()
            except BaseException:
                os.close(self._lock)
                raise
        except OSError as error:
            raise LogError(f"cannot use {self.folder} for a log: {error}") from None
        self.synced = self.end
        _WRITERS[os.path.realpath(self.folder)] = self

    def _open(self) -> None:
        """Find the end, and cut away what a crash left behind it."""
        found = segments(self.folder)
        self.first = self.end = 0 if not found else found[0].first
        if not found:
            self._file, self._size = self._created(0), len(MAGIC)
            return
        last = found.pop()
        self._size, size = self._walk(last), last.path.stat().st_size
        if size <= len(MAGIC) and found:
            self._walk(found[-1])
            if self.end < last.first:  # the machine died before what is between them was synced
                last.path.unlink()
                self._open()
                return
            self.end = last.first
        self.torn = 0 if self._whole_from else max(0, size - self._size)
        if self.torn:
            self.torn_why = f"entry {self.end:,} is damaged or cut off"
            with last.path.open("rb") as file:
                file.seek(self._size)
                _write_whole(last.path.with_suffix(f".{self.end}.torn"), file.read())
        if self._size == len(MAGIC):
            self._file = self._created(last.first)
            return
        self._file = os.open(last.path, os.O_WRONLY)
        if self.torn:
            os.ftruncate(self._file, self._size)
            os.fsync(self._file)

    def _walk(self, last: Segment) -> int:
        """Find the last whole entry, and what is damaged before it; return where it ends."""
        size, self.end = len(MAGIC), last.first
        for offset, entry in entries(last):
            if entry.number > self.end:
                self._whole_from = entry.number
                self.failed = (
                    f"{last.path}: entry {self.end:,}, at byte {size:,}, is damaged, and whole "
                    f"ones follow it, from {entry.number:,} on. Restore the file from a copy; or "
                    f"give all of them up: truncate -s {size} {last.path}"
                )
            size, self.end = offset, entry.number + 1
        return size

    def begin(self, number: int) -> None:
        """Be told that the entries before this one are not needed any more.

        If some of them are damaged, or the log ends before it, a new file begins.
        """
        if number < self._whole_from or (number <= self.end and not self._whole_from):
            return
        end = max(self.end, number)
        begun = self._created(end)
        if self._whole_from:
            self.passed_over, self.failed = f"entry {self._whole_from - 1:,} is damaged", ""
        else:
            self.passed_over = f"entries {self.end:,} to {number - 1:,} are missing"
        os.close(self._file)
        self._file, self._size, self._whole_from = begun, len(MAGIC), 0
        self.end = self.synced = end

    def _created(self, first: int) -> int:
        """Begin a segment; return its file, opened."""
        path = segment_path(self.folder, first)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._made += 1
        try:
            _write(file, MAGIC)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        return file

    def append(self, bodies: Sequence[tuple[int, bytes]]) -> int:
        """Write entries, each a kind and its bytes; return the number of the first.

        They can be read on return, and survive this process; the machine, after `sync`.

        Raises OSError if they could not be written: then none is. Raises LogError if the log can
        take nothing any more.
        """
        if self.failed or self.closed:
            raise LogError(self.failed or f"{self.folder} is closed")
        first, now = self.end, time.time()
        if self._size >= self._segment_bytes:
            full, begun = self._file, self._created(first)
            with self._guard:
                self._unsynced.append(full)
                self._file, self._size = begun, len(MAGIC)
        block = b"".join(
            packed(number, kind, now, body) for number, (kind, body) in enumerate(bodies, first)
        )
        try:
            _write(self._file, block, self._size)
        except OSError:
            try:
                os.ftruncate(self._file, self._size)
            except OSError as error:
                self.failed = f"{self.folder}: what was half written cannot be removed: {error}"
            raise
        self._size += len(block)
        with self._guard:
            self.end = first + len(bodies)
        for reader in self.readers:
            reader.set()
        return first

    def sync(self) -> int:
        """Bring all that was appended to the disk; return the number behind it.

        Raises LogError if that fails. Nobody knows then what is on the disk: the log takes nothing
        any more until it is opened again.
        """
        with self._syncing:
            with self._guard:
                end, full, file = self.end, list(self._unsynced), self._file
                made = self._made
            if end == self.synced or self.closed:
                return self.synced
            if self.failed:
                raise LogError(self.failed)
            try:
                for one in (*full, file):
                    _sync(one)
                if made != self._made_synced:
                    _sync_folder(self.folder)
                    self._made_synced = made
            except OSError as error:
                self.failed = (
                    f"{self.folder} could not be synced: {error}. Look at the disk, and start again"
                )
                raise LogError(self.failed) from None
            with self._guard:
                del self._unsynced[: len(full)]
            for one in full:
                os.close(one)
            self.synced = end
            return end

    def kept(self, position: int) -> None:
        """Be told that a checkpoint stands here; remove old segments that no checkpoint needs."""
        self._needed.append(position)
        if len(self._needed) == self._needed.maxlen:
            self._remove(self._needed[0])

    def _remove(self, needed: int) -> None:
        found = segments(self.folder)
        sizes = [segment.path.stat().st_size for segment in found]
        total, now = sum(sizes), time.time()
        for segment, size, following in zip(found, sizes, found[1:], strict=False):
            if following.first > needed:
                break
            too_old = self._keep_seconds is not None and (
                now - segment.path.stat().st_mtime > self._keep_seconds
            )
            if total <= self._keep_bytes and not too_old:
                break
            segment.path.unlink(missing_ok=True)
            total -= size
            self.first = following.first

    def close(self) -> None:
        """Sync, and let go of the folder. Raises LogError if the sync fails."""
        if self.closed:
            return
        try:
            self.sync()
        finally:
            self.closed = True
            for reader in self.readers:
                reader.set()
            with self._syncing:
                for file in (*self._unsynced, self._file, self._lock):
                    os.close(file)


def writer_of(folder: Path) -> LogWriter | None:
    """Return who writes a log in this process, None if nobody does."""
    found = _WRITERS.get(os.path.realpath(folder))
    return None if found is None or found.closed else found


def _write(file: int, block: bytes, at: int = 0) -> None:
    """Write all of it at a place. Raises OSError."""
    view = memoryview(block)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that survives the machine."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Let names in a folder survive the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
