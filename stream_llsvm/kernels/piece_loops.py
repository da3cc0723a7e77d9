"""The loops over a record's pieces, each of which is a vector register where they are that long.

In plain Python these are numpy's own operations. See ``pieces.py`` for what a piece is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.compile import Array, Real
from stream_llsvm.kernels.vectors import FLAGS, WIDEST, Vector, everywhere, folded, sum_with

PIECE = WIDEST
#: Rows of weights that are summed at once. A sum that waits for its last step wastes most of the
#: time: eight sums would do, ten is what most data with many classes have.
AT_ONCE = 10
_FEWER = (8, 4, 2, 1)


def scores_of_pieces(weights: Array, packed: Array, places: Array, out: Array) -> None:
    """``out[c] = weights[c] . x``, ten rows of weights at a time, then eight, four, two and one."""
    columns = (places[:, None] + np.arange(PIECE)).reshape(-1)
    out[: len(weights)] = weights[:, columns] @ packed


def add_pieces(v: Array, packed: Array, places: Array, factor: Real) -> None:
    """``v += factor * x``."""
    columns = (places[:, None] + np.arange(PIECE)).reshape(-1)
    np.add.at(v, columns, np.float32(factor) * packed)


def offset_of_pieces(v: Array, zoom: Real, packed: Array, places: Array, offset: Array) -> Real:
    """Fill ``x - zoom * v`` where x is not 0, else 0; returns its product with ``zoom * v``."""
    columns = (places[:, None] + np.arange(PIECE)).reshape(-1)
    there = np.float32(zoom) * v[columns]
    offset[:] = np.where(packed != 0, packed - there, np.float32(0))
    return offset @ there


def take_whole_pieces(x: Array, packed: Array, places: Array) -> int:
    """Copy the pieces of x that are not all zero, and say where each begins; returns how many.

    What is left of x behind its last whole piece is not looked at.
    """
    whole = x[: x.size // PIECE * PIECE].reshape(-1, PIECE)
    live = np.flatnonzero((whole != 0).any(axis=1))
    packed[: live.size * PIECE] = whole[live].reshape(-1)
    places[: live.size] = live * PIECE
    return live.size


class _Rows:
    """Rows of weights, a piece of which is read at once."""

    def __init__(self, target: Any, builder: Any, kind: Any, array: Any) -> None:
        whole = target.make_array(kind)(target, builder, array)
        self._builder, self._data = builder, whole.data
        count, self._width = cgutils.unpack_tuple(builder, whole.shape)
        self.count = count

    def starts(self, first: Any, rows: int) -> list[Any]:
        """Return where some rows begin."""
        build, word = self._builder, first.type
        places = [build.mul(build.add(first, word(r)), self._width) for r in range(rows)]
        return [build.gep(self._data, [place]) for place in places]

    def read(self, start: Any, place: Any) -> Any:
        """Return a piece of the row that begins there."""
        piece = ir.VectorType(ir.FloatType(), PIECE).as_pointer()
        at = self._builder.bitcast(self._builder.gep(start, [place]), piece)
        return self._builder.load(at, align=4)


def _scores(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    weights = _Rows(target, builder, kinds[0], arguments[0])
    packed = Vector(target, builder, kinds[1], arguments[1])
    where = target.make_array(kinds[2])(target, builder, arguments[2])
    out = Vector(target, builder, kinds[3], arguments[3])
    count = builder.extract_value(where.shape, 0)
    word = count.type
    nothing = ir.Constant(ir.VectorType(ir.FloatType(), PIECE), [0.0] * PIECE)

    def tile(first: Any, rows: int) -> None:
        """Write the sums of so many rows."""
        starts = weights.starts(first, rows)
        sums = [cgutils.alloca_once_value(builder, nothing) for _ in starts]
        with cgutils.for_range(builder, count, intp=word) as loop:
            place = builder.load(builder.gep(where.data, [loop.index]))
            x = packed.read(builder.mul(loop.index, word(PIECE)), PIECE)
            for start, total in zip(starts, sums, strict=True):
                step = builder.fmul(weights.read(start, place), x, flags=FLAGS)
                builder.store(builder.fadd(builder.load(total), step, flags=FLAGS), total)
        done = 0
        for some in _FEWER:
            if rows & some:
                loaded = [builder.load(total) for total in sums[done : done + some]]
                out.write(builder.add(first, word(done)), some, _sums_of(builder, loaded))
                done += some

    tens = builder.mul(builder.udiv(weights.count, word(AT_ONCE)), word(AT_ONCE))
    with cgutils.for_range_slice(builder, word(0), tens, word(AT_ONCE), word) as (c, _):
        tile(c, AT_ONCE)
    rest = builder.sub(weights.count, tens)
    for rows in _FEWER:
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(rest, word(rows)), word(0))):
            tile(builder.add(tens, builder.and_(rest, word(-2 * rows))), rows)
    return target.get_dummy_value()


def _sums_of(builder: Any, vectors: list[Any]) -> Any:
    """Return a vector of the sums of vectors, of which there is a power of two.

    Halves are added to halves: of two vectors at once, then of both theirs, so that no part of a
    register lies idle.
    """
    lanes = PIECE  # that are left of each
    while lanes > 1:
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = [folded(builder, pair, lanes) for pair in pairs]
        lanes //= 2
    return vectors[0]


def _add(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    v = Vector(target, builder, kinds[0], arguments[0])
    packed = Vector(target, builder, kinds[1], arguments[1])
    where = target.make_array(kinds[2])(target, builder, arguments[2])
    count = builder.extract_value(where.shape, 0)
    with cgutils.for_range(builder, count, intp=count.type) as loop:
        place = builder.load(builder.gep(where.data, [loop.index]))
        x = packed.read(builder.mul(loop.index, count.type(PIECE)), PIECE)
        v.write(place, PIECE, sum_with(builder, v.read(place, PIECE), arguments[3], x, PIECE))
    return target.get_dummy_value()


def _offset(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    v, packed, offset = (Vector(target, builder, kinds[i], arguments[i]) for i in (0, 2, 4))
    where = target.make_array(kinds[3])(target, builder, arguments[3])
    count = builder.extract_value(where.shape, 0)
    nothing = ir.Constant(ir.VectorType(ir.FloatType(), PIECE), [0.0] * PIECE)
    zoom = everywhere(builder, arguments[1], PIECE)
    total = cgutils.alloca_once_value(builder, nothing)
    with cgutils.for_range(builder, count, intp=count.type) as loop:
        begin = builder.mul(loop.index, count.type(PIECE))
        x = packed.read(begin, PIECE)
        there = v.read(builder.load(builder.gep(where.data, [loop.index])), PIECE)
        there = builder.fmul(zoom, there, flags=FLAGS)
        says = builder.fcmp_unordered("!=", x, nothing)
        apart = builder.select(says, builder.fsub(x, there, flags=FLAGS), nothing)
        offset.write(begin, PIECE, apart)
        step = builder.fmul(apart, there, flags=FLAGS)
        builder.store(builder.fadd(builder.load(total), step, flags=FLAGS), total)
    return builder.extract_element(_sums_of(builder, [builder.load(total)]), ir.IntType(32)(0))


def _take(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    whole = target.make_array(kinds[0])(target, builder, arguments[0])
    x = Vector(target, builder, kinds[0], arguments[0])
    packed = Vector(target, builder, kinds[1], arguments[1])
    places = target.make_array(kinds[2])(target, builder, arguments[2])
    size = builder.extract_value(whole.shape, 0)
    word = size.type
    nothing = ir.Constant(ir.VectorType(ir.FloatType(), PIECE), [0.0] * PIECE)
    taken = cgutils.alloca_once_value(builder, word(0))
    end = builder.and_(size, word(-PIECE))
    with cgutils.for_range_slice(builder, word(0), end, word(PIECE), word) as (place, _):
        # An empty piece is copied too, and written over by the next: whether pieces are empty
        # cannot be foretold, and a wrong guess costs more than a copy.
        piece, n = x.read(place, PIECE), builder.load(taken)
        packed.write(builder.mul(n, word(PIECE)), PIECE, piece)
        builder.store(place, builder.gep(places.data, [n]))
        some = builder.bitcast(builder.fcmp_unordered("!=", piece, nothing), ir.IntType(PIECE))
        live = builder.icmp_unsigned("!=", some, ir.IntType(PIECE)(0))
        builder.store(builder.add(n, builder.zext(live, word)), taken)
    return builder.load(taken)


@intrinsic
def _compiled_scores(context: Any, weights: Any, packed: Any, places: Any, out: Any) -> Any:
    return types.void(weights, packed, places, out), _scores


@intrinsic
def _compiled_add(context: Any, v: Any, packed: Any, places: Any, factor: Any) -> Any:
    return types.void(v, packed, places, types.float32), _add


@intrinsic
def _compiled_offset(context: Any, v: Any, zoom: Any, packed: Any, places: Any, offset: Any) -> Any:
    return types.float32(v, types.float32, packed, places, offset), _offset


@intrinsic
def _compiled_take(context: Any, x: Any, packed: Any, places: Any) -> Any:
    return types.intp(x, packed, places), _take


# Numba gives the typing context itself, which type checkers cannot know.
_write_scores: Any = _compiled_scores
_write_add: Any = _compiled_add
_write_offset: Any = _compiled_offset
_write_take: Any = _compiled_take


# Numba asks for a function of its own kind of names, not for an intrinsic.
@overload(scores_of_pieces, strict=False, inline="always")
def _scores_of_pieces(weights: Any, packed: Any, places: Any, out: Any) -> Callable[..., Any]:
    return lambda weights, packed, places, out: _write_scores(weights, packed, places, out)  # noqa: PLW0108


@overload(add_pieces, strict=False, inline="always")
def _add_pieces(v: Any, packed: Any, places: Any, factor: Any) -> Callable[..., Any]:
    return lambda v, packed, places, factor: _write_add(v, packed, places, np.float32(factor))


@overload(offset_of_pieces, strict=False, inline="always")
def _offset_of_pieces(
    v: Any, zoom: Any, packed: Any, places: Any, offset: Any
) -> Callable[..., Any]:
    return lambda v, zoom, packed, places, offset: _write_offset(
        v, np.float32(zoom), packed, places, offset
    )


@overload(take_whole_pieces, strict=False, inline="always")
def _take_whole_pieces(x: Any, packed: Any, places: Any) -> Callable[..., Any]:
    return lambda x, packed, places: _write_take(x, packed, places)  # noqa: PLW0108
