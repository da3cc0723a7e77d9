"""Rows of keys on disk: whose they are, what changed, files of them, and folders that are none."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm.kernels.surprise import CLOCKS
from stream_llsvm.model import spill as module
from stream_llsvm.model.key_rows import fitted, sound_rows
from stream_llsvm.model.spill import Spill
from stream_llsvm.records.keys import Key
from tests.disk import fill, small_disk

KEYS: list[Any] = [
    "7",
    7,
    b"7",
    0.5,
    "",
    "ann",
    "x" * 1_000,
    "x" * 999 + "y",
    b"z" * 1_000,
    10**600,
]
SHAPE = (1, 2, 3)


def put(spill: Spill, keys: list[Any], first: int = 1, shape: tuple[int, ...] = SHAPE) -> None:
    matrix = np.arange(len(keys) * np.prod(shape), dtype=np.float32).reshape(len(keys), *shape)
    facts = np.arange(first, first + len(keys))
    clocks = np.tile(facts[:, None] / 8, CLOCKS).astype(np.float32)
    spill.put(keys, matrix + first, facts, clocks)


def facts_of(spill: Spill, keys: list[Any]) -> list[int | None]:
    with spill.reading() as known:
        found = [known(key) for key in keys]
    return [None if one is None else one[0] for one in found]


def in_files(spill: Spill, since: int | None = None, shape: tuple[int, ...] = SHAPE) -> set[Key]:
    rows = spill.rows(shape, since)
    assert rows is not None
    parts = list(rows.parts())
    assert len(parts) == rows.n_parts
    keys = [key for part in parts for key in sound_rows(part, shape)[0]]
    assert len(set(keys)) == len(keys) == rows.rows
    return set(keys)


def test_each_key_has_its_own_row(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    put(spill, KEYS)
    assert facts_of(spill, KEYS) == list(range(1, len(KEYS) + 1))
    assert facts_of(spill, ["8", 8, "x" * 998, None.__class__.__name__]) == [None] * 4
    assert facts_of(spill, [7.0, 10**600]) == [2, 10]
    assert in_files(spill) == set(KEYS)
    put(spill, [7.0], first=99)
    assert facts_of(spill, ["7", 7]) == [1, 99] and len(spill) == len(KEYS)
    spill.remove(["7", "nobody", "x" * 1_000])
    assert in_files(spill) == set(KEYS) - {"7", "x" * 1_000}


def test_files_hold_the_moment_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_A_PART", 3)
    spill = Spill(tmp_path)
    put(spill, list(range(10)))
    rows = spill.rows(SHAPE)
    assert rows is not None and (rows.rows, rows.n_parts) == (10, 4)
    put(spill, list(range(5, 20)), first=1_000)
    facts = [n for part in rows.parts() for n in sound_rows(part, SHAPE)[2].tolist()]
    assert sorted(facts) == list(range(1, 11))
    assert in_files(spill) == set(range(20))


def test_rows_of_an_older_shape_are_made_to_fit(tmp_path: Path) -> None:
    spill, new = Spill(tmp_path), (3, 2, 5)
    put(spill, ["a", "b"])
    put(spill, ["c"], shape=(2, 2, 4))
    rows = spill.rows(new)
    assert rows is not None
    (part,) = rows.parts()
    keys, matrix, facts, clocks = sound_rows(part, new)
    assert (clocks == facts[:, None] / 8).all()
    for key, row in zip(keys, matrix, strict=True):
        with spill.reading() as known:
            found = known(key)
        assert found is not None
        assert row.tobytes() == fitted(found[1][None], new)[0].tobytes()


def test_what_changed_is_told_until_there_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spill = Spill(tmp_path)
    put(spill, ["a", "b"])
    first = spill.mark()
    put(spill, ["b", "c", "gone"])
    second = spill.mark()
    put(spill, ["d"])
    spill.remove(["gone"])
    assert in_files(spill, first) == {"b", "c", "d"}  # as if the second could not be written
    assert in_files(spill, second) == {"d"}
    monkeypatch.setattr(module, "_MOST_CHANGED", 2)
    put(spill, ["e", "f", "g"])
    assert spill.rows(SHAPE, second) is None
    third = spill.mark()
    put(spill, ["h"])
    assert in_files(spill, third) == {"h"}
    assert len(spill) == 8


def test_a_copy_is_a_database_of_its_own(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    put(spill, KEYS)
    other = copy.deepcopy(spill)
    put(spill, ["new"])
    assert in_files(other) == set(KEYS) and len(spill) == len(KEYS) + 1


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="make room there, or name another"):
            Spill(place)
    Spill(tmp_path / "made" / "here")
    assert os.listdir(tmp_path / "made" / "here") == []


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        if folder is None:
            pytest.skip("no disk can be mounted here")
        spill = Spill(folder)
        put(spill, list(range(1_000)))
        room = fill(folder, 0)
        with pytest.raises(OSError, match=r"keys cannot be spilled to .*: make room there"):
            put(spill, list(range(100_000)), first=5_000)
        assert facts_of(spill, [0, 999, 1_000]) == [1, 1_000, None]
        room.unlink()
        put(spill, [1_000], first=7)
        assert facts_of(spill, [0, 1_000]) == [1, 7] and len(spill) == 1_001
