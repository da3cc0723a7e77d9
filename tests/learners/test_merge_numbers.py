"""Regressors that learned different parts of a stream become one, in units of their own."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river.datasets import synth

from stream_llsvm import LLSVMRegressor, PegasosRegressor, load_model
from stream_llsvm.learners.merge import MergeWarning, _brought_to
from stream_llsvm.members.family.pegasos import steps
from stream_llsvm.model.merge import merged
from stream_llsvm.records.features import FeatureSpace
from tests.learners.number_support import BOTH, everything, numbers, small, taught


def parted(kind: Any, n: int = 3, **options: Any) -> list[Any]:
    """Return models that were one for 200 records, and then learned 100 each."""
    stream = numbers(200 + 100 * n)
    first = taught(small(kind, **options), stream[:200])
    models = [copy.deepcopy(first) for _ in range(n)]
    for i, model in enumerate(models):
        taught(model, stream[200 + 100 * i : 300 + 100 * i])
    return models


@BOTH
def test_merged_is_better_than_its_parts(kind: Any) -> None:
    """Measured: the mean absolute error is 3 to 6 % below the mean of the parts'."""
    stream = list(synth.Friedman(seed=1).take(4_000))
    X = np.array([list(x.values()) for x, _ in stream])
    y = np.array([target for _, target in stream])
    first = kind()
    first.learn_many(X[:400], y[:400])
    parts = []
    for begin in (400, 700, 1_000):
        part = copy.deepcopy(first)
        part.learn_many(X[begin : begin + 300], y[begin : begin + 300])
        parts.append(part)

    def error(model: Any) -> float:
        return float(np.abs(model.predict_many(X[1_300:]) - y[1_300:]).mean())

    model = parts[0].merge(parts[1:])
    assert error(model) < 0.99 * np.mean([error(part) for part in parts])
    assert error(model) < 0.97 * error(first)


@BOTH
def test_copies_of_one_are_that_one(kind: Any) -> None:
    model = taught(small(kind), numbers(300))
    assert everything(model.merge([copy.deepcopy(model) for _ in range(3)])) == everything(model)
    assert everything(model.merge([])) == everything(model)
    # Also when every number goes through the means.
    mean = copy.deepcopy(model)
    mean._state = merged([copy.deepcopy(model._state) for _ in range(3)], [1.0, 2.0, 0.5]).state
    assert mean._state.sound()
    for x, _ in numbers(100, seed=1):
        assert mean.predict_one(x) == pytest.approx(model.predict_one(x), abs=5e-3)


@BOTH
def test_the_order_makes_no_difference(kind: Any) -> None:
    a, b, c = parted(kind)
    before = [everything(model) for model in (a, b, c)]
    one = everything(a.merge([b, c], weights=[1, 2, 3]))
    assert one == everything(c.merge([a, b], weights=[3, 1, 2]))
    assert one == everything(b.merge([c, a], weights=[4, 6, 2])), "only proportions count"
    assert one != everything(a.merge([b, c]))
    assert before == [everything(model) for model in (a, b, c)], "the models stay as they are"


@BOTH
def test_what_counts_nothing_changes_nothing(kind: Any) -> None:
    a, b, c = parted(kind)
    assert everything(a.merge([b, c], weights=[0, 1, 0])) == everything(b)
    fresh = small(kind)
    assert everything(a.merge([fresh])) == everything(a)
    assert everything(fresh.merge([a])) == everything(a)
    assert everything(fresh.merge([small(kind)])) == everything(fresh)


@BOTH
def test_the_merged_model_goes_on(kind: Any, tmp_path: Path) -> None:
    a, b, c = parted(kind)
    model = a.merge([b, c])
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for either in (model, loaded):
        taught(either, numbers(300, seed=5))
        taught(either, [({"f0": 1.0, "new": 2.0}, 3.0)])
        assert either._state.sound()
    assert everything(model) == everything(loaded)


@BOTH
@pytest.mark.parametrize("standardize", [True, False])
def test_each_answers_in_units_of_its_own_and_so_does_the_mean(
    kind: Any, standardize: bool
) -> None:
    """Of the same records one model is told numbers that are greater and lie farther apart.

    Both have taken as many steps, so that the answer is half of each. Without an offset or a
    factor it would be in neither's units.
    """
    stream = numbers(400)
    options: dict[str, Any] = {"step_size": 0.5} if kind is LLSVMRegressor else {"l2": 0.05}
    options |= {"standardize": standardize, "loss": "squared"}
    a = taught(small(kind, **options), stream[:200])
    b = copy.deepcopy(a)
    taught(a, stream[200:])
    taught(b, [(x, 300 + 4 * y) for x, y in stream[200:]])
    model = a.merge([b])
    told = []
    for x, _ in numbers(60, seed=3):
        parts = a.predict_one(x), b.predict_one(x)
        told.append((model.predict_one(x), *parts))
    ours, one, other = np.array(told).T
    assert np.abs(one - other).mean() > 50
    np.testing.assert_allclose(ours, (one + other) / 2, rtol=1e-4, atol=0.02)


def test_the_targets_scale_is_that_of_all_targets_together() -> None:
    y = np.random.default_rng(0).normal(100, 10, 400)
    y[250:] -= 20
    X = np.ones((400, 1))
    a, b = PegasosRegressor(), PegasosRegressor()
    a.learn_many(X[:250], y[:250])
    b.learn_many(X[250:], y[250:])
    memory = a.merge([b])._state
    assert memory is not None
    assert memory.numbers["target"][0, 1] == pytest.approx(y.mean(), rel=1e-9)
    assert memory.numbers["target"][0, 2] == pytest.approx(y.var(), rel=1e-9)
    assert memory.spread == pytest.approx(y.std(), rel=1e-9)


def test_what_is_held_of_a_batch_is_held_in_the_mean() -> None:
    a, b = parted(PegasosRegressor, 2, batch_size=7)
    model = a.merge([b])
    held = [m._state.views(1)["head"][steps.HELD] for m in (a, b, model)]
    assert held == [300 % 7] * 3
    assert model._state.views(1)["slope"].any()
    taught(model, numbers(50, seed=7))
    assert model._state.sound()


@BOTH
def test_features_in_another_order(kind: Any) -> None:
    """A model brought to another order is the same model."""
    model = taught(small(kind), numbers(300))
    twin = copy.deepcopy(model)
    twin._features = FeatureSpace(["f2", "f0", "f1"])
    twin._state = _brought_to(model, twin._features, twin._labels, 3)
    for x, _ in numbers(100, seed=1):
        assert twin.predict_one(x) == pytest.approx(model.predict_one(x), abs=1e-3)
    assert model.merge([twin]).features == model.features


@BOTH
def test_each_found_features_of_its_own(kind: Any) -> None:
    a, b, c = parted(kind)
    taught(a, [({"f0": 1.0, "left": 1.0 * i}, 1.0) for i in range(20)])
    taught(b, [({"f1": 1.0, "right": 1.0 * i, "f9": 0.0}, 2.0) for i in range(20)])
    model = a.merge([b, c])
    assert set(model.features) == {"f0", "f1", "f2", "left", "right", "f9"}
    assert model._state.sound()
    assert np.isfinite(model.predict_one({"f0": 1.0, "right": 3.0}))
    taught(model, numbers(50, seed=3))


def test_what_cannot_be_merged_is_refused() -> None:
    a = taught(LLSVMRegressor(n_anchors=12), numbers(300))
    other: Any = taught(PegasosRegressor(), numbers(50))
    with pytest.raises(ValueError, match=r"one kind.*LLSVMRegressor and a PegasosRegressor"):
        a.merge([other])
    with pytest.raises(ValueError, match=r"same options.*n_anchors=12 and 7"):
        a.merge([LLSVMRegressor(n_anchors=7)])
    with pytest.warns(MergeWarning, match="anchors:12 has nothing in common"):
        a.merge([taught(LLSVMRegressor(n_anchors=12), numbers(5))])
    with pytest.raises(TypeError, match=r"several models: model.merge\(\[other\]\)"):
        a.merge(a)
