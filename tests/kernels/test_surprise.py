"""The clocks of surprise beside the oracle, and when they are silent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stream_llsvm.kernels import surprise
from tests.kernels.alone import alone
from tests.oracle_parts import Array
from tests.oracle_surprise import StepsOracle, SurpriseOracle, least

kept_by_chance = alone(surprise.kept_by_chance)
by_loss = alone(surprise.kept_by_loss)
forget = alone(surprise.forget_steps)
least_steps = alone(surprise.least_steps)
WEIGHTS: dict[str, Callable[[np.random.Generator], float]] = {
    "alike": lambda rng: 1.0,
    "of any size": lambda rng: float(rng.choice([0.01, 0.5, 1.0, 3.0, 20.0])),
}


def by_chance(clock: Array, p: Array, label: int, weight: float) -> float:
    """Call the kernel with scores of which p is the softmax."""
    scores = np.log(np.maximum(p, 1e-300)) + 3.0
    return float(kept_by_chance(clock, scores, p, label, weight))


def chances(n: int, classes: int, *, changes: bool) -> tuple[Array, Array]:
    """Return probabilities and labels drawn by them, in the second half by others."""
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.5), n)
    labels = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    if changes:
        labels[n // 2 :] = (labels[n // 2 :] + 1) % classes
    return p, labels


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("classes", [2, 4])
def test_who_says_probabilities_forgets_as_the_oracle(
    classes: int, weights: Callable[[np.random.Generator], float]
) -> None:
    rng, oracle, clock = np.random.default_rng(0), SurpriseOracle(), np.zeros(surprise.CLOCKS)
    keeps = []
    for p, label in zip(*chances(1_500, classes, changes=True), strict=True):
        weight = weights(rng)
        keeps.append(by_chance(clock, p, label, weight))
        assert keeps[-1] == pytest.approx(oracle.kept_by_chance(p, label, weight), rel=1e-9)
        np.testing.assert_allclose(clock, [*oracle.mean, *oracle.variance], rtol=1e-8, atol=1e-12)
    assert min(keeps[:750]) == 1
    assert min(keeps[750:]) < 0.81 and keeps[-1] < 1


@pytest.mark.parametrize("numbers", [False, True])
def test_who_compares_losses_forgets_as_the_oracle(numbers: bool) -> None:
    rng, oracle = np.random.default_rng(1), StepsOracle(of_numbers=numbers)
    clock, t, shares = np.zeros(surprise.STEP_CLOCKS), 0.0, list[float]()
    for i in range(6_000):
        changed = i >= 5_000
        lost = float(rng.normal() ** 2 * (9 if changed else 1))
        lost = 1e-6 * lost if numbers else float(lost > (0.5 if changed else 2.0))
        weight = float(rng.choice([0.5, 1.0, 2.0]))
        keep, t = by_loss(clock, lost, numbers, weight), i - oracle.forgotten
        if keep < 1:
            forget(clock, i, keep, least_steps(1e-2, 0, 1))
        share = (i - clock[surprise.FORGOTTEN]) / t if t > 0 else 1.0
        assert share == pytest.approx(oracle.learn(lost, weight, t, least(1e-2, 0)), rel=1e-9)
        assert clock[surprise.FORGOTTEN] == pytest.approx(oracle.forgotten, rel=1e-9)
        shares.append(share)
    assert min(shares[:5_000]) == 1
    assert min(shares) == pytest.approx(0.8)
    assert t < 2_300  # and it took no more than the last 2,000


def test_a_single_record_is_no_alarm() -> None:
    clock = np.zeros(surprise.CLOCKS)
    for _ in range(1_000):
        by_chance(clock, np.array([0.99, 0.01]), 0, 1.0)
    for weight in (1.0, 1_000.0):
        assert by_chance(clock.copy(), np.array([1.0, 0.0]), 1, weight) == 1.0


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("classes", [2, 10])
def test_in_calm_hardly_anything_is_forgotten(
    classes: int, weights: Callable[[np.random.Generator], float]
) -> None:
    rng, clock = np.random.default_rng(2), np.zeros(surprise.CLOCKS)
    p, labels = chances(20_000, classes, changes=False)
    alarms = sum(by_chance(clock, *one, weights(rng)) < 1 for one in zip(p, labels, strict=True))
    assert alarms <= 20


@pytest.mark.parametrize("lost", [0.0, 1e-320, 1e30])
def test_extreme_losses_stay_finite(lost: float) -> None:
    clock = np.zeros(surprise.STEP_CLOCKS)
    for i in range(100):
        assert 0 < by_loss(clock, lost * (i % 2), True, 1.0) <= 1
        assert 0 < by_loss(clock, 1e30 * (i % 7 == 0), True, 1.0) <= 1
    assert np.isfinite(clock).all()
