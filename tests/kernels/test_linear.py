"""The inner loops, dense and sparse, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels import linear
from tests.kernels.alone import alone

add_outer = alone(linear.add_outer)
add_scaled = alone(linear.add_scaled)
scores_of = alone(linear.scores_of)

NOTHING = np.zeros(0, dtype=np.int64)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(3, 9)).astype(np.float32)
DENSE = RNG.normal(size=9).astype(np.float32)
AT = np.array([1, 4, 8])


def _both() -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Return values, their columns, and the dense record that they stand for."""
    filled = np.zeros(9, dtype=np.float32)
    filled[AT] = DENSE[AT]
    return [(DENSE, NOTHING, DENSE), (DENSE[AT], AT, filled)]


@pytest.mark.parametrize("form", [0, 1], ids=["dense", "sparse"])
def test_the_loops_are_numpys(form: int) -> None:
    x, at, filled = _both()[form]
    out = np.empty(3, dtype=np.float32)
    scores_of(WEIGHTS, x, at, out)
    np.testing.assert_allclose(out, WEIGHTS @ filled, rtol=1e-5)
    v = WEIGHTS[0].copy()
    add_scaled(v, x, at, np.float32(0.5))
    np.testing.assert_allclose(v, WEIGHTS[0] + 0.5 * filled, rtol=1e-6)
    step = np.array([0.5, 0, -2], dtype=np.float32)
    weights = WEIGHTS.copy()
    add_outer(weights, step, x, at)
    np.testing.assert_allclose(weights, WEIGHTS + np.outer(step, filled), rtol=1e-5, atol=1e-7)
    assert np.array_equal(weights[1], WEIGHTS[1])


@pytest.mark.parametrize("width", [0, 1, 4, 9])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, 7, 8, 11])
def test_scores_are_numpys_however_many_rows(rows: int, width: int) -> None:
    """Four rows are summed at a time, and what is left over one by one."""
    weights = RNG.normal(size=(rows, width)).astype(np.float32)
    out = np.full(rows + 1, 7, dtype=np.float32)
    scores_of(weights, DENSE[:width], NOTHING, out[:rows])
    np.testing.assert_allclose(out[:rows], weights @ DENSE[:width], rtol=1e-4, atol=1e-6)
    assert out[rows] == 7


def test_a_dense_record_may_be_narrower_than_the_weights() -> None:
    """There may be room for features that nobody has seen yet."""
    out = np.empty(3, dtype=np.float32)
    scores_of(WEIGHTS, DENSE[:5], NOTHING, out)
    np.testing.assert_allclose(out, WEIGHTS[:, :5] @ DENSE[:5], rtol=1e-5)
    weights = WEIGHTS.copy()
    add_outer(weights, np.ones(3, dtype=np.float32), DENSE[:5], NOTHING)
    assert np.array_equal(weights[:, 5:], WEIGHTS[:, 5:])


def test_a_record_without_values_does_nothing() -> None:
    empty = np.zeros(0, dtype=np.float32)
    out = np.ones(3, dtype=np.float32)
    scores_of(WEIGHTS, empty, NOTHING, out)
    assert out.tolist() == [0, 0, 0]
