"""A folder of checkpoints: each whole or not at all, the last few kept, one owner at a time."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from stream_llsvm.connectors.ownership import InUseError, Ownership, lock_file
from stream_llsvm.engine.key_parts import Part, remove_unneeded, with_parts
from stream_llsvm.engine.key_shards import with_shards
from stream_llsvm.engine.lease import Lease, TermOverError, newest_term
from stream_llsvm.model.file import ModelFileError, read, replace, write

_NAME = re.compile(r"checkpoint-(\d{10})\.llsvm")
_NAMED = "name-"  # files that say of which number is the checkpoint of a name
MOST_NAMED = 100  # they are never removed, and whoever may ask for them could fill the disk


def number_in(path: Path) -> int | None:
    """Return which checkpoint a file is, None if it is none by its name."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def names_in(folder: Path) -> dict[str, int]:
    """Return the names of a folder's checkpoints, and the number of each."""
    found = {}
    for path in sorted(folder.glob(f"{_NAMED}*")):
        with contextlib.suppress(OSError, ValueError):
            found[path.name.removeprefix(_NAMED)] = int(path.read_text(encoding="ascii"))
    return found


def read_checkpoint(path: Path, *, shards: bool = True) -> dict[str, Any]:
    """Return what a file holds, with the rows of keys that lie in files beside it.

    Without ``shards`` those that several learners have written are left where they are.

    Raises
    ------
    ModelFileError, OSError
        If it, or one of these, cannot be read.

    """
    payload = with_parts(read(path), path.parent)
    return with_shards(payload, path.parent) if shards else payload


class CheckpointError(Exception):
    """The folder cannot be used; the text says why, and what to do."""


class Found(NamedTuple):
    """A checkpoint that was read, its number, and what had to be passed over to find it.

    ``contents`` is what was made of the file's payload.
    """

    number: int
    contents: Any
    skipped: list[str]


class Made(NamedTuple):
    """A checkpoint that was made: its number, when, and how many records came before it."""

    number: int
    time: float
    record: int


class Lost(NamedTuple):
    """What a run has learned and could not keep: so many records, and why."""

    records: int
    why: str


class Checkpoints:
    """Checkpoints in a folder, written by a thread of their own.

    Parameters
    ----------
    folder
        Where; it is made if it is not there. Locked until `close`, or until the run that writes to
        it has ended; an idle one lets go if this process makes another for the same folder.
    keep
        How many are kept, at least two: the last may not hold yet when it is written. What is
        older goes when one is committed.
    on_error
        Called, maybe from the writing thread, when a checkpoint could not be written. The older
        ones are as good as before, and the next one is tried as usual.
    lease
        A term of the folder that has begun, if standbys wait for it. Without one the folder is
        locked against other processes of this machine.

    Attributes
    ----------
    failures
        How many could not be written.
    failed
        Errors of the last failed writes; the caller pops them when it has reported them.
    newest
        The newest one that the run went on from, or has written whole; None if there is none.

    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        keep: int = 3,
        on_error: Callable[[OSError], None] | None = None,
        lease: Lease | None = None,
    ) -> None:
        self.folder, self.keep = Path(folder), max(2, keep)
        self._lease = lease
        self._on_error = on_error
        self.ownership = Ownership(self.folder, self.release)
        self._lock, self._left = -1, list[int]()  # which there were when the lock was left
        self._pending: Future[OSError | TermOverError | None] | None = None
        self._removing: Future[None] | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # records are in it
            self._acquire()
        except OSError as error:
            raise CheckpointError(f"cannot use {self.folder} for checkpoints: {error}") from None
        for rest in self.folder.glob(".model-*.tmp"):  # of a process that was killed on the way
            rest.unlink(missing_ok=True)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self.number = max(self._numbers(), default=0)
        self.failures = 0
        self.failed: deque[OSError] = deque(maxlen=100)
        self.failing = False  # whether the last one could not be written
        self.newest: Made | None = None
        self._committed = 0
        self._key_files: dict[int, tuple[str, ...]] = {}  # which those of this process need

    def _numbers(self) -> list[int]:
        matches = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    def path(self, number: int) -> Path:
        """Return where a checkpoint lies."""
        return self.folder / f"checkpoint-{number:010}.llsvm"

    def commit(self, number: int) -> None:
        """Go by this one, which is on disk, until another is committed; remove what is too old.

        It stays, however many are written after it: a run with a transactional sink that dies
        between a checkpoint and its commit goes back to the last one that was committed; dying so
        again and again, it must still find it.
        """
        self._committed = number
        self._removing = self._writer.submit(self._remove_old)

    def names(self) -> dict[str, int]:
        """Return the names that checkpoints were given, and the number of each."""
        return names_in(self.folder)

    def name(self, number: int, name: str) -> None:
        """Give a checkpoint a name, and keep it for good; CheckpointError if that is taken."""
        names = self.names()
        taken = names.get(name)
        if taken == number:
            return
        if taken is not None:
            raise CheckpointError(
                f"{self.folder} has a checkpoint called {name} already, number {taken}"
            )
        if len(names) >= MOST_NAMED:
            raise CheckpointError(
                f"{self.folder} has {MOST_NAMED} named checkpoints, which are kept for good: "
                f"remove a file {_NAMED}NAME there, and its checkpoint goes as others do"
            )
        if not self.path(number).exists():
            raise CheckpointError(f"there is no checkpoint {number} in {self.folder}")
        replace(self.folder / f"{_NAMED}{name}", b"%d" % number)

    def number_of(self, which: str) -> int:
        """Return the number of a checkpoint by its number, name or file; CheckpointError if none.

        Parameters
        ----------
        which
            ``12``, ``before-black-friday`` or ``checkpoint-0000000012.llsvm``.

        """
        names, numbers = self.names(), self._numbers()
        match = _NAME.fullmatch(os.path.basename(which))
        number = names.get(which, int(match[1] if match else which if which.isdecimal() else -1))
        if number in numbers:
            return number
        there = ", ".join(map(str, numbers)) or "none"
        named = "".join(f", {name} ({n})" for name, n in names.items())
        raise CheckpointError(f"there is no checkpoint {which} in {self.folder}: {there}{named}")

    def newest_first(
        self, made_of: Callable[[dict[str, Any]], Any] = dict, *, shards: bool = True
    ) -> Iterator[Found]:
        """Yield the checkpoints that can be read; what cannot is named in those that follow.

        ``made_of`` makes of a payload what is wanted, or raises ModelFileError if it cannot; for
        ``shards`` see `read_checkpoint`.

        Raises CheckpointError if there are some and none can be read: to begin anew would be to
        forget what they hold.
        """
        skipped: list[str] = []
        readable = False
        for number in reversed(self._numbers()):
            try:
                contents = made_of(read_checkpoint(self.path(number), shards=shards))
            except (ModelFileError, OSError) as error:
                path = str(self.path(number))
                skipped.append(f"{path}: {str(error).removeprefix(f'{path}: ')}")
                continue
            readable = True
            yield Found(number, contents, list(skipped))
        if skipped and not readable:
            raise CheckpointError(
                f"no checkpoint in {self.folder} can be read: {'; '.join(skipped)}. "
                "Move them away to begin anew"
            )

    def ready(self, *, wait: bool = False) -> bool:
        """Whether the last one is written, well or not; with ``wait`` it is on return."""
        self.acquire()
        if wait:
            self.finish()
        elif self._pending is not None and self._pending.done():
            self._pending.result()
            self._pending = None
        return self._pending is None

    def write(
        self,
        payload: Mapping[str, Any],
        *,
        record: int = 0,
        wait: bool = False,
        part: Part | None = None,
    ) -> int | None:
        """Write a checkpoint, after so many records; None if the last one is still being written.

        The payload must not change any more. With ``wait`` the file is on disk on return, and an
        OSError is raised if it could not be. Files of keys that belong to it are written first.
        """
        if not self.ready(wait=wait):
            return None
        self.number += 1
        if wait:
            error = self._try(self.number, payload, record, part)
            if error is not None:
                raise error
        else:
            self._pending = self._writer.submit(self._try, self.number, payload, record, part)
        return self.number

    def _try(
        self, number: int, payload: Mapping[str, Any], record: int, part: Part | None
    ) -> OSError | TermOverError | None:
        """Write it, or return why not after telling of it."""
        try:
            self._write_now(number, payload, record, part)
        except TermOverError as error:  # which the next `check` raises
            return error
        except OSError as error:
            self.failures += 1
            self.failed.append(error)
            if self._on_error is not None:
                self._on_error(error)
            return error
        return None

    def _write_now(
        self, number: int, payload: Mapping[str, Any], record: int, part: Part | None
    ) -> None:
        beside = [] if part is None else [self.folder / name for name in part.names]
        via = None if self._lease is None else self._lease.place
        try:
            if part is not None:
                for place, rows in zip(beside, part.payloads(), strict=True):
                    write(place, rows, via=via, private=True)
            write(self.path(number), payload, via=via, private=True)
        except OSError:
            self._confirm()
            self.failing = True
            with contextlib.suppress(OSError):  # first the one that may name the others
                for place in (self.path(number), *beside):
                    place.unlink(missing_ok=True)
            raise
        self._key_files[number] = () if part is None else part.needed
        self.failing, self.newest = False, Made(number, time.time(), record)
        self._confirm()

    def _remove_old(self) -> None:
        """Remove checkpoints beyond those that are kept, and the files that only they needed."""
        with contextlib.suppress(OSError, TermOverError):  # the next time; the next `check` raises
            self._confirm()  # those of the next owner are not this one's to remove
            needed = {self._committed, *self.names().values()}
            for old in self._numbers()[: -self.keep]:
                if old not in needed:
                    with contextlib.suppress(OSError):
                        self.path(old).unlink()
            kept = self._numbers()
            self._key_files = {n: names for n, names in self._key_files.items() if n in kept}
            remove_unneeded(self.folder, kept, self._key_files)

    def check(self) -> None:
        """Raise TermOverError if another process has taken the folder over."""
        if self._lease is not None:
            self._lease.check()

    def _confirm(self) -> None:
        if self._lease is not None:
            self._lease.confirm()

    def finish(self) -> None:
        """Wait for the checkpoint that is being written, and for what is being removed."""
        if self._removing is not None:
            self._removing.result()
            self._removing = None
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def acquire(self) -> None:
        """Lock the folder again after a run has ended.

        Raises CheckpointError if another one has gone on from there meanwhile.
        """
        if self._lock >= 0:
            return
        self._acquire()
        if self._numbers() != self._left:
            self.release()
            raise CheckpointError(
                f"another run went on in {self.folder} since: make a new Engine, which goes on "
                "where that one stopped"
            )

    def _acquire(self) -> None:
        try:
            self.ownership.take()
        except InUseError as error:
            raise CheckpointError(str(error)) from None
        lock = self.folder / "lock"
        if self._lease is not None:
            self._confirm()
            lock.unlink(missing_ok=True)  # an owner that is held up has locked the old one
        elif not (newest := newest_term(self.folder)).left:
            self.ownership.leave()
            raise CheckpointError(
                f"{self.folder} was last used with a standby, by {newest.owner}, which has not "
                "left it: go on with --standby, too, or choose another folder"
            )
        self._lock, holder = lock_file(lock)
        if self._lock < 0:
            raise CheckpointError(
                f"{self.folder} is in use by {holder}: stop that one, or choose another folder"
            )

    def release(self) -> None:
        """Finish, and let others use the folder."""
        self.finish()
        if self._lock >= 0:
            self._left = self._numbers() if self.folder.is_dir() else []
            os.close(self._lock)
            self._lock = -1
        self.ownership.leave()

    def close(self) -> None:
        """Finish, let others use the folder, and end the writing thread."""
        self.release()
        self._writer.shutdown()
