"""A chunk of scaled rows: what members score and learn, one member after the other."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from stream_llsvm.kernels.compile import Array, inlined, kernel
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.piece_loops import PIECE


class Chunk(NamedTuple):
    """Scaled rows, their labels, and what members say of them and leave for each other."""

    #: The rows' values, one row behind the other: row q is ``z[starts[q] : ends[q]]``. It ends
    #: where the next begins, or where the columns do that the member sees.
    z: Array
    #: The column of each value; of no size if rows are dense.
    columns: Array
    starts: Array
    ends: Array
    #: A code for each row; -1 if there is nothing to learn from it.
    labels: Array
    importance: Array
    #: Whether the last call scored the first row, and nothing has changed since.
    scored: bool
    #: The answers: (rows, all experts, columns).
    scores: Array
    #: The neighbours' metric at each time within the chunk at which ferns may be drawn anew.
    relevance: Array
    #: How many records the members had learned before the first row (and before each other).
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
        _floats, _integers, _integers, _integers, _integers, _doubles, types.boolean,
        types.float32[:, :, ::1], types.float32[:, ::1], _integers, types.float32[:, ::1],
        types.int64[:, ::1], _integers, _doubles, _integers, _integers, _doubles,
    ],
    Chunk,
)  # fmt: skip


@inlined
def ending(chunk: Chunk, ends: Array) -> Chunk:
    """Return the chunk with other ends of its rows."""
    return Chunk(
        chunk.z, chunk.columns, chunk.starts, ends, chunk.labels, chunk.importance, chunk.scored,
        chunk.scores, chunk.relevance, chunk.clock, chunk.packed, chunk.begins, chunk.pieces,
        chunk.values, chunk.value_columns, chunk.value_starts, chunk.targets,
    )  # fmt: skip


@kernel
def row_of(chunk: Chunk, q: int) -> tuple[Array, Array]:
    """Return row q, its values and their columns."""
    first, end = chunk.starts[q], chunk.ends[q]
    columns = chunk.columns
    return chunk.z[first:end], columns[first:end] if columns.size > 0 else columns


@kernel
def row_or_pieces(chunk: Chunk, q: int) -> tuple[Array, Array]:
    """Return row q, its values and their columns: its pieces, if it has some."""
    n = chunk.pieces[q] if chunk.pieces.size > 0 else 0
    if n > 0:
        return chunk.packed[q, : n * PIECE], chunk.begins[q, :n]
    return row_of(chunk, q)


@kernel
def row_alone(chunk: Chunk, q: int, scores: Array) -> Chunk:
    """Return row q as a chunk of its own, of which the members say ``scores``.

    What they leave for each other, now and then, lies where it would in the whole chunk.
    """
    left = chunk.clock[q] // PERIOD - chunk.clock[0] // PERIOD
    packed, begins, pieces = chunk.packed, chunk.begins, chunk.pieces
    if pieces.size > 0:
        packed, begins, pieces = packed[q:], begins[q:], pieces[q:]
    return Chunk(
        chunk.z, chunk.columns, chunk.starts[q:], chunk.ends[q:], chunk.labels[q : q + 1],
        chunk.importance[q:], False, scores, chunk.relevance[left:], chunk.clock[q:], packed,
        begins, pieces, chunk.values, chunk.value_columns, chunk.value_starts[q:], chunk.targets,
    )  # fmt: skip
