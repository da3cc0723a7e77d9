"""Dense records of many features, in pieces: those that are all zero are left out.

A piece is sixteen columns side by side, one cache line of 4-byte floats, and one vector register
where they are that long. Of a handwritten digit two fifths of the pieces are empty. To weights and
anchors it costs nothing to pass over a piece; a number at a time it would cost more than it saves.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, kernel
from stream_llsvm.kernels.piece_loops import PIECE, take_whole_pieces


@kernel
def take_pieces(x: Array, packed: Array, places: Array) -> int:
    """Copy the pieces of x that are not all zero, and say where each begins; returns how many."""
    n = take_whole_pieces(x, packed, places)
    # The last piece ends where x does: what of it is in the piece before counts as zero.
    begin, live = x.size // PIECE * PIECE, 0
    for i in range(begin, x.size):
        live |= x[i] != 0
    if live == 0 or x.size < PIECE:
        return n
    first = x.size - PIECE
    copy = packed[n * PIECE : (n + 1) * PIECE]
    for i in range(PIECE):
        copy[i] = x[first + i] if first + i >= begin else np.float32(0)
    places[n] = first
    return n + 1


def most_pieces(width: int) -> int:
    """Return how many pieces so many columns have."""
    return (width + PIECE - 1) // PIECE
