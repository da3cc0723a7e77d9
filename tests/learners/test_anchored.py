"""Every combination of options learns, keeps its numbers sound, and means what it says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stream_llsvm import LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.learners.anchored import AnchorClassifier
from tests.learners.support import LEARNERS, Stream, everything, records, small, sound, taught

STEPS: list[dict[str, Any]] = [
    {"step_size": "auto"},
    {"step_size": 1.0},
    {"step_size": 1_000.0},
    {"step_size": "paper", "l2": 1e-5},
    {"step_size": "auto", "l2": 1e-4},
]
OPTIONS: list[dict[str, Any]] = [
    {"coding": coding, "loss": loss, "multiclass": multiclass, "standardize": standardize, **step}
    for coding, loss, multiclass, standardize, step in itertools.product(
        ["softmax", "inverse_distance"],
        ["hinge", "huberized_hinge", "logistic"],
        ["ovr", "crammer_singer"],
        [True, False],
        STEPS,
    )
]


def name_of(options: dict[str, Any]) -> str:
    return "-".join(str(value) for value in options.values())


def extremes(n: int, seed: int) -> Stream:
    """Return records of absurd but finite values among sober ones."""
    rng = np.random.default_rng(seed)
    absurd = np.array([1e30, -1e30, 1e300, -1e308, 1e-300, 0, 1, -1, 5e-324, 1e20])
    x = np.where(
        rng.random((n, 3)) < 0.5, rng.choice(absurd, (n, 3)) * rng.random((n, 3)),
        rng.normal(size=(n, 3)),
    )  # fmt: skip
    labels = rng.integers(0, 3, n).tolist()
    return [(dict(enumerate(row)), y) for row, y in zip(x.tolist(), labels, strict=True)]


@pytest.mark.parametrize("standardize", [True, False])
def test_reconstruction_lets_no_nan_in(standardize: bool) -> None:
    model = LLSVMClassifier(6, 3, coding="reconstruction", standardize=standardize)
    for i, (x, y) in enumerate(extremes(240, seed=0)):
        model.learn_one(x, y, w=1e6 if i >= 200 else 1.0)
        assert i % 40 != 39 or sound(model), f"after record {i}"
    for x, _ in extremes(20, seed=1):
        assert np.isfinite(list(model.predict_proba_one(x).values())).all()


def test_reconstruction_has_no_supervised_anchor_step() -> None:
    for kind in (SAPLClassifier, LCCClassifier):
        with pytest.raises(ValueError, match="has no supervised anchor step"):
            kind(coding="reconstruction")
    assert LCCClassifier(coding="reconstruction", supervised=False).coding == "reconstruction"


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_option_lets_a_nan_in(kind: type[AnchorClassifier], options: dict[str, Any]) -> None:
    model = kind(n_anchors=6, n_neighbors=3, **options)
    for i, (x, y) in enumerate(extremes(240, seed=0)):
        model.learn_one(x, y, w=1e6 if i >= 200 else 1.0)
        if i % 40 == 39:  # what is not a number stays none; looking at each takes ten times longer
            assert sound(model), f"after record {i}"
    for x, _ in extremes(20, seed=1):
        assert np.isfinite(list(model.predict_proba_one(x).values())).all()


@pytest.mark.parametrize("step", [1e-30, 1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("kind", LEARNERS)
def test_the_papers_steps_stay_finite(kind: type[AnchorClassifier], step: float) -> None:
    options = {"t0": 2, "skip": 1, "loss": "hinge", "multiclass": "ovr"}
    try:
        model = small(kind, step_size="paper", l2=step, **options)
    except ValueError as error:
        assert "l2" in str(error)  # a first step of 1 / (l2 t0) may be refused, but not lead to NaN
        return
    for x, y in records(300, classes=2):
        model.learn_one(x, y)
        assert sound(model)


@pytest.mark.parametrize("options", OPTIONS[::7], ids=name_of)
@pytest.mark.parametrize("kind", LEARNERS)
def test_every_option_learns(kind: type[AnchorClassifier], options: dict[str, Any]) -> None:
    if options["step_size"] == 1_000.0:
        options = options | {"step_size": 3.0}
    if options["step_size"] == "paper":  # these are for the user to find, here as anywhere
        options = options | {"l2": 1e-3, "t0": 10_000}
    model = kind(n_anchors=40, **options)
    stream = records(3_000, classes=3)
    X = np.array([list(x.values()) for x, _ in stream])
    y = np.array([label for _, label in stream])
    told = model.test_then_learn(X, y)
    # One in twenty labels is wrong; always saying the commonest class is right half of the time.
    assert np.mean(told[1_500:] == y[1_500:]) > 0.75


@pytest.mark.parametrize("kind", LEARNERS)
def test_each_option_matters(kind: type[AnchorClassifier]) -> None:
    stream = records(300)
    plain = everything(taught(small(kind), stream))[0]
    for options in (
        {"n_anchors": 11},
        {"n_neighbors": 3},
        {"coding": "inverse_distance"},
        {"step_size": 1.0},
        {"l2": 0.01},
        {"standardize": False},
        {"loss": "hinge"},
        {"loss": "huberized_hinge"},
        {"multiclass": "ovr"},
    ):
        assert everything(taught(small(kind, **options), stream))[0] != plain, options
    for options in ({"seed": 9}, {"max_mb": 10}, {"t0": 5_000}, {"skip": 7}):
        said = "a live stream uses no random numbers, and t0 and skip are the paper's"
        # t0 and skip are kept in the state; what is learned is the same.
        model, twin = taught(small(kind, **options), stream), taught(small(kind), stream)
        for x, _ in records(20, seed=1):
            assert model.predict_proba_one(x) == twin.predict_proba_one(x), said


def test_a_weight_is_a_longer_step() -> None:
    stream = records(200, classes=2)
    light, heavy = small(LLSVMClassifier, step_size=0.1), small(LLSVMClassifier, step_size=0.1)
    for x, y in stream:
        light.learn_one(x, y)
        heavy.learn_one(x, y, w=1.0 if y else 20.0)
    X = np.array([list(x.values()) for x, _ in records(500, seed=1)])
    names = {i: f"f{i}" for i in range(3)}
    rows = [{names[i]: v for i, v in enumerate(row)} for row in X.tolist()]
    share = [np.mean([m.predict_one(x) == 0 for x in rows]) for m in (light, heavy)]
    assert share[1] > share[0] + 0.05, "records that count more are heard more"


def test_anchors_lie_where_the_records_are() -> None:
    """Also in the user's units, which differ by a million here."""
    rng = np.random.default_rng(0)
    model = LLSVMClassifier(n_anchors=20)
    for _ in range(2_000):
        y = bool(rng.random() < 0.5)
        model.learn_one({"mm": float(rng.normal(5e5 if y else -5e5, 1e4)), "km": 0.25}, y)
    found = model.anchors
    assert 2 <= len(found) <= 20
    for centre in (5e5, -5e5):
        nearest = min(found, key=lambda anchor: abs(anchor.position["mm"] - centre))
        assert nearest.position["mm"] == pytest.approx(centre, rel=0.02)
        assert nearest.mass > 100
    for anchor in found:
        assert anchor.position["km"] == pytest.approx(0.25)
        assert set(anchor.weights) == set(anchor.bias) == {True, False}
        assert set(anchor.weights[True]) == {"mm", "km"}
