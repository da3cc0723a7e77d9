"""Single steps of the anchors member: what an anchor sees, and where it goes."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels import piece_loops, pieces
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.members.anchors import steps as anchor_steps
from stream_llsvm.members.anchors.state import NORM, ZOOM
from tests.kernels.alone import alone
from tests.oracle_parts import seen_from

from_anchor = alone(anchor_steps.from_anchor)
shift = alone(anchor_steps.shift)
take_pieces = alone(pieces.take_pieces)
NOWHERE = np.zeros(0, dtype=np.int64)


def test_an_anchor_that_records_beside_it_drive_away_knows_where_it_is() -> None:
    """Each such move multiplies what was wrong with position and norm by 1.1 and by 1.21."""
    rng = np.random.default_rng(0)
    exact = np.array([1.0, -0.5, 0.3])
    position, facts = exact.astype(np.float32), np.zeros((4, 1), dtype=np.float32)
    facts[ZOOM], facts[NORM] = 1, exact @ exact
    for _ in range(2_000):
        here = facts[ZOOM, 0] * position
        x = (here + 0.1 * rng.normal(size=3) + 0.1 * (here - exact)).astype(np.float32)
        shift(position, facts, 0, -0.1, x, NOWHERE, float(here @ x), float(x @ x))
    there = (facts[ZOOM, 0] * position).astype(np.float64)
    assert 0 < np.abs(there).max() < 10
    assert facts[NORM, 0] == pytest.approx(there @ there, rel=1e-4)


@pytest.mark.parametrize("zoom", [1.0, 0.25])
def test_an_anchor_sees_the_same_however_a_record_lies(zoom: float) -> None:
    """Dense, by columns or in pieces: x - v where x says something, and nothing elsewhere."""
    rng = np.random.default_rng(1)
    v = rng.normal(size=160).astype(np.float32)
    x = rng.normal(size=160).astype(np.float32)
    x[16:64], x[70::3] = 0, 0
    expected, bias = seen_from(zoom * v.astype(np.float64), x.astype(np.float64))
    dense = np.zeros_like(x)
    along = from_anchor(v, zoom, x, NOWHERE, dense)
    np.testing.assert_allclose(dense, expected, atol=1e-6)
    assert 1 - along == pytest.approx(bias, rel=1e-5)

    at = np.flatnonzero(x)
    named = np.zeros(len(at), dtype=np.float32)
    assert from_anchor(v, zoom, x[at], at, named) == pytest.approx(along, rel=1e-5)
    np.testing.assert_array_equal(named, dense[at])

    packed, begins = np.zeros_like(x), np.zeros(10, dtype=np.int64)
    n = take_pieces(x, packed, begins)
    assert n == 7
    parts = np.zeros(n * PIECE, dtype=np.float32)
    told = from_anchor(v, zoom, packed[: n * PIECE], begins[:n], parts)
    assert told == pytest.approx(along, rel=1e-5)
    by_numpy = np.zeros_like(parts)
    piece_loops.offset_of_pieces(v, zoom, packed[: n * PIECE], begins[:n], by_numpy)
    np.testing.assert_allclose(parts, by_numpy, atol=1e-6)
    together = np.zeros_like(x)
    for part, begin in zip(parts.reshape(n, PIECE), begins[:n], strict=True):
        together[begin : begin + PIECE] = part
    np.testing.assert_array_equal(together, dense)
