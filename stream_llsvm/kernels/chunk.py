"""A chunk of scaled rows: what members score and learn, one member after the other."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from stream_llsvm.kernels.compile import Array, kernel
from stream_llsvm.kernels.piece_loops import PIECE


class Chunk(NamedTuple):
    """Scaled rows, their labels, and what members say of them and leave for each other."""

    #: The rows' values, one row behind the other: row q is ``z[starts[q] : starts[q + 1]]``.
    z: Array
    #: The column of each value; of no size if rows are dense.
    columns: Array
    starts: Array
    #: A code for each row; -1 if there is nothing to learn from it.
    labels: Array
    importance: Array
    #: Whether the last call scored the first row, and nothing has changed since.
    scored: bool
    #: The answers: (rows, all experts, columns).
    scores: Array
    #: The neighbours' metric at each time within the chunk at which ferns may be drawn anew.
    relevance: Array
    #: How many records the members had learned before the first row.
    clock: Array
    #: Wide dense rows without their empty pieces (``pieces.py``): values, where each piece begins,
    #: and how many each row has. Of no size among few features.
    packed: Array
    begins: Array
    pieces: Array
    #: The rows as they came, names and times still in them: row q is
    #: ``values[value_starts[q] : value_starts[q + 1]]``. Of sparse rows ``z`` leaves these out.
    values: Array
    value_columns: Array
    value_starts: Array
    #: The numbers to learn, scaled, where a label only says whether to; of no size for classes.
    targets: Array


_floats, _doubles, _integers = types.float32[::1], types.float64[::1], types.int64[::1]
CHUNK = types.NamedTuple(
    [
        _floats, _integers, _integers, _integers, _doubles, types.boolean,
        types.float32[:, :, ::1], types.float32[:, ::1], _integers, types.float32[:, ::1],
        types.int64[:, ::1], _integers, _doubles, _integers, _integers, _doubles,
    ],
    Chunk,
)  # fmt: skip


@kernel
def row_of(chunk: Chunk, q: int) -> tuple[Array, Array]:
    """Return row q, its values and their columns."""
    first, end = chunk.starts[q], chunk.starts[q + 1]
    columns = chunk.columns
    return chunk.z[first:end], columns[first:end] if columns.size > 0 else columns


@kernel
def row_or_pieces(chunk: Chunk, q: int) -> tuple[Array, Array]:
    """Return row q, its values and their columns: its pieces, if it has some."""
    n = chunk.pieces[q] if chunk.pieces.size > 0 else 0
    if n > 0:
        return chunk.packed[q, : n * PIECE], chunk.begins[q, :n]
    return row_of(chunk, q)
