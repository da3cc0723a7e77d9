"""What changes is followed, however long it was the same: learners whose steps shorten."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_llsvm import (
    BudgetedPegasosClassifier,
    KeyedClassifier,
    PegasosClassifier,
    PegasosRegressor,
)
from stream_llsvm.kernels.surprise import FORGOTTEN
from stream_llsvm.members.family.pegasos.steps import STEPS

KEYS, EACH = 4, 8_000


def test_a_key_that_changes_is_learned_anew() -> None:
    """Without forgetting it is right in one of ten of these records."""
    rng = np.random.default_rng(0)
    model = KeyedClassifier(PegasosClassifier(), key="k")
    before, after = KEYS * EACH, KEYS * 1_000
    X = rng.normal(size=(before + after, 4))
    k = rng.integers(0, KEYS, len(X))
    changed = (k == 0) & (np.arange(len(X)) >= before)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0) ^ (k % 2 == 0) ^ changed ^ (rng.random(len(X)) < 0.05)
    frame = pd.DataFrame(dict(zip("abcd", X.T, strict=True))).assign(k=k)
    right = np.asarray(model.test_then_learn(frame, y)) == y
    calm, since = right[before // 2 : before].mean(), np.flatnonzero(changed)
    assert calm > 0.93
    assert right[since[300:]].mean() > 0.88
    others = np.flatnonzero((k != 0) & (np.arange(len(X)) >= before))
    assert right[others].mean() > 0.93


@pytest.mark.parametrize(
    ("kind", "options", "before"),
    [
        (PegasosClassifier, {}, 60_000),
        (BudgetedPegasosClassifier, {"budget": 30, "l2": 1e-3}, 20_000),
    ],
)
def test_labels_that_turn_round_are_learned_anew(
    kind: Any, options: dict[str, Any], before: int
) -> None:
    """The paper's steps hide it at first: the mixer turns round, and then the machines do."""
    after = 20_000
    rng = np.random.default_rng(1)
    X = rng.normal(size=(before + after, 6))
    y = (X.sum(axis=1) > 0) ^ (rng.random(len(X)) < 0.1) ^ (np.arange(len(X)) >= before)
    right = {}
    for forgets in (True, False):
        model = kind(forgets=forgets, **options)
        parts = [slice(i, i + 500) for i in range(0, len(X), 500)]
        told = [model.test_then_learn(X[part], y[part]) for part in parts]
        right[forgets] = np.concatenate(told) == y
    assert (right[True][:before] == right[False][:before]).all()  # nothing is forgotten in calm
    base = right[True][before // 2 : before].mean()
    blocks = right[True][before + 2_000 :].reshape(-1, 1_000).mean(axis=1)
    assert blocks.min() > base - 0.05
    assert right[False][before + 2_000 :].reshape(-1, 1_000).mean(axis=1).min() < base - 0.1


@pytest.mark.parametrize(("unit", "standardize"), [(1e-3, True), (1e6, True), (10.0, False)])
def test_numbers_that_turn_round_are_learned_anew(unit: float, standardize: bool) -> None:
    before, after = 60_000, 6_000
    rng = np.random.default_rng(2)
    X = rng.normal(size=(before + after, 4))
    sign = np.where(np.arange(len(X)) < before, 1, -1)
    y = unit * (sign * X.sum(axis=1) + 0.5 * rng.normal(size=len(X)))
    options: dict[str, Any] = {"l2": 1e-2, "standardize": standardize}
    options |= {} if standardize else {"epsilon": 0.1 * unit}
    late, calm = {}, {}
    for forgets in (True, False):
        model = PegasosRegressor(forgets=forgets, **options)
        off = np.zeros(len(y))
        for i in range(0, len(X), 500):
            off[i : i + 500] = np.abs(model.predict_many(X[i : i + 500]) - y[i : i + 500]) / unit
            model.learn_many(X[i : i + 500], y[i : i + 500])
        calm[forgets], late[forgets] = off[before // 2 : before].mean(), off[-4_000:].mean()
    assert calm[True] == pytest.approx(calm[False], rel=1e-3)
    assert late[True] < 1.2 * calm[True]
    assert late[False] > 2 * calm[True]


def test_what_learners_forgot_is_forgotten_when_they_are_merged() -> None:
    """Together they remember what each of them does; of one that learned in calm, all."""
    rng = np.random.default_rng(3)
    base, calm, turned = 40_000, 1_000, 3_000
    X = rng.normal(size=(base + turned, 4))
    y = X.sum(axis=1) > 0

    def remembered(model: PegasosClassifier) -> float:
        assert model._state is not None
        own = model._state.views(1)
        return float(own["head"][STEPS] - own["clock"][FORGOTTEN])

    model = PegasosClassifier()
    model.learn_many(X[:base], y[:base])
    same, others = copy.deepcopy(model), [copy.deepcopy(model) for _ in range(2)]
    same.learn_many(X[:calm], y[:calm])
    for other in others:
        other.learn_many(X[base:], ~y[base:])
        assert remembered(other) < 2 * turned
    merged = others[0].merge(others[1:], since=model)
    assert remembered(merged) == pytest.approx(sum(map(remembered, others)))
    assert merged._state is not None and merged._state.sound()
    assert remembered(same.merge([same], since=model)) == base + 2 * calm
