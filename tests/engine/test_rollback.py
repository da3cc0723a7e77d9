"""Going back to an older checkpoint: what came since comes again, or never; and back from that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Engine, KeyedClassifier, SAPLClassifier
from stream_llsvm.connectors import FileSink, ListSource
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.rollback import roll_back
from tests.engine.test_challengers import sapl
from tests.engine.test_engine import learned, model, rows
from tests.learners.support import everything


def going(folder: Path, data: list[dict[str, Any]], n: int | None = None) -> Engine:
    """Run on, with a challenger and a file of predictions."""
    kept, sink = Checkpoints(folder / "kept", keep=9), FileSink(folder / "out.jsonl")
    engine = Engine(
        ListSource(data, label="y", key="id"), model(), challengers={"sapl": sapl()}, sink=sink,
        checkpoints=kept, max_batch=10, clock=lambda: 0.0,
    )  # fmt: skip
    engine.run(n)
    sink.close()
    kept.close()
    return engine


def rolled(folder: Path, to: str, *, replay: bool) -> Any:
    kept = Checkpoints(folder / "kept", keep=9)
    done = roll_back(kept, kept.number_of(to), replay=replay)
    kept.close()
    return done


def test_what_came_since_is_learned_again(tmp_path: Path) -> None:
    data = rows(300)
    engine = going(tmp_path, data, 100)
    assert engine.made is not None
    going(tmp_path, data, 80)
    written = (tmp_path / "out.jsonl").read_bytes()
    done = rolled(tmp_path, str(engine.made.number), replay=True)
    assert (done.records, done.learned, done.replayed, done.outputs) == (
        80,
        80,
        True,
        (True, False),
    )
    engine = going(tmp_path, data, 80)
    (event,) = [e for e in engine.progress.events if e["kind"] == "rolled back"]
    assert event["text"] == (
        f"to checkpoint {done.to}: 80 records that came since are learned again"
    )
    assert (tmp_path / "out.jsonl").read_bytes() == written
    assert everything(engine.model) == everything(learned(data[:180]))
    assert not [e for e in going(tmp_path, data).progress.events if e["kind"] == "rolled back"]


def test_what_came_since_is_left_out(tmp_path: Path) -> None:
    data = rows(300)
    engine = going(tmp_path, data, 100)
    assert engine.made is not None
    going(tmp_path, data, 80)
    done = rolled(tmp_path, str(engine.made.number), replay=False)
    assert (done.records, done.replayed, done.outputs) == (80, False, (False, False))
    engine = going(tmp_path, data)
    assert everything(engine.model) == everything(learned(data[:100] + data[180:]))
    fresh = sapl()
    for row in data[:100] + data[180:]:
        fresh.predict_proba_one({k: row[k] for k in "abc"})
        fresh.learn_one({k: row[k] for k in "abc"}, row["y"])
    assert everything(engine.models["sapl"]) == everything(fresh)
    assert engine.progress.counts["records"] == 300
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 300


def test_one_can_go_back_from_going_back(tmp_path: Path) -> None:
    data = rows(200)
    engine = going(tmp_path, data, 50)
    assert engine.made is not None
    going(tmp_path, data, 50)
    done = rolled(tmp_path, str(engine.made.number), replay=False)
    rolled(tmp_path, str(done.newest), replay=False)
    assert everything(going(tmp_path, data).model) == everything(learned(data))


def test_a_model_for_each_key_goes_back_with_its_keys(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = [
        {"who": f"w{rng.integers(50)}", "x": float(rng.normal()), "y": int(rng.integers(2))}
        for _ in range(600)
    ]

    def keyed(n: int | None, folder: Path = tmp_path, of: Any = data) -> Engine:
        kept = Checkpoints(folder, keep=2)
        one = KeyedClassifier(SAPLClassifier(n_anchors=4, n_neighbors=2), key="who")
        engine = Engine(ListSource(of, label="y"), one, checkpoints=kept, max_batch=50)
        engine.run(n)
        if n == 200:
            engine.name_checkpoint("then")
        kept.close()
        return engine

    for n in (200, 50, 50, 50, 50):
        keyed(n)
    kept = Checkpoints(tmp_path, keep=2)
    roll_back(kept, kept.number_of("then"), replay=False)
    kept.close()
    for more in (50, 50, None):
        engine = keyed(more)
    alone = Engine(
        ListSource(data[:200] + data[400:], label="y"),
        KeyedClassifier(SAPLClassifier(n_anchors=4, n_neighbors=2), key="who"),
        max_batch=50,
    )
    alone.run()
    assert everything(engine.model.model) == everything(alone.model.model)
    assert engine.model._payload()["bank"] is not None
    assert engine.model.n_keys == alone.model.n_keys


def test_a_source_that_cannot_go_back_is_not_replayed(tmp_path: Path) -> None:
    class Once(ListSource):
        seekable = False

    kept = Checkpoints(tmp_path)
    Engine(Once(rows(50), label="y"), model(), checkpoints=kept).run()
    with pytest.raises(CheckpointError, match="cannot be read again; --skip leaves it"):
        roll_back(kept, 1, replay=True)
    assert roll_back(kept, 1, replay=False).records == 50


def test_a_checkpoint_that_cannot_be_read_is_not_gone_back_to(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    Engine(ListSource(rows(50), label="y"), model(), checkpoints=kept).run()
    kept.path(1).write_bytes(kept.path(1).read_bytes()[:-9])
    said = r"checkpoint-0000000001\.llsvm cannot be read: trunc"
    with pytest.raises(CheckpointError, match=said):
        roll_back(kept, 1, replay=False)
    assert kept.number == 2
