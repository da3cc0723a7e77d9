"""Records that are scaled into pieces at once are those that are scaled and then taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.kernels import piece_scaling, pieces, scaling
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.kernels.scaling import MANY
from tests.kernels.alone import alone

scale_into_pieces = alone(piece_scaling.scale_into_pieces)
scale_settled = alone(scaling.scale_settled)
take_pieces = alone(pieces.take_pieces)


def _record(width: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scales and a record in which each kind of value meets each kind of scale."""
    rng = np.random.default_rng(width)
    scales = np.stack([rng.normal(size=width), rng.uniform(0.1, 3, width)])
    scales[0, rng.random(width) < 0.7] = 0
    scales[1, rng.random(width) < 0.1] = 0
    values = rng.normal(0, 4, width)
    values[rng.random(width) < 0.5] = 0
    values[rng.random(width) < 0.05] = np.nan
    values[rng.random(width) < 0.05] = -np.inf
    values[rng.random(width) < 0.05] = 1e300
    on_centre = rng.random(width) < 0.05
    values[on_centre] = scales[0, on_centre]
    for begin in range(0, width, 3 * PIECE):
        values[begin : begin + PIECE] = scales[0, begin : begin + PIECE] = 0
    return scales, values


def _room(width: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    most = pieces.most_pieces(width)
    z, packed = (np.full(n, 7, dtype=np.float32) for n in (width, most * PIECE))
    return z, packed, np.full(most, -1)


@pytest.mark.parametrize("width", [MANY, MANY + 1, MANY + PIECE - 1, 784, 1_003])
def test_it_is_both_steps_at_once(width: int) -> None:
    scales, values = _record(width)
    z, packed, places = _room(width)
    n = scale_into_pieces(scales, values, z, packed, places)
    expected, apart, begins = _room(width)
    scale_settled(scales, True, values, expected)
    m = take_pieces(expected, apart, begins)
    assert 0 < n < places.size
    np.testing.assert_array_equal(z, expected)
    # Pieces of values that all count as 0, such as missing ones, may be among them.
    kept = [p for p in range(n) if packed[p * PIECE : (p + 1) * PIECE].any()]
    assert places[kept].tolist() == begins[:m].tolist()
    assert packed.reshape(-1, PIECE)[kept].tolist() == apart.reshape(-1, PIECE)[:m].tolist()


def test_it_is_numpys() -> None:
    scales, values = _record(784)
    compiled, plain = _room(784), _room(784)
    n = scale_into_pieces(scales, values, *compiled)
    with np.errstate(all="ignore"):
        assert piece_scaling.scale_whole_pieces(scales[0], scales[1], values, *plain) == n
    for ours, theirs, size in zip(compiled, plain, (784, n * PIECE, n), strict=True):
        np.testing.assert_allclose(ours[:size], theirs[:size], rtol=1e-6)


def test_a_row_that_is_0_throughout_has_no_pieces() -> None:
    scales = np.stack([np.zeros(MANY), np.ones(MANY)])
    z, packed, places = _room(MANY)
    assert scale_into_pieces(scales, np.zeros(MANY), z, packed, places) == 0
    assert not z.any()
