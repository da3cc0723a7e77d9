"""MEGM: the gradient is the gradient, and a step goes down."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.members.family.local_svm import megm, window
from stream_llsvm.members.family.local_svm.window import DIAGONAL, FULL
from tests.kernels.alone import alone
from tests.oracle_parts import Array

descend = alone(megm.descend)
gradient_of = alone(megm.gradient_of)
vote_errors = alone(megm.vote_errors)
map_record = alone(window.map_record)
map_window = alone(window.map_window)

WIDTH, NEAR, CLASSES = 4, 9, 3
BETA = 0.7


def scene(seed: int) -> tuple[Array, Array, Array, NDArray[np.int64], int]:
    """Draw a map, a record, its neighbours by columns, their labels, and the record's label."""
    rng = np.random.default_rng(seed)
    matrix = np.eye(WIDTH) + 0.3 * rng.normal(size=(WIDTH, WIDTH))
    x = rng.normal(size=WIDTH)
    store = x[:, None] + 0.5 * rng.normal(size=(WIDTH, NEAR))
    return matrix, x, store, rng.integers(0, CLASSES, NEAR), int(rng.integers(CLASSES))


def loss(matrix: Array, x: Array, store: Array, labels: NDArray[np.int64], label: int) -> float:
    """E = sum_c (y_c - y^_c)^2, as the docstring of the kernel has it."""
    squared = ((matrix @ (x[:, None] - store)) ** 2).sum(axis=0)
    p = np.exp(-BETA * squared)
    vote = np.bincount(labels, weights=p / p.sum(), minlength=CLASSES)
    return float(((np.eye(CLASSES)[label] - vote) ** 2).sum())


def by_kernel(
    matrix: Array, x: Array, store: Array, labels: NDArray[np.int64], label: int
) -> tuple[float, Array]:
    squared = ((matrix @ (x[:, None] - store)) ** 2).sum(axis=0)
    near = np.argsort(squared)
    vote, errors = np.zeros(CLASSES), np.zeros(NEAR)
    nearest = squared[near].astype(np.float32)
    wrong = vote_errors(nearest, labels.astype(float), near, label, BETA, vote, errors)
    assert vote.sum() == pytest.approx(1)
    gradient = np.ones((WIDTH, WIDTH), dtype=np.float32)
    f4 = np.float32
    gradient_of(
        matrix.astype(f4), x.astype(f4), store.astype(f4), near, errors, BETA,
        np.zeros((2, WIDTH), f4), gradient,
    )  # fmt: skip
    return wrong, gradient.astype(float)


@pytest.mark.parametrize("seed", range(12))
def test_the_gradient_by_finite_differences(seed: int) -> None:
    matrix, x, store, labels, label = scene(seed)
    wrong, gradient = by_kernel(matrix, x, store, labels, label)
    assert wrong == pytest.approx(loss(matrix, x, store, labels, label), rel=1e-5)
    expected = np.zeros_like(matrix)
    for place in np.ndindex(*matrix.shape):
        step = np.zeros_like(matrix)
        step[place] = 1e-5
        up = loss(matrix + step, x, store, labels, label)
        expected[place] = (up - loss(matrix - step, x, store, labels, label)) / 2e-5
    size = max(np.abs(expected).max(), 1e-6)
    np.testing.assert_allclose(gradient, expected, atol=1e-4 * size + 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_step_goes_down(seed: int) -> None:
    matrix, x, store, labels, label = scene(seed)
    _, gradient = by_kernel(matrix, x, store, labels, label)
    for importance in (1.0, 0.1):
        moved, effort = matrix.astype(np.float32), np.zeros(WIDTH)
        # As after a long stream of such gradients: the step is then RATE long.
        effort[0] = (gradient**2).sum()
        descend(moved, effort, gradient.astype(np.float32), importance)
        assert (moved.astype(float) ** 2).sum() == pytest.approx(WIDTH, rel=1e-5)
        size = np.sqrt((matrix**2).sum() / WIDTH)
        after = loss(moved * size, x, store, labels, label)
        # The step alone, without the change of scale that all distances share.
        assert after < loss(matrix, x, store, labels, label)


def test_an_outlier_does_not_turn_the_map() -> None:
    matrix, x, store, labels, label = scene(0)
    far = store.copy()
    far[0] += 1e6
    _, gradient = by_kernel(matrix, x, far, labels, label)
    assert np.isfinite(gradient).all()
    most = megm.FARTHEST / np.sqrt(BETA)
    bound = 4 * BETA * np.abs(matrix).sum(axis=1).max() * most * most
    assert np.abs(gradient).max() <= 2 * bound


def test_neighbours_of_one_kind_teach_nothing() -> None:
    matrix, x, store, labels, label = scene(0)
    labels[:] = label
    wrong, gradient = by_kernel(matrix, x, store, labels, label)
    assert wrong <= megm.LEAST_ERROR
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


@pytest.mark.parametrize("kind", [DIAGONAL, FULL])
def test_a_record_is_mapped_like_a_window_of_them(kind: int) -> None:
    rng = np.random.default_rng(0)
    store = rng.normal(size=(WIDTH, 7)).astype(np.float32)
    height = 1 if kind == DIAGONAL else WIDTH
    matrix = rng.normal(size=(height, WIDTH)).astype(np.float32)
    whole = np.diag(matrix[0]) if kind == DIAGONAL else matrix
    mapped, facts = np.zeros((WIDTH, 7), dtype=np.float32), np.zeros((4, 7))
    map_window(kind, matrix, store, mapped, facts, 5)
    np.testing.assert_allclose(mapped[:, :5], (whole @ store)[:, :5], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(facts[3, :5], (mapped[:, :5] ** 2).sum(axis=0), rtol=1e-5)
    assert (mapped[:, 5:] == 0).all()
    one = np.zeros(WIDTH, dtype=np.float32)
    map_record(kind, matrix, np.ascontiguousarray(store[:, 0]), one)
    np.testing.assert_allclose(one, mapped[:, 0], rtol=1e-4, atol=1e-5)
