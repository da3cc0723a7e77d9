"""Checkpoints of a model that spills keys: what is written, resumed from, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Engine, KeyedClassifier, SAPLClassifier, load_model
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints, read_checkpoint
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.rollback import roll_back
from stream_llsvm.model import spill as module
from stream_llsvm.model.packing import pack
from tests.disk import fill, small_disk

KEYS, MOST = 900, 100


def records(n: int) -> list[dict[str, Any]]:
    """Return records of keys that come back; a feature and a class come in the middle."""
    rng = np.random.default_rng(0)
    return [
        {
            "who": int(rng.integers(KEYS)),
            "x": float(rng.normal()),
            "y": int(rng.integers(2 if i < n // 2 else 3)),
            **({"z": float(rng.normal())} if i > n // 3 else {}),
        }
        for i in range(n)
    ]


def run(
    folder: Path, stream: list[dict[str, Any]], *stops: int, spill: Path | None, **options: Any
) -> Engine:
    """Run on, with a checkpoint at each stop."""
    usual = {"max_keys": MOST, "spill": spill}
    model = KeyedClassifier(
        SAPLClassifier(n_anchors=4, n_neighbors=2), key="who", **usual | options
    )
    checkpoints, source = Checkpoints(folder), ListSource(stream, label="y", key="who")
    try:
        engine = Engine(source, model, checkpoints=checkpoints, every=1e9)
        for stop in stops:
            engine.run(stop - engine.progress.counts["records"])
    finally:
        checkpoints.close()
    return engine


def payload_of(engine: Engine) -> bytes:
    return pack(engine.model._payload())


def files(folder: Path, kind: str) -> list[str]:
    return sorted(path.name for path in folder.glob(f"keys-*-{kind}*"))


@pytest.mark.filterwarnings("ignore:a record names")
def test_a_run_goes_on_with_all_that_was_spilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_A_PART", 64)  # several files at a time
    stream = records(6_000)
    spill, stops = tmp_path / "spill", [*range(300, 6_001, 300)]
    undisturbed = run(tmp_path / "once", stream, 6_000, spill=spill)
    assert undisturbed.model.n_keys > KEYS - 10 and undisturbed.model._bank.spilled > 700
    kept = tmp_path / "often"
    assert payload_of(run(kept, stream, *stops, spill=spill)) == payload_of(undisturbed)
    assert files(kept, "changed") and len(files(kept, "spilled")) > 5
    again = run(kept, stream, spill=tmp_path / "another")
    assert payload_of(again) == payload_of(undisturbed)
    for stop in stops:  # and a new engine, and a new folder, for each stretch
        last = run(tmp_path / "anew", stream, stop, spill=tmp_path / f"spill-{stop}")
    assert payload_of(last) == payload_of(undisturbed)
    unbounded = run(tmp_path / "all", stream, 6_000, spill=None, max_keys=None).model
    for key in range(KEYS):
        mine, other = last.model._bank.known(key), unbounded._bank.known(key)
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            assert mine[1].tobytes() == other[1].tobytes()
    assert (last.model._bank.tallies == unbounded._bank.tallies).all()


def test_what_changed_is_all_that_a_later_checkpoint_writes(tmp_path: Path) -> None:
    stream = records(3_000) + [{"who": i % 5, "x": 1.0, "y": 0, "z": 0.0} for i in range(300)]
    stream += [{"who": -1 - i, "x": 1.0, "y": 0, "z": 0.0} for i in range(50)]
    engine = run(tmp_path, stream, 3_000, 3_300, 3_350, spill=tmp_path / "spill")
    assert [name[5:15] for name in files(tmp_path, "all")] == ["0000000002"]
    assert [int(name[5:15]) for name in files(tmp_path, "spilled")] == [2, 3, 4]
    whole = read_checkpoint(tmp_path / "checkpoint-0000000004.llsvm")["model"]["bank"]
    sizes = [len(part["facts"]) for part in whole["spilled"]]
    assert sizes[0] > 700 and 0 < sizes[1] <= 5 and 40 < sizes[2] <= 50
    assert payload_of(run(tmp_path, stream, spill=tmp_path / "spill")) == payload_of(engine)


def test_too_many_changes_make_all_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_CHANGED", 20)
    stream = records(6_000)
    engine = run(tmp_path, stream, 4_000, 4_050, 4_060, 6_000, spill=tmp_path / "spill")
    assert payload_of(run(tmp_path, stream, spill=tmp_path / "spill")) == payload_of(engine)


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_checkpoint_without_its_spilled_rows_is_passed_over(tmp_path: Path, how: str) -> None:
    stream, spill = records(3_000), tmp_path / "spill"
    run(tmp_path, stream, 2_000, 2_100, spill=spill)
    engine = run(tmp_path, stream, 2_300, spill=spill)
    last = tmp_path / files(tmp_path, "spilled")[-1]
    if how == "missing":
        last.unlink()
    else:
        last.write_bytes(last.read_bytes()[:-1])
    again = run(tmp_path, stream, spill=spill)
    assert again.progress.counts["records"] == 2_100
    assert payload_of(run(tmp_path, stream, 2_300, spill=spill)) == payload_of(engine)


def test_to_roll_back_brings_spilled_keys_back(tmp_path: Path) -> None:
    stream, spill = records(3_000), tmp_path / "spill"
    then = payload_of(run(tmp_path, stream, 2_000, spill=spill))
    number = max(int(path.stem[-10:]) for path in tmp_path.glob("checkpoint-*"))
    engine = run(tmp_path, stream, 2_500, spill=spill)
    checkpoints = Checkpoints(tmp_path)
    roll_back(checkpoints, number, replay=True)
    checkpoints.close()
    assert payload_of(run(tmp_path, stream, spill=spill)) == then
    assert payload_of(run(tmp_path, stream, 2_500, spill=spill)) == payload_of(engine)


@pytest.mark.parametrize("leave", [0, 40_000, 90_000])
def test_a_run_that_has_no_room_to_spill_goes_on_later(tmp_path: Path, leave: int) -> None:
    """Whether there is none for the database, for what a checkpoint holds, or for what comes."""
    stream, kept = records(6_000), tmp_path / "kept"
    undisturbed = run(tmp_path / "once", stream, 6_000, spill=tmp_path / "spill")
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        run(kept, stream, 500, spill=disk)
        before = len(list(kept.glob("checkpoint-*")))
        room = fill(disk, leave)
        with pytest.raises((OSError, EngineError), match="keys cannot be spilled to"):
            run(kept, stream, 6_000, spill=disk)
        assert len(list(kept.glob("checkpoint-*"))) == before
        room.unlink()
        engine = run(kept, stream, 6_000, spill=disk)
        assert payload_of(engine) == payload_of(undisturbed)


def test_a_run_says_where_it_spills_to(tmp_path: Path) -> None:
    stream, spill = records(1_000), tmp_path / "spill"
    engine = run(tmp_path / "spills", stream, 1_000, spill=spill)
    with pytest.raises(EngineError, match="spills keys: say to which folder"):
        run(tmp_path / "spills", stream, spill=None)
    run(tmp_path / "all", stream, 1_000, spill=None, max_keys=None)
    with pytest.raises(EngineError, match="keeps all keys in memory: leave out the folder"):
        run(tmp_path / "all", stream, spill=spill)
    forgets = run(tmp_path / "forgets", stream, 1_000, spill=None)
    assert forgets.model._bank.forgotten > 0
    later = run(tmp_path / "forgets", stream, spill=spill)  # from now on it need not forget
    assert later.model.spill == str(spill)
    path = tmp_path / "model.llsvm"
    engine.model.save(path)
    for made in (load_model(path), load_model(path, spill=spill)):
        assert pack(made._payload()) == payload_of(engine)
        assert made.records_of(stream[0]["who"]) == engine.model.records_of(stream[0]["who"]) > 0
