"""Rows in pieces: the same sums from their pieces as from the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm.kernels import linear, piece_loops, pieces
from stream_llsvm.kernels.piece_loops import AT_ONCE, PIECE
from stream_llsvm.kernels.scaling import MANY
from tests.kernels.alone import alone
from tests.oracle import Oracle
from tests.oracle_compare import ALL, MEMBERS, Kernels, both_learn, stream, synced

Array = NDArray[Any]

take_pieces = alone(pieces.take_pieces)
scores_of = alone(linear.scores_of)
add_scaled = alone(linear.add_scaled)
add_outer = alone(linear.add_outer)

WIDTHS = (MANY, MANY + 1, MANY + PIECE - 1, 3 * MANY, 784)


def _mostly_zero(width: int, seed: int, share: float = 0.3) -> Array:
    """Return a row of which so large a share of the pieces is not zero, each with gaps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=width).astype(np.float32)
    pieces = -(-width // PIECE)
    live = rng.permutation(pieces) < share * pieces
    x[~np.repeat(live, PIECE)[:width]] = 0
    x[rng.random(width) < 0.3] = 0
    return x


def _taken(x: Array) -> tuple[Array, Any]:
    most = pieces.most_pieces(x.size)
    packed = np.full(most * PIECE, np.nan, dtype=np.float32)
    places = np.full(most, -1)
    n = take_pieces(x, packed, places)
    return packed[: n * PIECE], places[:n]


@given(width=st.sampled_from(WIDTHS), seed=st.integers(0, 10_000), share=st.floats(0.05, 1.0))
def test_pieces_are_the_row_without_some_zeros(width: int, seed: int, share: float) -> None:
    x = _mostly_zero(width, seed, share)
    packed, places = _taken(x)
    live = [(x[i : i + PIECE] != 0).any() for i in range(0, width, PIECE)]
    assert places.size == sum(live)
    again = np.zeros_like(x)
    for place, piece in zip(places, packed.reshape(-1, PIECE), strict=True):
        again[place : place + PIECE] += piece
    assert np.array_equal(again, x)


def test_taking_whole_pieces_is_numpys() -> None:
    x = _mostly_zero(784 + 3, 4)
    x[16:32] = -0.0
    x[784:] = 1
    packed, places = np.zeros(784, dtype=np.float32), np.zeros(49, dtype=np.int64)
    n = piece_loops.take_whole_pieces(x, packed, places)
    taken, their_places = _taken(x)
    assert n == their_places.size - 1
    assert places[:n].tolist() == their_places[:n].tolist()
    assert packed[: n * PIECE].tolist() == taken[: n * PIECE].tolist()


def test_a_row_that_is_short_or_empty_has_no_pieces() -> None:
    assert _taken(np.ones(PIECE - 1, dtype=np.float32))[1].size == 0
    assert _taken(np.zeros(MANY, dtype=np.float32))[1].size == 0
    assert _taken(np.eye(1, MANY, dtype=np.float32)[0])[1].tolist() == [0]
    assert _taken(np.ones(MANY + 1, dtype=np.float32))[1].size == MANY // PIECE + 1


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 23])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_loops_over_pieces_are_numpys(width: int, rows: int) -> None:
    x = _mostly_zero(width, rows, 0.5)
    packed, places = _taken(x)
    assert places.size > 0
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(rows, width)).astype(np.float32)
    out = np.full(rows + 1, 7, dtype=np.float32)
    scores_of(weights, packed, places, out[:rows])
    np.testing.assert_allclose(out[:rows], weights @ x, rtol=1e-4, atol=1e-5)
    assert out[rows] == 7
    plain = np.zeros(rows, dtype=np.float32)
    piece_loops.scores_of_pieces(weights, packed, places, plain)
    np.testing.assert_allclose(plain, out[:rows], rtol=1e-4, atol=1e-5)
    v = weights[0].copy()
    add_scaled(v, packed, places, np.float32(0.5))
    np.testing.assert_allclose(v, weights[0] + 0.5 * x, rtol=1e-6, atol=1e-6)
    by_numpy = weights[0].copy()
    piece_loops.add_pieces(by_numpy, packed, places, 0.5)
    np.testing.assert_allclose(v, by_numpy, rtol=1e-6, atol=1e-6)
    step = rng.normal(size=rows).astype(np.float32)
    step[0] = 0
    stepped = weights.copy()
    add_outer(stepped, step, packed, places)
    np.testing.assert_allclose(stepped, weights + np.outer(step, x), rtol=1e-5, atol=1e-6)
    assert np.array_equal(stepped[0], weights[0])


def test_each_row_is_summed_alike_whatever_is_beside_it() -> None:
    """Ten rows are summed at a time, and what is left by eight, four, two and one."""
    x = _mostly_zero(784, 3)
    packed, places = _taken(x)
    row = np.random.default_rng(2).normal(size=784).astype(np.float32)
    out = np.zeros(2 * AT_ONCE - 1, dtype=np.float32)
    scores_of(np.tile(row, (out.size, 1)), packed, places, out)
    assert len(set(out.tolist())) == 1


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("name", ["sapl", "lcc", "inverse distance"])
def test_pictures_are_learned_as_the_oracle_does(name: str, standardize: bool) -> None:
    width = MANY + 5
    x, labels = stream(5, 30, width, 3)
    for i, row in enumerate(x):
        row[_mostly_zero(width, i, 0.4) == 0] = 0
    kernels = Kernels(MEMBERS[name], width, 3, standardize=standardize)
    oracle = Oracle(MEMBERS[name], width, 3, standardize=standardize)
    in_pieces = 0
    for row, label in zip(x, labels, strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
        in_pieces += int(kernels.memory.views(0)["pieces"][0, 0] > 0)
    assert in_pieces > 20


def test_a_committee_learns_pictures_as_the_oracle_does() -> None:
    width = MANY
    x, labels = stream(6, 80, width, 3)
    for i, row in enumerate(x):
        row[_mostly_zero(width, i, 0.4) == 0] = 0
    of = ALL["committee: all"]
    kernels, oracle = Kernels(of, width, 3), Oracle(of, width, 3)
    for row, label in zip(x, labels, strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
