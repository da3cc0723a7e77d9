"""A run that decides: results, scores, late labels, checkpoints; learning stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Decision, Engine, LLSVMClassifier, LLSVMRegressor
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.predictions import as_line
from stream_llsvm.engine.checkpoints import Checkpoints, read_checkpoint
from stream_llsvm.engine.resume import contents_of
from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.packing import pack
from tests.engine.test_challengers import sapl
from tests.engine.test_engine import Columns, FetchBuffer, Kept, model, rows, source
from tests.learners.support import everything


def decision() -> Decision:
    return Decision(
        costs={0: {2: 4.0}, 2: {0: 30.0}}, hold={"label": 1, "recall": 0.8}, coverage=0.9
    )


@pytest.mark.parametrize("kind", [ListSource, Columns])
@pytest.mark.parametrize("size", [1, 37, 1_000])
def test_a_block_is_decided_as_its_records_are(kind: type[ListSource], size: int) -> None:
    data, sink, alone = rows(400), Kept(), model()
    engine = Engine(
        kind(data, label="y", key="id"), model(), sink=sink, decision=decision(), max_batch=size
    )
    report = engine.run()
    by_hand, outcomes = decision(), []
    for row, result in zip(data, sink.results, strict=True):
        proba = alone.predict_proba_one({k: row[k] for k in "abc"})
        decided = by_hand.decide(proba)
        assert result.decided == decided
        assert result.probabilities is None
        if proba:
            outcomes.append(by_hand.learn(proba, decided, row["y"]))
        alone.learn_one({k: row[k] for k in "abc"}, row["y"])
    assert everything(engine.model) == everything(alone)
    means = np.nanmean(np.array(outcomes), axis=0)
    found = report["scores"]["cumulative"]
    told = [found[name] for name in ("cost", "coverage", "set_size", "held")]
    assert told == pytest.approx(means.tolist())
    assert b'"decision":' in as_line(sink.results[-1]) and b'"set":[' in as_line(sink.results[-1])


def test_late_labels_are_decided_when_they_came_and_learned_when_labels_do(tmp_path: Path) -> None:
    data, sink = rows(300), Kept()
    unlabelled = [{k: v for k, v in row.items() if k != "y"} for row in data]
    labels = FetchBuffer([{"id": r["id"], "y": r["y"]} for r in data[50:]], sink, 300)
    engine = Engine(
        source(data[:50] + unlabelled[50:]), model(), sink=sink, labels=labels,
        decision=decision(), checkpoints=Checkpoints(tmp_path), class_weight={1: 2.0},
        challengers={"sapl": sapl()}, max_batch=50,
    )  # fmt: skip
    report = engine.run()
    assert report["learned"] == 300
    scores = engine.progress.scores.decided  # type: ignore[union-attr]
    assert scores is not None and scores.n == 299
    assert report["challengers"][0]["learned"] == 300
    weighed = model()
    for row in data[:50]:
        weighed.predict_proba_one({k: row[k] for k in "abc"})
        weighed.learn_one({k: row[k] for k in "abc"}, row["y"], w=2.0 if row["y"] == 1 else 1.0)
    for row in data[50:]:
        weighed.predict_proba_one({k: row[k] for k in "abc"})
    for row in data[50:]:
        weighed.learn_one({k: row[k] for k in "abc"}, row["y"], w=2.0 if row["y"] == 1 else 1.0)
    assert everything(engine.model) == everything(weighed)


def test_a_run_goes_on_with_what_it_decides_by(tmp_path: Path) -> None:
    data = rows(300)
    quiet = Engine(source(data), model(), decision=decision(), class_weight="balanced")
    quiet.run()
    for stop in (70, 110, 120):
        kept = Checkpoints(tmp_path)
        engine = Engine(
            source(data), model(), decision=decision(), class_weight="balanced", checkpoints=kept,
            max_batch=16,
        )  # fmt: skip
        engine.run(stop)
        kept.close()
    assert everything(engine.model) == everything(quiet.model)
    mine, other = engine.decisions.payload(), quiet.decisions.payload()
    assert mine is not None and other is not None
    assert pack(mine) == pack(other)
    assert engine.report()["scores"]["cumulative"] == quiet.report()["scores"]["cumulative"]
    kept = Checkpoints(tmp_path)
    changed = Engine(source(data), model(), decision=Decision(coverage=0.8), checkpoints=kept)
    assert [e for e in changed.progress.events if e["kind"] == "decisions changed"]
    assert "coverage" not in changed.report()["scores"]["cumulative"]
    kept.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("kept")
    checkpoints = Checkpoints(folder)
    Engine(
        source(rows(60)), model(), decision=decision(), class_weight="balanced",
        checkpoints=checkpoints,
    ).run()  # fmt: skip
    checkpoints.close()
    return read_checkpoint(max(folder.glob("checkpoint-*")))


@pytest.mark.parametrize(
    "change",
    [{"options": 7}, {"decision": None}, {"weights": None}, {"decision": {}}, {"weights": {}},
     {"options": {}}, {"options": {"costs": {1: {0: 1.0}}}}],
)  # fmt: skip
def test_what_no_run_has_written_is_refused(kept: dict[str, Any], change: dict[str, Any]) -> None:
    contents_of(kept)
    with pytest.raises(ModelFileError):
        contents_of(kept | {"decision": kept["decision"] | change})
    older = {name: value for name, value in kept.items() if name != "decision"}
    assert contents_of(older).decision is None


def test_numbers_are_not_decided() -> None:
    with pytest.raises(ValueError, match="numbers"):
        Engine(source(rows(1)), LLSVMRegressor(), decision=decision())
    with pytest.raises(ValueError, match="of classes"):
        Engine(source(rows(1)), LLSVMRegressor(), class_weight="balanced")


def test_one_that_takes_no_weights_is_not_weighed() -> None:
    from river import naive_bayes

    with pytest.raises(ValueError, match="counts as one"):
        Engine(source(rows(1)), naive_bayes.GaussianNB(), class_weight="balanced")


def test_without_a_decision_nothing_is_different() -> None:
    sink = Kept()
    report = Engine(source(rows(100)), LLSVMClassifier(n_anchors=4), sink=sink).run()
    assert all(result.decided is None for result in sink.results)
    assert not {"cost", "coverage", "set_size", "held"} & set(report["scores"]["windowed"])


def test_what_is_in_force_is_told_with_the_threshold_of_now() -> None:
    engine = Engine(source(rows(600)), model(), decision=decision(), class_weight={1: 2.0})
    before = engine.decisions.in_force()
    engine.run()
    now = engine.decisions.in_force()
    assert before is not None
    assert now is not None
    assert {k: v for k, v in now.items() if before[k] == v} == {
        "costs": {"0": {"2": 4.0}, "2": {"0": 30.0}}, "hold": {"label": 1, "recall": 0.8},
        "coverage": 0.9, "class_weight": {"1": 2.0},
    }  # fmt: skip
    assert (now["threshold"], now["level"]) == (
        engine.decisions.decision.threshold,  # type: ignore[union-attr]
        engine.decisions.decision.level,  # type: ignore[union-attr]
    )
    assert Engine(source(rows(1)), model()).decisions.in_force() is None
