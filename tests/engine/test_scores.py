"""Prequential scores, beside scikit-learn's and beside the obvious loop."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics

from stream_llsvm.engine.by_class import MOST, OTHERS
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.estimate import Estimate
from stream_llsvm.engine.scores import FADE
from stream_llsvm.model.file import dumps, loads

Codes = NDArray[np.int64]


def stream(seed: int, n: int, classes: int) -> tuple[Codes, Codes, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    told = np.where(rng.random(n) < 0.7, truth, rng.integers(0, classes, n))
    return truth, told, rng.random(n)


def scored(
    blocks: list[int], truth: Codes, told: Codes, p: NDArray[np.float64], window: int = 50
) -> ClassScores:
    """Feed the stream in blocks of these sizes, then the rest."""
    scores, begin = ClassScores(window), 0
    for size in [*blocks, len(truth)]:
        part = slice(begin, begin + size)
        scores.update(truth[part], told[part], p[part], p[part])
        begin += size
    return scores


def test_the_cumulative_scores_are_scikit_learns() -> None:
    truth, told, p = stream(0, 400, 3)
    found = scored([], truth, told, p).report()["cumulative"]
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, told))
    assert found["kappa"] == pytest.approx(metrics.cohen_kappa_score(truth, told))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(truth, told, average="macro"))
    assert found["log_loss"] == pytest.approx(float(-np.log(p).mean()))


def test_the_windowed_scores_see_the_last_records_only() -> None:
    truth, told, p = stream(1, 333, 4)
    found = scored([100, 7, 120], truth, told, p).report()["windowed"]
    last = slice(-50, None)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth[last], told[last]))
    assert found["kappa"] == pytest.approx(metrics.cohen_kappa_score(truth[last], told[last]))


def test_the_baselines_know_only_what_came_before() -> None:
    truth, told, p = stream(2, 200, 3)
    majority = last = 0
    for i, label in enumerate(truth.tolist()):
        before = truth[:i]
        if i > 0:
            majority += int(np.bincount(before, minlength=3).argmax()) == label
            last += int(before[-1]) == label
    found = scored([1, 60], truth, told, p).report()["cumulative"]
    assert found["majority"] == pytest.approx(majority / 200)
    assert found["no_change"] == pytest.approx(last / 200)
    gain = found["accuracy"] - found["majority"]
    assert found["kappa_m"] == pytest.approx(gain / (1 - found["majority"]))


def test_fading_weighs_records_by_their_age() -> None:
    truth, told, p = stream(3, 300, 2)
    weights = FADE ** np.arange(299, -1, -1)
    expected = float((weights * (truth == told)).sum() / weights.sum())
    found = scored([13, 100], truth, told, p).report()["fading"]
    assert found["accuracy"] == pytest.approx(expected)


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 10))
def test_how_the_stream_is_cut_does_not_matter(blocks: list[int], seed: int) -> None:
    truth, told, p = stream(seed, 150, 3)
    whole = scored([], truth, told, p).report()
    cut = scored(blocks, truth, told, p).report()
    for view, values in whole.items():
        assert cut[view] == pytest.approx(values)


def test_a_class_that_comes_late_widens_the_table() -> None:
    scores = ClassScores(10)
    one: Any = np.array([1.0])
    scores.update(np.array([0]), np.array([0]), one, one)
    scores.update(np.array([5]), np.array([0]), one, one)
    assert scores.confusion.shape == (6, 6)
    assert scores.confusion.sum() == 2
    assert scores.report()["cumulative"]["accuracy"] == 0.5


@given(st.lists(st.booleans(), min_size=60, max_size=60), st.integers(0, 10))
def test_what_was_not_predicted_is_in_no_score(answered: list[bool], seed: int) -> None:
    """Accuracy, kappa and F1 are those of the others; the baselines have seen every label."""
    truth, told, p = stream(seed, 60, 3)
    there = np.array(answered)
    found = scored([7, 20], truth, np.where(there, told, -1), p, window=25).report()
    if not there.any():
        assert found == {}
        return
    expected = scored([], truth[there], told[there], p[there], window=25).report()
    for view in found:
        for name in ("accuracy", "log_loss", "kappa", "macro_f1"):
            assert found[view].get(name) == pytest.approx(expected[view].get(name)), (view, name)
    with_baselines = scored([], truth, told, p).report()["cumulative"]
    if there.all():
        assert found["cumulative"]["majority"] == with_baselines["majority"]
    last = np.concatenate([[-1], truth[:-1]])
    assert found["cumulative"]["no_change"] == pytest.approx((last == truth)[there].mean())


def test_scores_go_on_where_they_were_kept() -> None:
    truth, told, p = stream(4, 200, 3)
    half = scored([], truth[:90], told[:90], p[:90])
    kept = ClassScores.restored(loads(dumps({"s": half.payload()}))["s"])  # type: ignore[arg-type]
    for scores in (half, kept):
        scores.update(truth[90:], told[90:], p[90:], p[90:])
    assert kept.report() == half.report()


def test_nothing_is_reported_of_nothing() -> None:
    assert ClassScores().report() == {}


def test_what_a_checkpoint_holds_does_not_change_any_more() -> None:
    """It is written by a thread of its own, while the run goes on."""
    truth, told, p = stream(3, 300, 3)
    scores = scored([], truth[:200], told[:200], p[:200])
    payload = scores.payload()
    before = dumps(payload)
    scores.update(truth[200:], told[200:], p[200:], p[200:])
    assert dumps(payload) == before


def test_the_estimate_is_the_mean_of_the_top_probability_and_needs_no_label() -> None:
    _, told, p = stream(6, 333, 4)
    told[100:110] = -1  # nothing was answered
    estimate = Estimate(50)
    for begin in range(0, 333, 70):
        estimate.update(told[begin : begin + 70], p[begin : begin + 70])
    answered = told >= 0
    means = estimate.means()
    assert estimate.n == 323
    assert means["windowed"] == pytest.approx(p[answered][-50:].mean())
    assert means["cumulative"] == pytest.approx(p[answered].mean())
    weights = FADE ** np.arange(322, -1, -1)
    assert means["fading"] == pytest.approx((weights * p[answered]).sum() / weights.sum())
    assert estimate.answers().tolist() == np.bincount(told[-50:], minlength=4).tolist()
    recent, ever = estimate.confidence()
    edges = np.linspace(0, 1, 21)
    assert recent.tolist() == np.histogram(p[answered][-50:], edges)[0].tolist()
    assert ever.tolist() == np.histogram(p[answered], edges)[0].tolist()
    again = Estimate.restored(loads(dumps(estimate.payload())), 4)
    for one in (estimate, again):
        one.update(told[:20], p[:20])
    assert dumps(again.payload()) == dumps(estimate.payload())


def test_overconfidence_is_the_promise_less_what_was_right_of_the_same_records() -> None:
    truth, told, p = stream(7, 300, 3)
    scores = scored([40], truth, told, p)
    scores.estimate.update(told, np.ones(300))  # of answers whose labels have not come
    report = scores.report()
    right = truth == told
    assert report["cumulative"]["overconfidence"] == pytest.approx(p.mean() - right.mean())
    assert report["windowed"]["overconfidence"] == pytest.approx(
        p[-50:].mean() - right[-50:].mean()
    )
    assert report["windowed"]["estimated"] == 1.0


def test_reliability_counts_by_how_sure_the_answers_were() -> None:
    truth, told, p = stream(8, 200, 2)
    recent, ever = scored([33], truth, told, p).reliability()
    for found, part in ((recent, slice(-50, None)), (ever, slice(None))):
        bins, right = (p[part] * 20).astype(int), (truth == told)[part]
        assert found[0].tolist() == np.bincount(bins, minlength=20).tolist()
        assert found[1] == pytest.approx(np.bincount(bins, p[part], minlength=20))
        assert found[2].tolist() == np.bincount(bins, right, minlength=20).tolist()


def test_each_class_has_the_scores_that_scikit_learn_gives_it() -> None:
    truth, told, p = stream(9, 200, 5)
    scores = scored([], truth, told, p)
    found = scores.by_class()
    last = slice(-50, None)
    wanted = metrics.precision_recall_fscore_support(
        truth[last], told[last], labels=range(5), zero_division=0
    )
    assert [one.code for one in found] == list(range(5))
    mine = [[one.precision or 0, one.recall or 0, one.f1 or 0, one.support] for one in found]
    assert pytest.approx(np.array(wanted)) == np.array(mine).T


def test_only_the_most_frequent_classes_stand_by_themselves() -> None:
    chance = np.random.default_rng(3)
    truth = np.minimum(chance.geometric(0.05, 4_000) - 1, 49)
    found = scored([], truth, truth, np.ones(4_000), window=4_000).by_class()
    assert len(found) == MOST + 1
    assert found[-1].code == OTHERS
    counts = np.bincount(truth, minlength=50)
    kept = [one.code for one in found[:-1]]
    assert counts[kept].min() >= np.delete(counts, kept).max()
    assert sum(one.support for one in found) == 4_000


def test_counting_keeps_no_array_alive() -> None:
    """What compiled code is given is freed when the batch is over: memory stays flat."""
    truth, told, p = stream(10, 200, 3)
    scores, sure = ClassScores(50), p.copy()
    given = (truth, told, p, sure)
    before = [sys.getrefcount(one) for one in given]
    for _ in range(20):
        scores.update(truth, told, p, sure)
        scores.estimate.update(told, p)
    assert [sys.getrefcount(one) for one in given] == before
