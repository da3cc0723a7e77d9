"""Checkpoints that hold what changed of keys: what is written, what goes, and damaged folders."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Engine, KeyedClassifier, SAPLClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, read_checkpoint
from stream_llsvm.engine.key_parts import remove_unneeded
from stream_llsvm.model import file as model_file
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.packing import pack
from tests.disk import fill, small_disk

KEYS = 2_000


def records(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return records: each key once, and from then on the first few."""
    rng = np.random.default_rng(seed)
    who = [i if i < KEYS else int(rng.integers(5)) for i in range(n)]
    return [{"who": f"w{w}", "x": float(rng.normal()), "y": int(rng.integers(2))} for w in who]


def run(folder: Path, stream: list[dict[str, Any]], *stops: int, **options: Any) -> Engine:
    """Run on, with a checkpoint at each stop."""
    checkpoints = Checkpoints(folder, **options)
    model = KeyedClassifier(SAPLClassifier(n_anchors=4, n_neighbors=2), key="who")
    source = ListSource(stream, label="y", key="who")
    engine = Engine(source, model, checkpoints=checkpoints, every=1e9)
    for stop in stops:
        engine.run(stop - engine.progress.counts["records"])
    checkpoints.close()
    return engine


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("keys-*"))


def test_a_checkpoint_writes_what_changed(tmp_path: Path) -> None:
    engine = run(tmp_path, records(KEYS + 300), KEYS, KEYS + 100, KEYS + 200, KEYS + 300)
    assert files(tmp_path) == [
        "keys-0000000002-all.llsvm",
        "keys-0000000003-changed.llsvm",
        "keys-0000000004-changed.llsvm",
        "keys-0000000005-changed.llsvm",
    ]
    sizes = [(tmp_path / name).stat().st_size for name in files(tmp_path)]
    assert max(sizes[1:]) < sizes[0] / 50
    whole = read_checkpoint(tmp_path / "checkpoint-0000000005.llsvm")
    assert len(whole["key_files"]) == 4
    again = run(tmp_path, records(KEYS + 300))
    assert pack(again.model._payload()) == pack(engine.model._payload())


def test_changes_are_put_together_and_what_nobody_needs_goes(tmp_path: Path) -> None:
    stream = records(KEYS) + records(KEYS, seed=1) + records(KEYS, seed=2)
    run(tmp_path, stream, *range(200, 3 * KEYS + 1, 200), keep=2)
    found = files(tmp_path)
    kept = sorted(tmp_path.glob("checkpoint-*"))
    assert len(kept) == 2
    needed = {name for path in kept for name in read_checkpoint(path)["key_files"]}
    assert needed <= set(found)
    total = sum((tmp_path / name).stat().st_size for name in found)
    model = read_checkpoint(kept[-1])
    rows = sum(len(part["places"]) for part in model["model"]["bank"]["rows"])
    assert rows <= 2 * KEYS + 200
    assert total < 8 * KEYS * 100
    assert run(tmp_path, stream).model.n_keys == KEYS


def test_what_the_oldest_checkpoint_needs_stays(tmp_path: Path) -> None:
    names = ["keys-0000000002-all", "keys-0000000003-changed", "keys-0000000005-all",
             "keys-0000000006-changed", "keys-0000000009-all"]  # fmt: skip
    for name in names:
        (tmp_path / f"{name}.llsvm").touch()
    (tmp_path / "keys-of-somebody-else.llsvm").touch()
    remove_unneeded(tmp_path, [6, 7, 9])
    assert files(tmp_path) == [f"{name}.llsvm" for name in names[2:]] + [
        "keys-of-somebody-else.llsvm"
    ]
    remove_unneeded(tmp_path, [])
    assert len(files(tmp_path)) == 4


@pytest.mark.parametrize("how", ["missing", "damaged", "another's"])
def test_a_checkpoint_without_its_files_is_passed_over(tmp_path: Path, how: str) -> None:
    stream = records(KEYS + 200)
    run(tmp_path, stream, KEYS, KEYS + 100)
    model = run(tmp_path, stream, KEYS + 200).model
    last = tmp_path / files(tmp_path)[-1]
    if how == "missing":
        last.unlink()
    elif how == "damaged":
        last.write_bytes(last.read_bytes()[:-1])
    else:
        shutil.copy(tmp_path / files(tmp_path)[0], last)
    with pytest.raises((ModelFileError, OSError)):
        read_checkpoint(sorted(tmp_path.glob("checkpoint-*"))[-1])
    engine = run(tmp_path, stream)
    assert engine.progress.counts["records"] == KEYS + 100
    assert any(event["kind"] == "checkpoint unreadable" for event in engine.progress.events)
    assert pack(run(tmp_path, stream, KEYS + 200).model._payload()) == pack(model._payload())


@pytest.mark.parametrize(
    "needed", [[], ["../secret"], ["keys-1-all.llsvm"], "keys", [7], None, ["x"] * 1_000]
)
def test_files_that_are_none_are_refused(tmp_path: Path, needed: Any) -> None:
    run(tmp_path, records(100), 100)
    path = sorted(tmp_path.glob("checkpoint-*"))[-1]
    payload = model_file.read(path)
    for old in tmp_path.glob("checkpoint-*"):
        old.unlink()
    model_file.write(path, payload | {"key_files": needed})
    with pytest.raises(CheckpointError, match="no checkpoint in"):
        run(tmp_path, records(100))
    model_file.write(path, payload | {"model": None})
    with pytest.raises(ModelFileError):
        read_checkpoint(path)


def test_a_failed_one_leaves_no_checkpoint_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder cannot be synced behind the checkpoint, whose files of keys are there."""
    stream, synced, sync = records(KEYS + 100), list[int](), os.fsync
    run(tmp_path, stream, KEYS)

    def at_times(file: int) -> None:
        synced.extend([file] * stat.S_ISDIR(os.fstat(file).st_mode))
        if len(synced) == 2:
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(os, "fsync", at_times)
    assert run(tmp_path, stream, KEYS + 100).lost is not None
    monkeypatch.undo()
    events = run(tmp_path, stream).progress.events
    assert [event["kind"] for event in events if "checkpoint" in event["kind"]] == []


def test_files_that_a_checkpoint_names_stay_whatever_lies_beside_them(tmp_path: Path) -> None:
    """One with all keys, left by a checkpoint that failed, does not stand for those before it."""
    names = [f"keys-000000000{n}.llsvm" for n in ("2-all", "3-changed", "4-all", "5-changed")]
    for name in names:
        (tmp_path / name).touch()
    remove_unneeded(tmp_path, [3, 5], {5: (names[0], names[1], names[3])})
    assert files(tmp_path) == [names[0], names[1], names[3]]


@pytest.mark.parametrize("leave", [0, 8_192])
def test_a_full_disk_costs_no_key(tmp_path: Path, leave: int) -> None:
    """Whichever of the two files there is no room for, the next checkpoint has all."""
    stream = records(KEYS + 400)
    with small_disk(tmp_path / "disk") as folder:
        if folder is None:
            pytest.skip("no disk can be mounted here")
        run(folder, stream, KEYS)
        room = fill(folder, leave)
        engine = run(folder, stream, KEYS + 100)
        assert engine.lost is not None and engine.lost.records == 100
        # One that was begun is gone, and nothing names it.
        assert [name for name in files(folder) if "changed" in name] == []
        room.unlink()
        model = run(folder, stream, KEYS + 200, KEYS + 400).model
        again = run(folder, stream).model
        assert pack(again._payload()) == pack(model._payload())
