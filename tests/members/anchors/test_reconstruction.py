"""Codes that reconstruct: they blend the anchors into the record, and sum to one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.members.anchors import reconstruction
from stream_llsvm.members.anchors.state import NORM, ZOOM
from tests.kernels.alone import alone
from tests.oracle_anchors import reconstructed
from tests.oracle_parts import Array

reconstruct = alone(reconstruction.reconstruct)
solve_for_ones = alone(reconstruction.solve_for_ones)


def codes(x: Array, anchors: Array, zooms: Array) -> Array:
    k = len(anchors)
    facts = np.zeros((4, k), dtype=np.float32)
    facts[ZOOM], facts[NORM] = zooms, (anchors**2).sum(axis=1)
    positions = (anchors / zooms[:, None]).astype(np.float32)
    code = np.zeros(k, dtype=np.float32)
    along = (anchors @ x).astype(np.float32)
    gram = np.zeros((k, k + 1))
    reconstruct(positions, facts, np.arange(k), along, np.float32(x @ x), gram, code)
    return code.astype(float)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8), d=st.integers(1, 6))
def test_they_are_the_constrained_least_squares_answer(seed: int, k: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x, anchors = rng.normal(size=d), rng.normal(size=(k, d))
    found = codes(x, anchors, rng.uniform(0.5, 2, k))
    assert found.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found, reconstructed(x, anchors), rtol=1e-3, atol=1e-3)


def test_a_record_within_its_neighbours_is_given_back() -> None:
    anchors = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(codes(x, anchors, np.ones(3)) @ anchors, x, atol=0.1)


def test_beyond_them_it_is_extrapolated() -> None:
    found = codes(np.array([3.0]), np.array([[1.0], [2.0]]), np.ones(2))
    assert found[0] < 0
    assert found[1] > 1


@pytest.mark.parametrize("far", [0.0, 1e-30, 1e15])
def test_twins_and_far_ones_leave_no_nan(far: float) -> None:
    found = codes(np.array([far, far]), np.full((3, 2), far), np.ones(3))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1, abs=1e-5)


def test_the_solver_solves() -> None:
    root = np.random.default_rng(0).normal(size=(5, 7))
    matrix, answer = root @ root.T, np.zeros(5)
    solve_for_ones(np.hstack([matrix, np.zeros((5, 1))]), answer)
    np.testing.assert_allclose(matrix @ answer, np.ones(5), atol=1e-9)
