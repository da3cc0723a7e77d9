"""Dense records of which large parts are zero, such as pictures: only the pieces that are not.

A piece is sixteen columns side by side, one cache line of 4-byte floats, and one vector register
where they are that long. Of a handwritten digit two fifths of the pieces are empty. To weights and
anchors it costs nothing to pass over a piece; a number at a time it would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.jit import Array, Real, kernel
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.kernels.state import BEGINS, CHUNK, FIRST_SECTION, PACKED, PIECES, WIDTH
from stream_llsvm.kernels.vectors import FLAGS, WIDEST, Vector, add_multiple
from stream_llsvm.kernels.views import floats, integers

PIECE = WIDEST
# A record that is not much emptier than full stays as it is.
_FULLEST = 0.75
_AT_ONCE = 4
_SUMS = 4


@kernel
def take_pieces(x: Array, packed: Array, places: Array) -> int:
    """Copy the pieces of x that are not all zero, and say where each begins; returns how many.

    0 if that is not worth while. The last piece ends where x does: what of it is in the piece
    before counts as zero.
    """
    if x.size < MANY:
        return 0
    most = int(_FULLEST * (x.size // PIECE))
    n = 0
    for begin in range(0, x.size, PIECE):
        first = min(begin, x.size - PIECE)
        piece = x[first : first + PIECE]
        live = 0
        for i in range(begin - first, PIECE):
            live |= piece[i] != 0
        if live == 0:
            continue
        if n == most:
            return 0
        copy = packed[n * PIECE : (n + 1) * PIECE]
        for i in range(PIECE):
            copy[i] = piece[i]
        for i in range(begin - first):
            copy[i] = 0
        places[n] = first
        n += 1
    return n


@kernel
def pieces_of(scratch: Array, plan: Array) -> tuple[Array, Array, Array]:
    """Return where a chunk's rows lie in pieces: these, where they begin, and how many there are.

    Of no size among few features; a row that is not worth it has none.
    """
    o, width = plan[0, FIRST_SECTION:], plan[0, WIDTH]
    rows = plan[0, CHUNK] if width >= MANY else 0
    packed = floats(scratch, o[PACKED], (rows, width))
    begins = integers(scratch, o[BEGINS], (rows, width // PIECE))
    return packed, begins, integers(scratch, o[PIECES], rows)


@kernel
def row_of(
    q: int, z: Array, at: Array, starts: Array, packed: Array, begins: Array, pieces: Array
) -> tuple[Array, Array]:
    """Return row q of a chunk, its values and their columns: its pieces, if it has some."""
    n = pieces[q] if pieces.size > 0 else 0
    if n > 0:
        return packed[q, : n * PIECE], begins[q, :n]
    first, end = starts[q], starts[q + 1]
    return z[first:end], at[first:end] if at.size > 0 else at


@kernel
def add_pieces(v: Array, packed: Array, places: Array, factor: Real) -> None:
    """``v += factor * x``."""
    for p in range(places.size):
        first = places[p]
        add_multiple(
            v[first : first + PIECE], packed[p * PIECE : (p + 1) * PIECE], np.float32(factor)
        )


@kernel
def scores_of_pieces(weights: Array, packed: Array, places: Array, out: Array) -> None:
    """``out[c] = weights[c] . x``."""
    fours = weights.shape[0] - weights.shape[0] % _AT_ONCE
    for c in range(0, fours, _AT_ONCE):
        some = weights[c : c + _AT_ONCE]
        dots_of_four(some[0], some[1], some[2], some[3], packed, places, out[c : c + _AT_ONCE])
    for c in range(fours, weights.shape[0]):
        dot_of_one(weights[c], packed, places, out[c : c + 1])


def dots_of_four(
    w0: Array, w1: Array, w2: Array, w3: Array, packed: Array, places: Array, out: Array
) -> None:
    """``out[r] = w_r . x`` for four rows, so that the sums do not wait for each other."""
    for r, w in enumerate((w0, w1, w2, w3)):
        dot_of_one(w, packed, places, out[r : r + 1])


def dot_of_one(w: Array, packed: Array, places: Array, out: Array) -> None:
    """``out[0] = w . x``."""
    columns = (places[:, None] + np.arange(PIECE)).reshape(-1)
    out[0] = np.dot(w[columns], packed)


def _dots(rows: int) -> Callable[..., Any]:
    """Return what writes the sums of so many rows over all pieces.

    A sum that waits for its last piece wastes most of the time, so several are kept for each row.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        *weights, packed = (
            Vector(target, builder, kinds[i], arguments[i]) for i in range(rows + 1)
        )
        where = target.make_array(kinds[rows + 1])(target, builder, arguments[rows + 1])
        out = Vector(target, builder, kinds[rows + 2], arguments[rows + 2])
        nothing = ir.Constant(ir.VectorType(ir.FloatType(), PIECE), [0.0] * PIECE)
        sums = [
            [cgutils.alloca_once_value(builder, nothing) for _ in range(_SUMS)] for _ in weights
        ]

        def add(p: Any, which: int) -> None:
            first = builder.load(builder.gep(where.data, [p]))
            x = packed.read(builder.mul(p, p.type(PIECE)), PIECE)
            for w, own in zip(weights, sums, strict=True):
                step = builder.fmul(w.read(first, PIECE), x, flags=FLAGS)
                builder.store(builder.fadd(builder.load(own[which]), step, flags=FLAGS), own[which])

        count = builder.extract_value(where.shape, 0)
        word = count.type
        whole = builder.and_(count, word(-_SUMS))
        with cgutils.for_range_slice(builder, word(0), whole, word(_SUMS), word) as (p, _):
            for which in range(_SUMS):
                add(builder.add(p, word(which)), which)
        with cgutils.for_range_slice(builder, whole, count, word(1), word) as (p, _):
            add(p, 0)
        for r, own in enumerate(sums):
            loaded = [builder.load(total) for total in own]
            while len(loaded) > 1:
                loaded = [builder.fadd(*loaded[i : i + 2]) for i in range(0, len(loaded), 2)]
            out.write_one(r, _sum_of(builder, loaded[0]))
        return target.get_dummy_value()

    return generate


def _sum_of(builder: Any, vector: Any) -> Any:
    """Return the sum of a vector's numbers, halves added to halves."""
    lanes = PIECE
    while lanes > 1:
        lanes //= 2
        halves = [
            builder.shuffle_vector(
                vector,
                vector,
                ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(a, a + lanes))),
            )
            for a in (0, lanes)
        ]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.IntType(32)(0))


@intrinsic
def _four(
    context: Any, w0: Any, w1: Any, w2: Any, w3: Any, packed: Any, places: Any, out: Any
) -> Any:
    return types.void(w0, w1, w2, w3, packed, places, out), _dots(_AT_ONCE)


@intrinsic
def _one(context: Any, w: Any, packed: Any, places: Any, out: Any) -> Any:
    return types.void(w, packed, places, out), _dots(1)


# Numba gives the typing context itself, which type checkers cannot know.
_compiled_four: Any = _four
_compiled_one: Any = _one


@overload(dots_of_four, strict=False, inline="always")
def _dots_of_four(
    w0: Any, w1: Any, w2: Any, w3: Any, packed: Any, places: Any, out: Any
) -> Callable[..., Any]:
    # Numba asks for a function of its own kind of names, not for an intrinsic.
    return lambda w0, w1, w2, w3, packed, places, out: _compiled_four(  # noqa: PLW0108
        w0, w1, w2, w3, packed, places, out
    )


@overload(dot_of_one, strict=False, inline="always")
def _dot_of_one(w: Any, packed: Any, places: Any, out: Any) -> Callable[..., Any]:
    return lambda w, packed, places, out: _compiled_one(w, packed, places, out)  # noqa: PLW0108
