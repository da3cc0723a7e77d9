"""Runs that learn numbers: in blocks or one by one, with labels that come later, gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import linear_model, metrics

from stream_llsvm import LLSVMRegressor, PegasosRegressor, SAPLClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine import Checkpoints, Engine, EngineError, Waiting
from stream_llsvm.engine.learner import Learner
from stream_llsvm.model.file import dumps

Rows = list[dict[str, Any]]
OURS = pytest.mark.parametrize("kind", [LLSVMRegressor, PegasosRegressor])


def rows(n: int, seed: int = 0) -> Rows:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    y = np.where(np.arange(n) < 1_500, 3 * x[:, 0] * x[:, 1] + 9 * x[:, 2], -30 * x[:, 2])
    parts = zip(x.tolist(), y.tolist(), range(n), strict=True)
    return [{"a": a, "b": b, "c": c, "y": label, "id": i} for (a, b, c), label, i in parts]


class Columns(ListSource):
    """The same records, as columns."""

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        batch = super().poll(max_records, timeout)
        if batch is not None:
            assert batch.records is not None
            batch.names = ("a", "b", "c")
            batch.values = np.array([[r[k] for k in "abc"] for r in batch.records])
            batch.records = None
        return batch


def source(of: Rows, kind: type[ListSource] = ListSource) -> ListSource:
    return kind(of, label="y", key="id")


def everything(engine: Engine) -> bytes:
    """Return model and scores as bytes."""
    kept = engine.progress.payload() | {"seconds": 0.0}
    return dumps({"model": engine.model._payload(), "progress": kept})


@OURS
def test_blocks_and_records_learn_the_same_to_the_bit(kind: Any) -> None:
    data = rows(2_000)
    for i in (0, 1, 30, 31, 500, 1_999):
        data[i]["y"] = None
    data[700]["y"] = "none at all"
    engines = []
    for way, size in ((ListSource, 1), (ListSource, 400), (Columns, 37), (Columns, 1_000)):
        engine = Engine(source([*data], way), kind(), max_batch=size)
        report = engine.run()
        assert (report["learned"], report["unscored"]) == (1_993, 1)
        assert report["rejected"] == {"odd label": 1}
        engines.append(engine)
    assert engines[0].progress.counts["drifts"] > 0
    assert len(set(map(everything, engines))) == 1


@OURS
def test_what_came_before_any_label_is_answered_by_nothing(kind: Any) -> None:
    learner = Learner(kind())
    x = np.ones((4, 2))
    answers = learner.block(("a", "b"), x, [None, None, 2.0, 2.0])
    assert answers.labels[:3] == [None] * 3
    assert answers.labels[3] is not None
    records = [dict.fromkeys("ab", 1.0)] * 4
    assert Learner(kind()).records(records, [None, None, 2.0, 2.0]).labels == answers.labels
    assert (answers.sure, answers.truth, answers.given) == (None, None, None)


def test_a_model_of_rivers_is_scored_as_river_scores_it() -> None:
    data, model, mae = rows(300), linear_model.LinearRegression(), metrics.MAE()
    report = Engine(source(data), linear_model.LinearRegression()).run()
    for row in data:
        x = {k: row[k] for k in "abc"}
        mae.update(row["y"], model.predict_one(x))
        model.learn_one(x, row["y"])
    assert report["scores"]["cumulative"]["mae"] == pytest.approx(mae.get())
    assert report["unscored"] == 0


@OURS
def test_labels_that_come_later_are_scored_by_what_was_told_then(kind: Any) -> None:
    data = rows(300)
    late = [{"id": r["id"], "y": str(r.pop("y"))} for r in data[100:]]
    late[5]["y"], late[6]["y"] = "calm", "NA"

    class Patient(ListSource):
        """Labels that come when the records are through."""

        def poll(self, max_records: int, timeout: float) -> Batch | None:
            ready = engine.progress.counts["records"] == 300
            return super().poll(max_records, timeout) if ready else None

    engine = Engine(source(data), kind(), labels=Patient(late, "y", "id"), waiting=Waiting(500))
    report = engine.run()
    assert (report["learned"], report["waiting"]["matched"]) == (298, 198)
    assert report["rejected"] == {"odd label": 1}
    model, mae = kind(), metrics.MAE()
    for i, row in enumerate(data[:100]):
        x = {k: row[k] for k in "abc"}
        if i:
            mae.update(row["y"], model.predict_one(x))
        model.learn_one(x, row["y"])
    for row, label in zip(data[100:], late, strict=True):
        if label["y"] not in ("calm", "NA"):
            mae.update(float(label["y"]), model.predict_one({k: row[k] for k in "abc"}))
    assert report["scores"]["cumulative"]["mae"] == pytest.approx(mae.get())


@OURS
def test_a_run_goes_on_to_the_bit_with_its_detector(kind: Any, tmp_path: Path) -> None:
    data = rows(2_500)
    whole = Engine(source(data), kind())
    whole.run()
    for _ in range(2):
        kept = Checkpoints(tmp_path)
        part = Engine(source(data), kind(), checkpoints=kept, max_batch=300)
        part.run(1_480 if part.position is None else None)
        kept.close()
    assert whole.progress.counts["drifts"] > 0
    assert everything(part) == everything(whole)


def test_a_folder_of_another_task_is_refused(tmp_path: Path) -> None:
    data = [{"x": float(i), "y": i % 2} for i in range(50)]
    kept = Checkpoints(tmp_path)
    Engine(ListSource(data, "y"), SAPLClassifier(), checkpoints=kept).run()
    kept.close()
    with pytest.raises(EngineError, match="its model is a SAPLClassifier, not a LLSVMRegressor"):
        Engine(ListSource(data, "y"), LLSVMRegressor(), checkpoints=Checkpoints(tmp_path))


def test_rivers_models_have_checkpoints_only_if_pickle_is_trusted(tmp_path: Path) -> None:
    data = rows(200)
    kept = Checkpoints(tmp_path)
    with pytest.raises(EngineError, match="a LinearRegression is none of this package's"):
        Engine(source(data), linear_model.LinearRegression(), checkpoints=kept)
    kept.close()
    whole = Engine(source(data), linear_model.LinearRegression()).run()
    for most in (120, None):
        kept = Checkpoints(tmp_path)
        model = linear_model.LinearRegression()
        part = Engine(source(data), model, checkpoints=kept, trust_pickle=True)
        report = part.run(most)
        kept.close()
    assert report["scores"] == whole["scores"]
