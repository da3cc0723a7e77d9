"""Decisions keep their promises, whatever the stream does, and leave learning alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import naive_bayes

from stream_llsvm import DecidingClassifier, Decision, LLSVMClassifier
from stream_llsvm.learners.class_weights import ClassWeights
from stream_llsvm.model.packing import pack
from tests.learners.support import everything

Stream = list[tuple[dict[int, float], int]]


def stream(n: int, seed: int, sharpness: float = 1.0) -> Stream:
    """Return probabilities and truths, drifting in the middle; sharpened they are wrong."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2.0, 2.0, n) + np.where(np.arange(n) > n // 2, 1.5, 0.0)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    told = 1 / (1 + np.exp(-sharpness * z))
    return [({0: 1 - p, 1: p}, int(t)) for p, t in zip(told.tolist(), y.tolist(), strict=True)]


def outcomes(decision: Decision, of: Stream) -> np.ndarray:
    return np.array([decision.learn(p, decision.decide(p), y) for p, y in of])


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.97])
def test_the_promised_coverage_is_kept(coverage: float, sharpness: float) -> None:
    found = outcomes(Decision(coverage=coverage), stream(8_000, 1, sharpness))
    covered = found[:, 1]
    assert covered.mean() > coverage - 200 / 8_000
    assert covered[-2_000:].mean() == pytest.approx(max(coverage, 0.8), abs=0.04)
    assert 1 <= found[:, 2].mean() < 2


@settings(deadline=None, max_examples=25)
@given(st.lists(st.booleans(), min_size=400, max_size=400), st.sampled_from([0.8, 0.95]))
def test_an_adversary_cannot_break_it(chosen: list[bool], coverage: float) -> None:
    """The bound of Gibbs and Candes, proposition 4.1, holds for any stream of known labels."""
    decision = Decision(coverage=coverage)
    told = [({0: 0.9, 1: 0.1}, int(one)) for one in chosen]
    missed = 1 - outcomes(decision, told)[:, 1]
    assert missed.mean() <= 1 - coverage + (1 + 0.005) / (0.005 * len(chosen))


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("kind", ["precision", "recall"])
@pytest.mark.parametrize("wanted", [0.6, 0.85])
def test_what_is_held_is_held(kind: str, wanted: float, sharpness: float) -> None:
    decision = Decision(hold={"label": 1, kind: wanted})
    held = outcomes(decision, stream(16_000, 2, sharpness))[:, 3]
    assert np.nanmean(held[3_000:]) == pytest.approx(wanted, abs=0.03)
    assert np.nanmean(held[-5_000:]) == pytest.approx(wanted, abs=0.05)
    assert decision.threshold is not None


def test_the_least_expected_cost_costs_least() -> None:
    costs = {0: {1: 3.0}, 1: {0: 40.0}}
    of = stream(5_000, 3)
    ours = outcomes(Decision(costs=costs), of)[:, 0].mean()
    likeliest = np.mean([float(costs[y].get(round(p[1]), 0.0)) for p, y in of])
    by_any_threshold = [
        np.mean([costs[y].get(int(p[1] >= at), 0.0) for p, y in of])
        for at in np.linspace(0, 1, 101)
    ]
    assert ours < 0.7 * likeliest
    assert ours == pytest.approx(min(by_any_threshold), rel=0.05)


def test_labels_of_a_file_are_told_by_their_text() -> None:
    decision = Decision(costs={"1": {"0": 9}}, hold=None)
    assert decision.decide({0: 0.8, 1: 0.2}).label == 1
    assert Decision(hold={"label": "1", "recall": 0.9})._held({0: 0.5, 1: 0.5}) == 1
    assert decision.decide({}) == (None, None)
    assert Decision(coverage=0.9).decide({}) == (None, ())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "costs, hold or coverage"), ({"costs": {}}, "truth: {decided"),
        ({"costs": {"a": 3}}, "costs of 'a'"), ({"costs": {"a": {"b": "x"}}}, "the cost of 'b'"),
        ({"hold": {"label": "a"}}, "hold is a label"), ({"coverage": 2}, "coverage must be"),
        ({"hold": {"label": "a", "recall": 1, "precision": 1}}, "hold is a label"),
        ({"hold": {"label": "a", "recall": 7}}, "recall must be"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Decision(**options)


def test_what_goes_on_is_the_same_as_what_never_stopped() -> None:
    how: Any = {"costs": {1: {0: 5}}, "hold": {"label": 1, "recall": 0.7}, "coverage": 0.9}
    whole, first = Decision(**how), Decision(**how)
    of = stream(600, 4)
    outcomes(whole, of)
    outcomes(first, of[:250])
    again = Decision(**how)
    again.restore(first.payload())
    outcomes(again, of[250:])
    assert pack(again.payload()) == pack(whole.payload())
    for change in ({"aim": 2.0}, {"seen": None}, {"scores": np.full(500, -1.0)}, {"level": None}):
        with pytest.raises(ValueError, match="of it is none"):
            again.restore(whole.payload() | change)


def test_a_number_that_is_none_decides_something() -> None:
    decision = Decision(hold={"label": 1, "recall": 0.7}, coverage=0.9)
    proba = {0: float("nan"), 1: float("nan")}
    decision.learn(proba, decision.decide(proba), 1)
    decision.decide({0: 0.5, 1: 0.5})


def records(n: int) -> list[tuple[dict[str, float], str]]:
    x = np.random.default_rng(0).normal(size=(n, 2))
    return [({"a": a, "b": b}, "rare" if a + b > 2 else "usual") for a, b in x.tolist()]


def test_learning_is_untouched() -> None:
    alone, inner = LLSVMClassifier(n_anchors=8), LLSVMClassifier(n_anchors=8)
    how: Any = {"costs": {"rare": {"usual": 50}}, "coverage": 0.9}
    deciding = DecidingClassifier(inner, **how)
    told = []
    for x, y in records(400):
        told.append(deciding.predict_one(x))
        deciding.learn_one(x, y)
        alone.predict_proba_one(x)
        alone.learn_one(x, y)
    assert everything(inner) == everything(alone)
    assert deciding.predict_proba_one({"a": 1.0, "b": 1.0}) == alone.predict_proba_one(
        {"a": 1.0, "b": 1.0}
    )
    assert told.count("rare") > 1.2 * sum(y == "rare" for _, y in records(400))
    assert set(deciding.predict_set_one({"a": 1.0, "b": 1.0})) <= {"rare", "usual"}
    again = pickle.loads(pickle.dumps(deciding))
    assert again.predict_one({"a": 1.0, "b": 1.0}) == deciding.predict_one({"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="there are no sets"):
        DecidingClassifier(alone).predict_set_one({"a": 1.0})
    assert DecidingClassifier(alone).predict_one({"a": 0.0}) == alone.predict_one({"a": 0.0})


def test_other_models_decide_too() -> None:
    model = DecidingClassifier(naive_bayes.GaussianNB(), costs={"rare": {"usual": 50}})
    for x, y in records(300):
        model.learn_one(x, y)
    assert model.predict_one({"a": 3.0, "b": 3.0}) == "rare"


def test_class_weights_are_weights() -> None:
    alone, inner = LLSVMClassifier(n_anchors=8), LLSVMClassifier(n_anchors=8)
    weighed = DecidingClassifier(inner, class_weight={"rare": 3.0})
    for x, y in records(200):
        weighed.learn_one(x, y)
        alone.learn_one(x, y, w=3.0 if y == "rare" else 1.0)
    assert everything(inner) == everything(alone)


def test_a_balance_lets_classes_count_the_same() -> None:
    weights, rng = ClassWeights("balanced"), np.random.default_rng(0)
    sums = {0: 0.0, 1: 0.0, 2: 0.0}
    for y in rng.choice(3, size=6_000, p=[0.1, 0.2, 0.7]).tolist():
        sums[y] += weights.take(y)
    assert sum(sums.values()) == pytest.approx(6_000, rel=0.05)
    assert min(sums.values()) == pytest.approx(max(sums.values()), rel=0.1)
    again = ClassWeights("balanced")
    again.restore(weights.payload())
    assert again.of(0) == weights.of(0)
    for broken in ({}, {"counts": [(1, -1.0)], "total": 1.0}, {"counts": [1], "total": 1.0}):
        with pytest.raises(ValueError, match="are none"):
            again.restore(broken)
    for wrong in ("balancd", {"a": -1}, {"a": "x"}):
        with pytest.raises(ValueError):
            ClassWeights(wrong)  # type: ignore[arg-type]
