"""The small SVM: it is the solution, and scikit-learn's SVC is the judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.svm import SVC

from stream_llsvm.members.family.local_svm import smo
from tests.kernels.alone import alone
from tests.oracle_parts import Array

fill_gram = alone(smo.fill_gram)
solve = alone(smo.solve)
value_of = alone(smo.value_of)

NAMES = {smo.RBF: "rbf", smo.LINEAR: "linear"}
both = pytest.mark.parametrize("kind", NAMES, ids=NAMES.values())


def problem(seed: int, n: int, width: int = 3) -> tuple[NDArray[np.float32], Array]:
    """Draw points and labels that no machine tells apart without mistakes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype(np.float32)
    y = np.where(np.sin(2 * x[:, 0]) + x[:, -1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    return x, y


def solved(
    kind: int, x: NDArray[np.float32], y: Array, most: Array, sigma: float = 0.0
) -> tuple[Array, float, float, Array]:
    """Return b = y alpha, the bias, 1 / sigma^2 and the gram matrix."""
    n = len(y)
    gram = np.zeros((n, n))
    precision = fill_gram(x, kind, sigma, gram)
    b, gradient = np.zeros(n), np.zeros(n)
    bias = solve(gram, y, most, 1e-8, b, gradient)
    np.testing.assert_allclose(gradient, gram @ b - y, atol=1e-6)
    return b, bias, precision, gram


def judged(kind: int, x: NDArray[np.float32], y: Array, most: Array, precision: float) -> SVC:
    """Return scikit-learn's machine for the same problem."""
    machine = SVC(C=1, kernel=NAMES[kind], gamma=precision / 2, tol=1e-8)
    points = x.astype(float) * (np.sqrt(precision) if kind == smo.LINEAR else 1)
    machine.fit(points, y, sample_weight=most)
    machine.points = points
    return machine


@both
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 60),
    cost=st.sampled_from([0.1, 1.0, 10.0]),
    uneven=st.booleans(),
)
def test_the_values_are_those_of_scikit_learn(
    kind: int, seed: int, n: int, cost: float, uneven: bool
) -> None:
    x, y = problem(seed, n)
    rng = np.random.default_rng(seed)
    most = cost * (rng.uniform(0.2, 3, n) if uneven else np.ones(n))
    b, bias, precision, gram = solved(kind, x, y, most)
    machine = judged(kind, x, y, most, precision)
    expected = machine.decision_function(machine.points)
    free = ((np.abs(b) > 1e-6) & (np.abs(b) < most - 1e-6)).any()
    if free:  # else any bias in an interval is a solution
        np.testing.assert_allclose(gram @ b + bias, expected, atol=1e-3)
    else:
        np.testing.assert_allclose(gram @ b, expected - machine.intercept_[0], atol=1e-3)


@both
@pytest.mark.parametrize("cost", [1.0, 3.0, 10.0])
def test_the_solution_is_allowed_and_optimal(kind: int, cost: float) -> None:
    """Karush, Kuhn and Tucker: who is inside the margin pays in full, who is outside nothing."""
    x, y = problem(5, 50)
    most = np.full(50, cost)
    b, bias, _, gram = solved(kind, x, y, most)
    alpha = y * b
    assert abs(b.sum()) < 1e-9 * cost
    assert (alpha >= 0).all() and (alpha <= most).all()
    margin = y * (gram @ b + bias)
    assert (margin[alpha == 0] >= 1 - 1e-3).all()
    assert (margin[alpha == most] <= 1 + 1e-3).all()
    inside = (alpha > 0) & (alpha < most)
    assert inside.any()
    np.testing.assert_allclose(margin[inside], 1, atol=1e-3)


def test_a_fixed_sigma_is_used_as_it_is() -> None:
    x, y = problem(1, 20)
    _, _, precision, gram = solved(smo.RBF, x, y, np.ones(20), sigma=0.5)
    assert precision == 4
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(gram, np.exp(-squared / (2 * 0.25)), rtol=1e-5)


@both
def test_nothing_changes_if_all_that_is_near_is_scaled_alike(kind: int) -> None:
    x, y = problem(2, 30)
    most = np.full(30, 10.0)
    small, large = (solved(kind, x * np.float32(s), y, most)[3] for s in (1 / 64, 64))
    np.testing.assert_allclose(small, large, rtol=1e-5)


@both
def test_twins_that_disagree(kind: int) -> None:
    """No curvature at all between them: a step has no length of its own."""
    x = np.zeros((4, 2), dtype=np.float32)
    y = np.array([1.0, -1, 1, -1])
    b, bias, precision, _ = solved(kind, x, y, np.full(4, 10.0))
    assert precision == 0
    assert np.isfinite(b).all() and abs(b.sum()) < 1e-12
    assert bias == pytest.approx(0, abs=1e-9)


def test_of_one_label_only_the_bias_is_left() -> None:
    x, _ = problem(3, 10)
    b, bias, _, _ = solved(smo.RBF, x, -np.ones(10), np.ones(10))
    assert (b == 0).all() and bias == -1


def test_the_time_has_a_bound() -> None:
    """With a cost that asks for more steps than are allowed, the answer is still a machine."""
    x, y = problem(4, 40, width=1)
    gram = np.zeros((40, 40))
    fill_gram(x, smo.LINEAR, 0.0, gram)
    b, gradient = np.zeros(40), np.zeros(40)
    bias = solve(gram, y, np.full(40, 1e9), 1e-300, b, gradient)
    assert np.isfinite(b).all() and np.isfinite(bias)
    assert (np.abs(b) <= 1e9).all()


def test_the_kernel_of_a_query_is_that_of_the_gram_matrix() -> None:
    x, y = problem(6, 12)
    for kind in NAMES:
        *_, precision, gram = solved(kind, x, y, np.ones(12))
        values = [[value_of(kind, precision, a, b) for b in x] for a in x]
        np.testing.assert_allclose(values, gram, rtol=1e-5, atol=1e-6)
