"""Rows of keys for which a bank has no room: a database on disk (LMDB) that is a cache, no more.

The truth is what checkpoints hold. So the database is empty when a model is made, and is filled
from the model's file; its own file has no name any more as soon as it is open. Two runs may share a
folder, and nothing of a process that was killed is left there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.surprise import CLOCKS
from stream_llsvm.model.key_rows import fitted
from stream_llsvm.records.keys import Key, key_bytes, key_of, packed_keys

#: Facts, clocks, machines, and how long the key is if it stands before the row, else 0.
_HEAD = struct.Struct(f"<q{4 * CLOCKS}sIH")
#: LMDB takes no longer keys: of a longer one the database's is a hash, and the key is in the value.
_MOST_BYTES = 511
#: How large the database may grow: the file takes no more than what is in it.
_MOST_ROOM, _LEAST_ROOM = 2**40, 2**30
#: Bytes of LMDB's lock: it makes as much room for readers as there is.
_LOCK = 2**14
#: So many rows are put into one file.
ROWS_A_PART = 65_536
#: So many keys are remembered by name that changed since the last checkpoint; of more, all are
#: written again.
_MOST_CHANGED = 1_000_000

Shape = tuple[int, ...]


class Known(NamedTuple):
    """What is known of a key: its facts, its row of the matrix, and its clocks."""

    facts: int
    row: NDArray[np.float32]
    clocks: NDArray[np.float32]


class SpillError(OSError):
    """Keys cannot be put into the folder; ``strerror`` says why, and what to do."""


class Spilled(NamedTuple):
    """Rows for a file: how many, and what makes parts of up to `ROWS_A_PART` of them."""

    rows: int
    parts: Callable[[], Iterator[dict[str, Any]]]

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        return -(-self.rows // ROWS_A_PART)


class Spill:
    """What is known of keys, on disk.

    Parameters
    ----------
    folder
        Where; it is made if it is not there.

    Raises
    ------
    SpillError
        If it cannot be written.

    Examples
    --------
    >>> spill = Spill(tempfile.mkdtemp())
    >>> clocks = np.zeros((1, CLOCKS), dtype="f4")
    >>> spill.put(["ann"], np.ones((1, 1, 2, 3), dtype="f4"), np.array([5]), clocks)
    >>> with spill.reading() as known:
    ...     known("ann")[0], known("bob")
    (5, None)

    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._open()
        self._mark = 0
        self._changed: dict[bytes, int] = {}  # when: between which two checkpoints
        self._unknown = 0  # what changed before this mark is no longer known

    def _open(self) -> None:
        import lmdb

        self._error = lmdb.Error
        room = _MOST_ROOM
        place = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            place = tempfile.mkdtemp(prefix=".keys-", dir=self.folder)
            _reserve(os.path.join(place, "lock.mdb"), _LOCK)
            while True:
                try:
                    self._database = lmdb.open(
                        place, map_size=room, sync=False, metasync=False, readahead=False
                    )
                    break
                except lmdb.MemoryError:  # the process may not have so many addresses
                    room //= 2
                    if room < _LEAST_ROOM:
                        raise
        except (OSError, lmdb.Error) as error:
            raise self._failed(error) from None
        finally:
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)

    def _failed(self, error: Exception) -> SpillError:
        """Return an error that says what could not be done where, and what to do."""
        code = error.errno if isinstance(error, OSError) else None
        why = error.strerror if isinstance(error, OSError) else str(error)
        text = f"keys cannot be spilled to {self.folder} ({why}): make room there, or name another"
        return SpillError(code or errno.EIO, f"{text} folder")

    def __len__(self) -> int:
        """How many keys are here, those among them that the bank has again."""
        return int(self._database.stat()["entries"])

    def __reduce__(self) -> tuple[Any, ...]:
        with self._database.begin() as moment:
            return _copied, (os.fspath(self.folder), list(moment.cursor()))

    def put(
        self,
        keys: Sequence[Key],
        matrix: NDArray[np.float32],
        facts: NDArray[np.int64],
        clocks: NDArray[np.float32],
    ) -> None:
        """Keep what is known of keys; raises SpillError, and keeps nothing, if there is no room."""
        machines, pairs = matrix.shape[1], []
        for key, row, fact, own in zip(keys, matrix, facts.tolist(), clocks, strict=True):
            name, text = _named(key)
            head = _HEAD.pack(fact, own.tobytes(), machines, len(text))
            pairs.append((name, head + text + row.tobytes()))
        self._put(pairs)
        for name, _ in pairs:
            self._changed[name] = self._mark
        if len(self._changed) > _MOST_CHANGED:
            self._changed, self._unknown = {}, self._mark + 1

    def _put(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        try:
            with self._database.begin(write=True) as moment:
                moment.cursor().putmulti(pairs)
        except self._error as error:
            raise self._failed(error) from None

    def remove(self, keys: Sequence[Key]) -> None:
        """Forget what is known of keys, if anything is."""
        names = [_named(key)[0] for key in keys]
        try:
            with self._database.begin(write=True) as moment:
                for name in names:
                    moment.delete(name)
        except self._error as error:
            raise self._failed(error) from None
        for name in names:
            self._changed.pop(name, None)

    @contextmanager
    def reading(self) -> Iterator[Callable[[Key], Known | None]]:
        """Lend what returns what is known of a key, None if nothing is."""
        with self._database.begin() as moment:

            def known(key: Key) -> Known | None:
                name, text = _named(key)
                value = moment.get(name)
                if value is None:
                    return None
                facts, clocks, machines, size = _HEAD.unpack_from(value)
                begin = _HEAD.size + size
                if value[_HEAD.size : begin] != text:
                    return None
                row = np.frombuffer(value, dtype=np.float32, offset=begin)
                return Known(facts, row.reshape(machines, 2, -1), np.frombuffer(clocks, np.float32))

            yield known

    def mark(self) -> int:
        """Return the moment, to be asked later for what has changed since."""
        self._mark += 1
        return self._mark

    def rows(self, shape: Shape, since: int | None = None) -> Spilled | None:
        """Return what there is just now, whatever changes later, as rows of this shape.

        Parameters
        ----------
        shape
            That of a row.
        since
            Those only that were put here since `mark` said so. If these are no longer known, None
            is returned.

        """
        moment = self._database.begin()
        if since is None:
            return Spilled(len(self), lambda: _parts(moment, iter(moment.cursor()), shape))
        if since < self._unknown:
            return None
        self._changed = {name: when for name, when in self._changed.items() if when >= since}
        names = sorted(self._changed)
        pairs = ((name, moment.get(name, b"")) for name in names)
        return Spilled(len(names), lambda: _parts(moment, pairs, shape))


def _reserve(path: str, size: int) -> None:
    """Make a file that has all its room: LMDB writes to its lock through memory.

    On a full disk that would kill the process; this raises OSError.
    """
    with open(path, "xb") as file:
        file.write(bytes(size))
        file.flush()


def _copied(folder: str, pairs: list[tuple[bytes, bytes]]) -> Spill:
    made = Spill(folder)
    made._put(pairs)
    return made


def _named(key: Key) -> tuple[bytes, bytes]:
    """Return what a key is called in the database, and itself if that does not say it."""
    text = key_bytes(key)
    if len(text) <= _MOST_BYTES:
        return text, b""
    return b"\xff" + hashlib.blake2b(text, digest_size=32).digest(), text


def _key(name: bytes, value: bytes) -> Key:
    size = _HEAD.unpack_from(value)[-1]
    return key_of(value[_HEAD.size : _HEAD.size + size] if size else name)


def _parts(
    moment: Any, pairs: Iterator[tuple[bytes, bytes]], shape: Shape
) -> Iterator[dict[str, Any]]:
    """Yield rows of one shape, some at a time, as plain values for files."""
    try:
        while some := list(islice(pairs, ROWS_A_PART)):
            keys = [_key(name, value) for name, value in some]
            heads = [_HEAD.unpack_from(value) for _, value in some]
            bodies = [
                (machines, value[_HEAD.size + size :])
                for (_, value), (*_, machines, size) in zip(some, heads, strict=True)
            ]
            found = []
            for (machines, _), alike in groupby(bodies, lambda body: (body[0], len(body[1]))):
                own = [row for _, row in alike]
                old = np.frombuffer(b"".join(own), dtype=np.float32)
                found.append(fitted(old.reshape(len(own), machines, 2, -1), shape))
            yield {
                "keys": packed_keys(keys),
                "matrix": np.concatenate(found),
                "facts": np.array([facts for facts, *_ in heads], dtype=np.int64),
                "clocks": np.frombuffer(b"".join(own for _, own, *_ in heads), np.float32).reshape(
                    len(heads), CLOCKS
                ),
            }
    finally:
        moment.abort()
