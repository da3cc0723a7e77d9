"""Codes: the nearest anchors, their shares, and how the shares follow an anchor that moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.members.anchors import codes as coding
from stream_llsvm.members.anchors.codes import INVERSE_DISTANCE, SOFTMAX
from tests.kernels.alone import alone
from tests.oracle_parts import Array, codes_at

encode = alone(coding.encode)
nearest = alone(coding.nearest)
nearest_of_many = alone(coding.nearest_of_many)


def _encode(coding: int, squared: Array, sharpness: float, spread: float) -> tuple[Array, Array]:
    code, pull = np.zeros((2, len(squared)), dtype=np.float32)
    encode(coding, squared.astype(np.float32), sharpness, spread, code, pull)
    return code.astype(float), pull.astype(float)


@pytest.mark.parametrize(
    ("born", "k"), [(1, 1), (8, 8), (9, 8), (30, 8), (128, 8), (300, 8), (300, 200)]
)
def test_among_many_the_same_are_found(born: int, k: int) -> None:
    rng = np.random.default_rng(born)
    zoom, stored = rng.uniform(0.5, 2, born + 3), rng.normal(size=(born + 3, 4))
    x = rng.normal(size=4)
    norms = (zoom**2) * (stored**2).sum(axis=1)
    facts = np.array([zoom, norms], dtype=np.float32)
    products = (stored @ x).astype(np.float32)
    near, others = np.zeros((2, k), dtype=np.int64)
    distance, along, distances, alongs = np.zeros((4, k + 1), dtype=np.float32)
    x_norm = np.float32(x @ x)
    nearest(products, facts, born, x_norm, near, distance, along)
    scratch = np.zeros(born + 3, dtype=np.float32), np.zeros(GROUPS, dtype=np.float32)
    search = coding.Search(facts, *scratch, np.zeros((3, GROUPS), dtype=np.int64))
    nearest_of_many(search, products, born, x_norm, others, distances, alongs)
    np.testing.assert_allclose(distances[:k], distance[:k], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(alongs[:k], along[:k], rtol=1e-5, atol=1e-6)
    apart = np.diff(distance[:k], append=np.inf) > 1e-5
    apart[1:] &= apart[:-1]
    assert np.array_equal(near[apart], others[apart])


@pytest.mark.parametrize("seed", range(5))
def test_nearest_finds_what_sorting_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    born, room, k, d = 17, 20, 6, 5
    zoom, stored = rng.uniform(0.3, 2, size=room), rng.normal(size=(room, d))
    anchors, x = zoom[:, None] * stored, rng.normal(size=d)
    facts = np.array([zoom, (anchors**2).sum(axis=1)], dtype=np.float32)
    near = np.zeros(k, dtype=np.int64)
    distance, along = np.zeros((2, k), dtype=np.float32)
    products = (stored @ x).astype(np.float32)
    nearest(products, facts, born, np.float32(x @ x), near, distance, along)
    squared = ((anchors[:born] - x) ** 2).sum(axis=1)
    order = np.argsort(squared)[:k]
    assert near.tolist() == order.tolist()
    np.testing.assert_allclose(distance, squared[order], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(along, (anchors @ x)[order], rtol=1e-5, atol=1e-5)


def test_a_distance_is_never_negative_and_ties_keep_their_order() -> None:
    v = np.array([3.1, -2.7, 1.3])
    n = (v * v).sum()
    facts = np.array([[1, 1, 1], [n, n, n + 1]], dtype=np.float32)
    near = np.zeros(2, dtype=np.int64)
    distance, along = np.zeros((2, 2), dtype=np.float32)
    # The squared norm rounded down, as a sum in another order may be.
    below = np.nextafter(np.float32(n), np.float32(0))
    nearest(np.full(3, n, dtype=np.float32), facts, 3, below, near, distance, along)
    assert near.tolist() == [0, 1]
    assert distance.tolist() == [0, 0]


@given(
    coding=st.sampled_from([SOFTMAX, INVERSE_DISTANCE]),
    squared=st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
    sharpness=st.floats(0.1, 10),
    spread=st.floats(0, 1e6),
)
def test_codes_sum_to_one_and_are_the_oracles(
    coding: int, squared: list[float], sharpness: float, spread: float
) -> None:
    d = np.sort(np.array(squared, dtype=np.float32)).astype(float)
    code, pull = _encode(coding, d, sharpness, spread)
    assert np.isfinite(code).all()
    assert not np.isnan(pull).any()
    assert code.sum() == pytest.approx(1, abs=1e-5)
    assert (np.diff(code) <= 1e-6).all(), "a nearer anchor has at least as large a share"
    if spread > 1e-3:
        # exp(-e) has e's absolute error as its relative one; codes of 1e-7 do not matter.
        expected = codes_at(coding, d, sharpness, spread)
        np.testing.assert_allclose(code, expected[0], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(pull, expected[1], rtol=2e-3, atol=1e-6 * expected[1].max())


def test_far_neighbours_do_not_underflow_the_sum() -> None:
    code, _ = _encode(SOFTMAX, np.array([1e8, 1e8 + 64]), 1.0, 1.0)
    assert code[0] == 1
    assert code[1] < 1e-20


@pytest.mark.parametrize(("coding", "tolerance"), [(SOFTMAX, 2e-3), (INVERSE_DISTANCE, 1e-2)])
@pytest.mark.parametrize("seed", range(4))
def test_the_pull_is_the_codes_derivative(coding: int, tolerance: float, seed: int) -> None:
    """dH/dv_j = pull_j (h_j - H) (x - v_j), SAPL(13-15), by finite differences.

    The floor under inverse distances takes a thousandth off, hence that coding's tolerance.
    """
    rng = np.random.default_rng(seed)
    k, d = 5, 4
    x, v, h = rng.normal(size=d), rng.normal(size=(k, d)), rng.normal(size=k)
    spread = 5.0

    def blend(anchors: Array) -> float:
        squared = ((anchors - x) ** 2).sum(axis=1)
        return float(codes_at(coding, squared, 1.3, spread)[0] @ h)

    _, pull = _encode(coding, ((v - x) ** 2).sum(axis=1), 1.3, spread)
    claimed = pull[:, None] * (h - blend(v))[:, None] * (x - v)
    measured = np.zeros((k, d))
    for j in range(k):
        for i in range(d):
            there, back = v.copy(), v.copy()
            there[j, i] += 1e-6
            back[j, i] -= 1e-6
            measured[j, i] = (blend(there) - blend(back)) / 2e-6
    np.testing.assert_allclose(claimed, measured, rtol=tolerance, atol=tolerance * 0.1)
