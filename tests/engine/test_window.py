"""Windows that begin anew: what another model answered before is in them no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import Decision, Engine, LLSVMClassifier, PegasosClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.decided_scores import DecidedScores
from stream_llsvm.engine.estimate import Estimate
from stream_llsvm.engine.number_scores import NumberScores
from stream_llsvm.learners.decision import Outcome
from stream_llsvm.model.file import ModelFileError, dumps, loads

#: Before and after the window begins anew: never full, just full, turned over, both of it.
TURNS = [(30, 1), (30, 19), (30, 20), (30, 21), (30, 55), (7, 5), (7, 14), (20, 13), (0, 8)]
WINDOW = 20
#: What the window says of its own records alone; baselines know what came before.
OWN = ("accuracy", "log_loss", "macro_f1", "kappa", "g_mean", "roc_auc", "pr_auc")


def answers(n: int) -> tuple[Any, Any, Any, Any]:
    chance = np.random.default_rng(0)
    truth = chance.integers(0, 2, n)
    told = np.where(chance.random(n) < 0.8, truth, 1 - truth)
    sure = 0.5 + chance.random(n) / 2
    return truth, told, np.where(truth == told, sure, 1 - sure), sure


def turned(first: int, before: int, after: int) -> ClassScores:
    """Return scores of the records from the first on, whose window began anew in between."""
    parts = answers(before + after)
    scores = ClassScores(WINDOW)
    scores.update(*(part[first:before] for part in parts))
    scores.estimate.update(*(part[first:before] for part in parts[1::2]))
    scores.begin_anew()
    scores = ClassScores.restored(loads(dumps(scores.payload())))
    for at in range(before, before + after, 3):
        block = [part[at : min(at + 3, before + after)] for part in parts]
        scores.update(*block)
        scores.estimate.update(block[1], block[3])
    return scores


@pytest.mark.parametrize(("before", "after"), TURNS)
def test_the_window_is_that_of_the_later_records_alone(before: int, after: int) -> None:
    scores, fresh = turned(0, before, after), turned(before, before, after)
    found, wanted = scores.report(), fresh.report()
    assert {k: v for k, v in found["windowed"].items() if k in OWN} == pytest.approx(
        {k: v for k, v in wanted["windowed"].items() if k in OWN}
    )
    assert (scores.windowed_confusion() == fresh.windowed_confusion()).all()
    assert scores.estimate.means()["windowed"] == pytest.approx(fresh.estimate.means()["windowed"])
    assert (scores.estimate.answers() == fresh.estimate.answers()).all()
    assert scores.reliability()[0] == pytest.approx(fresh.reliability()[0])
    if before:
        assert found["cumulative"]["accuracy"] != wanted["cumulative"]["accuracy"]


@pytest.mark.parametrize(("before", "after"), TURNS)
def test_of_numbers_and_decisions_too(before: int, after: int) -> None:
    chance = np.random.default_rng(1)
    truth, told = chance.normal(size=(2, before + after))
    outcomes = [
        Outcome(float(a), float(b > 0), 1.0, float("nan")) for a, b in zip(truth, told, strict=True)
    ]
    scores, fresh = NumberScores(WINDOW), NumberScores(WINDOW)
    decided, later = DecidedScores(WINDOW, 0.99), DecidedScores(WINDOW, 0.99)
    scores.update(truth[:before], told[:before])
    decided.update(outcomes[:before])
    scores.begin_anew()
    decided.begin_anew()
    scores = NumberScores.restored(loads(dumps(scores.payload())))
    decided = DecidedScores.restored(loads(dumps(decided.payload())), WINDOW)
    for one in (scores, fresh):
        one.update(truth[before:], told[before:])
    for each in (decided, later):
        each.update(outcomes[before:])
    for name in ("mae", "rmse", "r2"):
        wanted = fresh.report()["windowed"][name]
        assert scores.report()["windowed"][name] == pytest.approx(wanted)
    means, expected = decided.means()["windowed"], later.means()["windowed"]
    assert means == pytest.approx(expected, nan_ok=True)


def test_a_window_that_has_just_begun_says_nothing() -> None:
    for scores in (ClassScores(WINDOW), NumberScores(WINDOW)):
        if isinstance(scores, ClassScores):
            scores.update(*answers(50))
            scores.estimate.update(*answers(50)[1::2])
        else:
            scores.update(*np.ones((2, 50)))
        scores.begin_anew()
        report = scores.report()
        assert report["windowed"] == {}
        assert set(report) == {"windowed", "fading", "cumulative"}
        assert report["cumulative"]
    estimate = Estimate(WINDOW)
    estimate.update(*answers(50)[1::2])
    estimate.begin_anew()
    assert set(estimate.means()) == {"fading", "cumulative"}
    assert estimate.answers().sum() == 0


def test_a_beginning_that_does_not_fit_is_refused() -> None:
    scores = ClassScores(WINDOW)
    scores.update(*answers(5))
    for wrong in (6, -1, 1.0, None):
        with pytest.raises(ModelFileError):
            ClassScores.restored({**scores.payload(), "begun": wrong})
    old = scores.payload()
    del old["begun"]  # as older versions wrote it
    assert ClassScores.restored(old).report() == scores.report()


def test_after_a_promotion_the_window_is_of_the_new_champion(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    x = chance.normal(size=(1_300, 2))
    rows = [{"a": a, "b": b, "y": int(a * b > 0)} for a, b in x.tolist()]

    def engine(kept: Checkpoints) -> Engine:
        return Engine(
            ListSource(rows, label="y"), PegasosClassifier(), slices=["none"],
            challengers={"better": LLSVMClassifier()}, checkpoints=kept,
            decision=Decision(coverage=0.9), max_batch=100,
        )  # fmt: skip

    checkpoints = Checkpoints(tmp_path)
    run = engine(checkpoints)
    run.run(1_000)
    assert run.report()["scores"]["windowed"]["accuracy"] < 0.7
    run.promote("better")
    report = run.report()
    assert report["scores"]["windowed"] == {}
    assert report["slices"]["none"][0]["recent_error"] is None
    (event,) = [one for one in run.progress.events if one["kind"] == "promoted"]
    assert event["text"].endswith("windowed scores begin anew")
    checkpoints.close()
    checkpoints = Checkpoints(tmp_path)
    run = engine(checkpoints)  # goes on with the window as it was left
    assert run.report()["scores"]["windowed"] == {}
    run.run()
    report = run.report()
    assert report["scores"]["windowed"]["accuracy"] > 0.85
    assert report["scores"]["cumulative"]["accuracy"] < 0.8
    assert 0.85 < report["scores"]["windowed"]["coverage"] <= 1
    assert report["slices"]["none"][0]["recent_error"] < 0.15
    assert run.progress.scores.windowed_confusion().sum() == 300  # type: ignore[union-attr]
    checkpoints.close()
