"""What is known of keys, in files beside checkpoints that hold only what has changed.

A million keys are 200 MB, of which little changes in a minute. So the first checkpoint of a run has
a file with the rows of all keys, and each that follows one with the rows that changed since; a
checkpoint names the files that it needs. When the changes together are as many as there are keys,
or the files many, the next one has all rows again. A file, once a checkpoint names it, never
changes, and goes when no checkpoint that is kept needs it.
"""

from __future__ import annotations

import contextlib
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stream_llsvm.engine.validation import require
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.registry import KEYED
from stream_llsvm.model.file import read

_NAME = re.compile(r"keys-(\d{10})-(all|changed)\.llsvm")
#: So many files of changes may follow one with all keys.
_MOST_PARTS = 100


class Part(NamedTuple):
    """A file of keys: its name, all that a checkpoint with it needs, and what makes its payload."""

    name: str
    needed: tuple[str, ...]
    payload: Callable[[], Mapping[str, Any]]


class _State(NamedTuple):
    """What has been written: with which checkpoint, the files, how many rows, up to when."""

    number: int
    needed: tuple[str, ...]
    rows: int
    taught: int
    shape: tuple[int, ...]


class KeyParts:
    """Says what of a bank the next checkpoint has to write."""

    def __init__(self) -> None:
        self._done: _State | None = None
        self._tried: _State | None = None

    def next(self, model: KeyedClassifier, number: int, newest: int) -> Part:
        """Return what a checkpoint of this number writes, if ``newest`` is the last good one."""
        if self._tried is not None and self._tried.number == newest:
            self._done = self._tried
        bank, done = model._bank, self._done
        shape = bank.matrix.shape[1:]
        rows = None
        if done is not None and done.shape == shape and len(done.needed) < _MOST_PARTS:
            rows = bank.rows(done.taught)
            if done.rows + len(rows.places) > 2 * len(bank.keys):
                rows = None
        before: tuple[str, ...] = ()
        written, kind = 0, "all"
        if rows is None or done is None:
            rows = bank.rows()
        else:
            before, written, kind = done.needed, done.rows, "changed"
        name = f"keys-{number:010}-{kind}.llsvm"
        needed = (*before, name)
        written += len(rows.places)
        self._tried = _State(number, needed, written, bank.taught, shape)
        found = rows  # whose keys are packed by the thread that writes
        return Part(name, needed, lambda: {"name": name, "rows": found.payload()})


def with_parts(payload: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a checkpoint's payload with the rows of keys that lie beside it, if it names any."""
    needed = payload.get("key_files")
    if needed is None:
        return payload
    model = payload.get("model")
    keyed = model.get("model") if isinstance(model, dict) and "last" in model else model
    require(isinstance(keyed, dict) and keyed.get("class") == KEYED, "model")
    assert isinstance(keyed, dict)
    require(isinstance(keyed.get("bank"), dict), "bank")
    require(type(needed) is list and 0 < len(needed) <= _MOST_PARTS, "key_files")
    keyed["bank"]["rows"] = [_rows(folder, name) for name in needed]
    return payload


def _rows(folder: Path, name: Any) -> dict[str, Any]:
    require(type(name) is str and _NAME.fullmatch(name) is not None, "key_files")
    found = read(folder / name)
    require(found.get("name") == name and isinstance(found.get("rows"), dict), f"file {name}")
    rows: dict[str, Any] = found["rows"]  # type: ignore[assignment]
    return rows


def remove_unneeded(folder: Path, checkpoints: Iterable[int]) -> None:
    """Remove the files that none of these checkpoints needs.

    Each needs those from the last one on that was written with all keys, up to itself; what is
    newer than all of them is being written just now.
    """
    kept = sorted(checkpoints)
    found = [(int(m[1]), m[2], m[0]) for m in map(_NAME.fullmatch, os.listdir(folder)) if m]
    whole = sorted(n for n, kind, _ in found if kind == "all")
    spans = [(whole[bisect_right(whole, n) - 1] if whole and whole[0] <= n else 0, n) for n in kept]
    newest = kept[-1] if kept else 0
    for number, _, name in found:
        if number <= newest and not any(first <= number <= last for first, last in spans):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
