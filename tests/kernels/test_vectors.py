"""Short vectors: every length, compiled and plain, and nothing beyond the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from stream_llsvm.kernels import vectors
from tests.oracle_parts import Array

LENGTHS = (*range(20), 26, 31, 32, 33, 52, 100)
BEYOND = 40


def _added(out: Array, x: Array, factor: float) -> None:
    vectors.add_multiple(out, x, factor)


def _followed(w: Array, mean: Array, pace: Array, share: float, rate: float) -> None:
    vectors.step_and_follow(w, mean, pace, share, rate)


def _raised(out: Array, x: Array, top: float) -> None:
    vectors.exponentials(out, x, top)


# What numba says that this returns is not what it returns.
added: Any = njit(_added)
followed: Any = njit(_followed)
raised: Any = njit(_raised)


def _floats(n: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_multiple_is_added(n: int) -> None:
    x, out = _floats(n, 0), _floats(n + BEYOND, 1)
    expected = out.copy()
    vectors.add_multiple(expected, x, 0.3)
    assert np.allclose(expected[:n], out[:n] + np.float32(0.3) * x, atol=1e-6)
    added(out, x, 0.3)
    assert np.allclose(out, expected, atol=1e-6)
    assert np.array_equal(out[n:], _floats(n + BEYOND, 1)[n:])


@pytest.mark.parametrize("n", LENGTHS)
def test_an_average_follows_what_steps(n: int) -> None:
    whole, pace = _floats(2 * n + BEYOND, 2), _floats(n, 3)
    before, plain = whole.astype(float), whole.copy()
    vectors.step_and_follow(plain, plain[n : 2 * n], pace, 0.5, 0.1)
    raw = before[:n] + 0.5 * pace
    assert np.allclose(plain[:n], raw, atol=1e-6)
    assert np.allclose(plain[n : 2 * n], before[n : 2 * n] + 0.1 * (raw - before[n : 2 * n]))
    followed(whole, whole[n : 2 * n], pace, 0.5, 0.1)
    assert np.allclose(whole, plain, atol=1e-6)
    assert np.array_equal(whole[2 * n :], plain[2 * n :])


@pytest.mark.parametrize("n", LENGTHS)
def test_each_number_is_computed_alike_whatever_its_place(n: int) -> None:
    x = np.full(n, 0.7, dtype=np.float32)
    out, higher = np.full(n, 0.1, dtype=np.float32), np.zeros(n, dtype=np.float32)
    added(out, x, 0.3)
    raised(higher, x, 1.3)
    assert len(set(out.tolist())) <= 1
    assert len(set(higher.tolist())) <= 1


@pytest.mark.parametrize("n", LENGTHS)
def test_exponentials(n: int) -> None:
    x = -np.abs(_floats(n, 4)) * np.geomspace(1e-3, 20, n or 1)[:n].astype(np.float32)
    out = _floats(n + BEYOND, 5)
    plain = out.copy()
    raised(out, x, 0.0)
    assert np.allclose(out[:n], np.exp(x.astype(float)), rtol=1e-6, atol=0)
    assert np.array_equal(out[n:], plain[n:])
    vectors.exponentials(plain, x, np.float32(0))
    assert np.allclose(out, plain, rtol=1e-6, atol=0)


def test_of_the_top_itself_and_far_below() -> None:
    x = np.array([3.0, 3.0 - 1e-7, -80.0, -1e30, -np.inf], dtype=np.float32)
    out = np.zeros(5, dtype=np.float32)
    raised(out, x, 3.0)
    assert out[0] == 1
    assert np.allclose(out[:3], np.exp(x[:3].astype(float) - 3), rtol=1e-6, atol=0)
    assert ((out[3:] >= 0) & (out[3:] < 1e-37)).all()
