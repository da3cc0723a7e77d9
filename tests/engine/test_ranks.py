"""The areas under curves are scikit-learn's, within what bins can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.ranks import no_ranks, pr_auc, ranks_of, roc_auc
from stream_llsvm.model.file import ModelFileError, dumps

BOUND = 0.002


def scored(n: int, rare: float, signal: float, window: int = 700) -> tuple[ClassScores, Any, Any]:
    rng = np.random.default_rng(int(100 * rare))
    y = (rng.random(n) < rare).astype(np.int64)
    z = signal * (2 * y - 1) + rng.normal(size=n) + np.log(rare / (1 - rare))
    p = 1 / (1 + np.exp(-z))
    scores = ClassScores(window)
    told = (p > 0.5).astype(np.int64)
    for at in np.array_split(np.arange(n), 7):
        p_truth = np.where(y == 1, p, 1 - p)[at]
        scores.update(y[at], told[at], p_truth, np.maximum(p, 1 - p)[at])
    return scores, y, p


@pytest.mark.parametrize("rare", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("signal", [0.0, 1.0, 6.0])
def test_areas_are_those_of_scikit_learn(rare: float, signal: float) -> None:
    scores, y, p = scored(5_000, rare, signal)
    report = scores.report()
    for view, at in (("windowed", slice(-700, None)), ("cumulative", slice(None))):
        truth, told = y[at], p[at]
        assert report[view]["roc_auc"] == pytest.approx(
            metrics.roc_auc_score(truth, told), abs=BOUND
        )
        if truth.mean() > 0.5:
            truth, told = 1 - truth, 1 - told
        assert report[view]["pr_auc"] == pytest.approx(
            metrics.average_precision_score(truth, told), abs=BOUND
        )
        recalls = metrics.recall_score(y[at], p[at] > 0.5, average=None)
        assert report[view]["g_mean"] == pytest.approx(np.prod(recalls) ** 0.5)
    assert "roc_auc" not in report["fading"]


def test_extremes_are_ranked() -> None:
    truth = np.array([0, 1, 0, 1])
    loss = -np.log(np.array([1.0, 1.0, 1e-15, 1e-15]))
    assert roc_auc(ranks_of(truth, loss)) == 0.5
    assert roc_auc(no_ranks()) is None and pr_auc(no_ranks()) is None
    assert roc_auc(ranks_of(truth[::2], loss[::2])) is None


def test_with_a_third_class_there_are_none() -> None:
    scores, _, _ = scored(100, 0.3, 1.0)
    assert "roc_auc" in scores.report()["cumulative"]
    again = ClassScores.restored(scores.payload())
    assert dumps(again.payload()) == dumps(scores.payload())
    one = np.array([2])
    scores.update(one, one, np.array([0.5]), np.array([0.5]))
    assert not {"roc_auc", "pr_auc"} & set(scores.report()["windowed"])
    assert dumps(ClassScores.restored(scores.payload()).payload()) == dumps(scores.payload())
    for broken in ({"ranks": -no_ranks()[:1]}, {"ranks": no_ranks()}, {"decided": {"n": 1}}):
        with pytest.raises(ModelFileError):
            ClassScores.restored(again.payload() | broken)
