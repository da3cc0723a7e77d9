"""LL-SVM for numbers beside the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import LLSVMRegressor
from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS
from stream_llsvm.members.anchors.steps import WIDE
from tests.oracle_numbers import NumbersOracle

ANY: dict[str, dict[str, Any]] = {
    "usual": {},
    **{loss: {"loss": loss, "epsilon": 0.2} for loss in LOSSES_OF_NUMBERS},
    "inverse distance": {"coding": "inverse_distance"},
    "one step": {"step_size": 0.5},
    "shrinking": {"l2": 0.02, "step_size": 0.5},
    "shrinking, averaged": {"l2": 0.02},
    "one anchor": {"n_anchors": 1},
}


@pytest.mark.parametrize("options", ANY.values(), ids=ANY)
def test_it_is_the_oracles(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=250)
    w = rng.choice([0.5, 1.0, 2.0], 250)
    model = LLSVMRegressor(
        standardize=False, **({"n_anchors": 8, "n_neighbors": 3, "epsilon": 0.5} | options)
    )
    oracle = NumbersOracle(model, 3)
    _both_learn(model, oracle, X, y, w)


def test_wide_sparse_records_are_learned_as_the_oracle_does() -> None:
    """They are not seen from an anchor; those that name a quarter and more are."""
    rng = np.random.default_rng(0)
    width = WIDE + 20
    X = rng.normal(size=(60, width))
    X[rng.random(X.shape) > np.where(np.arange(60) % 3 == 0, 0.5, 0.1)[:, None]] = 0
    X[0] = 1
    model = LLSVMRegressor(standardize=False, n_anchors=8, n_neighbors=3, loss="squared")
    _both_learn(model, NumbersOracle(model, width), X, X[:, :40].sum(axis=1), np.ones(60))


def _both_learn(model: LLSVMRegressor, oracle: NumbersOracle, X: Any, y: Any, w: Any) -> None:
    told, width = [], X.shape[1]
    for row, target, c in zip(X, y, w, strict=True):
        x = dict(enumerate(row.tolist()))
        told.append((model.predict_one(x), oracle.told(row)[0]))
        model.learn_one(x, float(target), w=float(c))
        oracle.learn(row, float(target), float(c))
    ours, wanted = np.array(told).T
    np.testing.assert_allclose(ours, wanted, rtol=2e-3, atol=2e-3)
    assert np.abs(wanted).max() > 0.5
    assert model._state is not None
    member, views = model._state.members[0], model._state.views(1)
    for a, (position, mass, weights, biases) in enumerate(member.anchors(views)):
        np.testing.assert_allclose(position, oracle.anchors[a], rtol=1e-3, atol=1e-3)
        assert mass == pytest.approx(oracle.mass[a], rel=1e-3)
        expected = oracle.machines[a].reshape(-1, width + 1)
        np.testing.assert_allclose(weights[:, 0], expected[:, :width], rtol=5e-3, atol=5e-3)
        np.testing.assert_allclose(biases[:, 0], expected[:, width], rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(model._state.views(2)["losses"], oracle.losses, rtol=1e-3)


@pytest.mark.parametrize("loss", ["huber", "squared", "epsilon_insensitive"])
def test_a_step_never_goes_beyond_the_record(loss: str) -> None:
    """However long the step: the next answer for the record lies on the same side of it."""
    rng = np.random.default_rng(1)
    model = LLSVMRegressor(loss=loss, step_size=1e3, epsilon=0.1, standardize=False)
    checked = 0
    for row in rng.normal(size=(150, 3)):
        x, y = dict(enumerate(row.tolist())), float(np.sin(row[0]) + row[1])
        model.learn_one(x, y)
        assert model._state is not None
        if len(list(model._state.members[0].masses(model._state.views(1)))) < 100:
            continue  # a new anchor takes a share of the answer
        again = model.predict_one(x)
        model.learn_one(x, y, w=1e6)
        after = model.predict_one(x)
        assert (again - y) * (after - y) >= -1e-3 * abs(y) - 1e-4
        checked += 1
    assert checked > 20
