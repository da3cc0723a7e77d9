"""What is known of keys, in files beside checkpoints that hold only what has changed.

A million keys are 200 MB, of which little changes in a minute. So the first checkpoint of a run has
a file with the rows of all keys, and each that follows one with the rows that changed since; a
checkpoint names the files that it needs. When the changes together are as many as there are keys,
or the files many, the next one has all rows again. A file, once a checkpoint names it, never
changes, and goes when no checkpoint that is kept needs it.

Keys that are spilled have files of their own, some rows each, which say whose these are and not
where: all keys that are spilled, or those that were since the last checkpoint. Of several files the
last one counts, and more than it counts what the bank has of a key. They are written and read a
file at a time, so that they need not fit into memory.
"""

from __future__ import annotations

import contextlib
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from stream_llsvm.engine.validation import require
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.registry import KEYED
from stream_llsvm.model.file import read
from stream_llsvm.model.key_rows import KeyRows
from stream_llsvm.model.spill import Spilled

_NAME = re.compile(r"keys-(\d{10})-(all|changed|spilled-\d{5})\.llsvm")
#: So many files of changes may follow one with all keys.
_MOST_PARTS = 100
_MOST_FILES = 100_000


_NONE_SPILLED = Spilled(0, lambda: iter(()))


class Part(NamedTuple):
    """Files of keys: their names, all that a checkpoint needs, and what makes their payloads."""

    names: tuple[str, ...]
    needed: tuple[str, ...]
    payloads: Callable[[], Iterator[Mapping[str, Any]]]


class _State(NamedTuple):
    """What has been written: with which checkpoint, the files, how many rows, up to when.

    ``parts`` counts the checkpoints since the last one with all rows, ``mark`` is the moment for
    `Spill.rows`.
    """

    number: int
    needed: tuple[str, ...]
    parts: int
    rows: int
    taught: int
    shape: tuple[int, ...]
    mark: int


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
        shape, spill = bank.matrix.shape[1:], bank.spill
        rows, spilled = None, _NONE_SPILLED
        if done is not None and done.shape == shape and done.parts < _MOST_PARTS:
            rows = bank.rows(done.taught)
            since = _NONE_SPILLED if spill is None else spill.rows(shape, done.mark)
            spilled = since or _NONE_SPILLED
            most = 2 * (len(bank.keys) + bank.spilled)
            if since is None or done.rows + len(rows.places) + spilled.rows > most:
                rows = None
        before: tuple[str, ...] = ()
        parts, written, kind = 1, 0, "all"
        if rows is None or done is None:
            rows = bank.rows()
            spilled = (None if spill is None else spill.rows(shape)) or _NONE_SPILLED
        else:
            before, parts, written, kind = done.needed, done.parts + 1, done.rows, "changed"
        kinds = [kind, *(f"spilled-{i:05}" for i in range(spilled.n_parts))]
        names = tuple(f"keys-{number:010}-{kind}.llsvm" for kind in kinds)
        needed = (*before, *names)
        written += len(rows.places) + spilled.rows
        mark = 0 if spill is None else spill.mark()
        self._tried = _State(number, needed, parts, written, bank.taught, shape, mark)
        return Part(names, needed, partial(_payloads, names, rows, spilled))


def _payloads(names: Sequence[str], rows: KeyRows, spilled: Spilled) -> Iterator[Mapping[str, Any]]:
    """Yield what files of these names hold, made by the thread that writes them."""
    yield {"name": names[0], "rows": rows.payload()}
    for name, part in zip(names[1:], spilled.parts(), strict=True):
        yield {"name": name, "rows": part}


def with_parts(payload: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a checkpoint's payload with the rows of keys that lie beside it, if it names any.

    Those that are spilled are read when they are asked for.
    """
    needed = payload.get("key_files")
    if needed is None:
        return payload
    model = payload.get("model")
    keyed = model.get("model") if isinstance(model, dict) and "last" in model else model
    require(isinstance(keyed, dict) and keyed.get("class") == KEYED, "model")
    assert isinstance(keyed, dict)
    require(isinstance(keyed.get("bank"), dict), "bank")
    require(type(needed) is list and 0 < len(needed) <= _MOST_FILES, "key_files")
    spilled = [type(name) is str and "-spilled-" in name for name in needed]
    placed = [name for name, apart in zip(needed, spilled, strict=True) if not apart]
    keyed["bank"]["rows"] = [_rows(folder, name) for name in placed]
    if any(spilled):
        keyed["bank"]["spilled"] = _Files(folder, list(compress(needed, spilled)))
    return payload


def in_one(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint's payload that names no files: all rows are in it."""
    model = payload["model"]
    bank = (model["model"] if "last" in model else model).get("bank")
    if isinstance(bank, dict) and "spilled" in bank:
        bank["spilled"] = list(bank["spilled"])
    return payload | {"key_files": None}


class _Files:
    """The rows in some files, one file at a time."""

    def __init__(self, folder: Path, names: Sequence[Any]) -> None:
        self._folder, self._names = folder, names

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (_rows(self._folder, name) for name in self._names)


def _rows(folder: Path, name: Any) -> dict[str, Any]:
    require(type(name) is str and _NAME.fullmatch(name) is not None, "key_files")
    found = read(folder / name)
    require(found.get("name") == name and isinstance(found.get("rows"), dict), f"file {name}")
    rows: dict[str, Any] = found["rows"]  # type: ignore[assignment]
    return rows


def remove_unneeded(
    folder: Path,
    checkpoints: Iterable[int],
    known: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Remove the files that none of these checkpoints needs.

    ``known`` says of some which files they need. The others need those from the last one on that
    was written with all keys, up to itself; what is newer than all of them is being written just
    now.
    """
    needed = set(chain.from_iterable(known.values()))
    kept = sorted(checkpoints)
    found = [(int(m[1]), m[2], m[0]) for m in map(_NAME.fullmatch, os.listdir(folder)) if m]
    whole = sorted(n for n, kind, _ in found if kind == "all")
    others = [n for n in kept if n not in known]
    spans = [
        (whole[bisect_right(whole, n) - 1] if whole and whole[0] <= n else 0, n) for n in others
    ]
    newest = kept[-1] if kept else 0
    for number, _, name in found:
        unneeded = not any(first <= number <= last for first, last in spans)
        if number <= newest and unneeded and name not in needed:
            with contextlib.suppress(OSError):
                (folder / name).unlink()
