"""Several files as one stream, in the order of the times that their records say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Position, Rejected, SourceError
from stream_llsvm.connectors.file.source import FileSource
from stream_llsvm.connectors.order import MAX_WAIT, TimeOrder, is_by_time
from stream_llsvm.connectors.rows import chosen, joined

_AT_ONCE = 1_000  # records of a file
_PAUSE = 0.05
_NONE = np.zeros(0, dtype=np.int64)


class MergedFiles:
    r"""Records of several files, merged by the time that a field says.

    Parameters
    ----------
    paths
        The files; of equal times the earlier one goes first.
    time
        The field that says when a record was: a number, or a date and time. It stays a feature. A
        record that does not say it is rejected.
    max_wait
        Seconds that a pipe is waited for that is not at its end and gives nothing. A file that is
        followed holds others back only as long as a partition of Kafka that has nothing more.
    options
        As for a `FileSource`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("at,x,y\n1,10,no\n4,40,no\n")
    >>> _ = (folder / "b.csv").write_text("at,x,y\n2,20,yes\n3,30,yes\n")
    >>> source = MergedFiles([folder / "a.csv", folder / "b.csv"], time="at", label="y")
    >>> [source.poll(1000, 0.0).values[:, 1].tolist() for _ in range(2)]
    [[10.0, 20.0, 30.0], [40.0]]

    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        time: str,
        max_wait: float = MAX_WAIT,
        **options: Any,
    ) -> None:
        is_by_time("time", time, max_wait)
        self.paths = [os.fspath(path) for path in paths]
        if len(set(self.paths)) < len(self.paths):
            raise ValueError("a file is named twice; each is merged once")
        self._max_wait = max_wait
        self._files = [_File(FileSource(path, time=time, **options)) for path in self.paths]
        self._begin()

    def _begin(self) -> None:
        self._order = TimeOrder(self.paths, self._max_wait)
        self._ready = _NONE  # whose the next records are

    @property
    def seekable(self) -> bool:
        """Whether it can go back to a position: what came from standard input cannot."""
        return all(file.source.seekable for file in self._files)

    @property
    def name(self) -> str:
        """The first file, and how many more there are."""
        more = len(self.paths) - 1
        return self._files[0].source.name + (f" and {more} more by time" if more else "")

    @property
    def ended(self) -> bool:
        """Whether all files were read to the end."""
        return all(file.source.ended and not file.left for file in self._files)

    @property
    def position(self) -> Position:
        """Where each file stands: where it was read last, and behind which line of that."""
        return {"files": [file.position for file in self._files]}

    def keep_text(self) -> None:
        """Leave values as they are from now on: see `Verbatim`."""
        for file in self._files:
            file.source.keep_text()

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None if none came within so many seconds."""
        if max_records < 1:
            raise ValueError("max_records must be at least 1")
        deadline = monotonic() + timeout
        while not self.ended:
            rejected = [one for at, file in enumerate(self._files) for one in self._read(at, file)]
            if rejected:
                batch = Batch([], [], self.position, records=[], keys=[], rejected=rejected)
                return self._told(batch)
            taken = self._taken(max_records)
            if taken is not None:
                return self._told(taken)
            left = deadline - monotonic()
            if left <= 0:
                return None
            sleep(min(_PAUSE, left, max(0.0, self._order.wait)))
        return None

    def _told(self, batch: Batch) -> Batch:
        for file in self._files:
            batch.bad_fields += file.bad_fields
            batch.deletes += file.deletes
            file.bad_fields, file.deletes = [], 0
        batch.disorder = self._order.told()
        return batch

    def _read(self, at: int, file: _File) -> list[Rejected]:
        """Read on in a file of which nothing is left; return what is rejected before a record."""
        if file.left or file.source.ended:
            return []
        times = file.read()
        if times is None:
            if file.source.ended:
                self._order.end(at)
            return []
        self._order.add(at, times, monotonic())
        return file.rejected_so_far()

    def _taken(self, most: int) -> Batch | None:
        if not len(self._ready):
            cut = self._order.take(self._has_more, monotonic())
            if cut is None:
                return None
            self._ready = np.repeat(np.arange(len(cut.counts)), cut.counts)[cut.order]
        here, self._ready = self._ready[:most], self._ready[most:]
        counts = np.bincount(here, minlength=len(self._files)).tolist()
        pieces, rejected = [], []
        for file, many in zip(self._files, counts, strict=True):
            if many:
                pieces.append(file.take(many))
                rejected += file.rejected_so_far()
        # Each file's own records stay in their order: where each of them goes is seen by its owner.
        order = np.empty(len(here), dtype=np.int64)
        order[np.argsort(here, kind="stable")] = np.arange(len(here))
        batch = joined(pieces, order)
        batch.rejected = rejected
        batch.position = self.position
        return batch

    def _has_more(self, at: int) -> bool:
        return not self._files[at].source.follow

    def seek(self, position: Position) -> None:
        """Continue with the record behind this position, which it gave once itself."""
        stands = position.get("files")
        if not isinstance(stands, list) or len(stands) != len(self._files):
            raise SourceError(
                f"{self.name}: the position is not in as many files; name the same files in the "
                "same order, or start without the position"
            )
        for file, stand in zip(self._files, stands, strict=True):
            file.seek(stand)
        self._begin()

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            file.source.close()


class _File:
    """One file, the records of it that were read, and how many of them were handed out."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self._batch: Batch | None = None
        self._before = source.position  # where the batch begins
        self._at = 0
        self._done = 0  # the line up to which all was handed out, 0 of nothing
        self._rejected: list[Rejected] = []
        self.bad_fields: list[Any] = []
        self.deletes = 0

    @property
    def left(self) -> int:
        """How many records were read and not handed out."""
        return 0 if self._batch is None else len(self._batch) - self._at

    @property
    def position(self) -> Position:
        """Where it stands."""
        unread = self._batch is None or self.left
        stand = dict(self._before) if unread else self.source.position
        return stand | {"done": self._done} if self._done > stand.get("line", 0) else stand

    def read(self) -> Any:
        """Read some records and return their times; None if none came."""
        skip = self._done
        before = self.source.position
        batch = self.source.poll(_AT_ONCE, 0.0)
        if batch is None:
            return None
        self._before, self._batch, self._at, self._done = before, batch, 0, 0
        if skip:  # that much of it was handed out before
            begin = before.get("line", 0)
            lines = np.array([place.number for place in batch.places], dtype=np.int64)
            self._at = int(np.count_nonzero((lines > begin) & (lines <= skip)))
            kept = [one for one in batch.rejected if not begin < one.place.number <= skip]
            batch.rejected = kept
            self._done = skip if self._at or not len(batch) else 0
        self._rejected = sorted(batch.rejected, key=lambda one: one.place.number)
        self.bad_fields += [
            one for one in batch.bad_fields if not (skip and one.place.number <= skip)
        ]
        self.deletes += batch.deletes
        assert batch.times is not None
        return batch.times[self._at :]

    def take(self, count: int) -> Batch:
        """Return the next records."""
        assert self._batch is not None
        some = chosen(self._batch, np.arange(self._at, self._at + count))
        self._at += count
        self._done = some.places[-1].number
        return some

    def rejected_so_far(self) -> list[Rejected]:
        """Return what is rejected before the next record, and was not returned yet."""
        batch = self._batch
        if batch is None or not self._rejected:
            return []
        end = batch.places[self._at].number if self.left else np.inf
        found = [one for one in self._rejected if one.place.number < end]
        self._rejected = self._rejected[len(found) :]
        if found:
            self._done = max(self._done, found[-1].place.number)
        return found

    def seek(self, position: Position) -> None:
        """Go on behind a position."""
        stand = dict(position)
        done = stand.pop("done", 0)
        if type(done) is not int or done < 0:
            raise SourceError(f"{self.source.name}: not a position in it: {position}")
        self.source.seek(stand)
        self._batch, self._rejected, self._at, self._done = None, [], 0, done
        self._before = self.source.position
