"""Scaling a dense record of many settled features straight into its pieces.

Most pixels of a picture are 0, and so are their scaled values: pieces that are all 0 are found
first, and only the others are scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.compile import Array, kernel
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.kernels.pieces import take_rest
from stream_llsvm.kernels.scaling import FARTHEST, ON_CENTRE, ROOM, Z_STRAIGHT, standing
from stream_llsvm.kernels.vectors import Vector

_HALF = PIECE // 2


@kernel
def scale_into_pieces(scales: Array, values: Array, z: Array, packed: Array, places: Array) -> int:
    """Do what ``scale_settled`` does, among many features, and then ``take_pieces``."""
    n = scale_whole_pieces(scales[0], scales[1], values, z, packed, places)
    for i in range(values.size // PIECE * PIECE, values.size):
        z[i] = standing(values[i], scales[0, i], scales[1, i], True)
    return take_rest(z, n, packed, places)


def scale_whole_pieces(
    centres: Array, inverses: Array, values: Array, z: Array, packed: Array, places: Array
) -> int:
    """Scale the whole pieces of a record, and take those that may not be all 0; returns how many.

    A value is scaled as ``standing`` does among many features. 0 stays 0 on a centre of 0.
    """
    whole = values.size // PIECE * PIECE
    v, centre, inverse = values[:whole], centres[:whole], inverses[:whole]
    raw = ((v - centre) * inverse).astype(np.float32)
    straight = np.clip(raw, np.float32(-Z_STRAIGHT), np.float32(Z_STRAIGHT))
    far = np.clip(raw - straight, -FARTHEST, FARTHEST)
    bent = straight + ROOM * far / (ROOM + np.abs(far))
    on_centre = (bent == 0) & (inverse != 0) & (v != 0)
    bent = np.where(on_centre, np.float32(ON_CENTRE), bent)
    z[:whole] = np.where(np.isfinite(v), bent, np.float32(0))
    live = np.flatnonzero(((v != 0) | (centre != 0)).reshape(-1, PIECE).any(axis=1))
    packed[: live.size * PIECE] = z[:whole].reshape(-1, PIECE)[live].reshape(-1)
    places[: live.size] = live * PIECE
    return live.size


class _Doubles:
    """An array of 8-byte floats, half a piece of which is read at once."""

    def __init__(self, target: Any, builder: Any, kind: Any, array: Any) -> None:
        whole = target.make_array(kind)(target, builder, array)
        self._builder, self._data = builder, whole.data
        self.size = builder.extract_value(whole.shape, 0)

    def read(self, place: Any) -> tuple[Any, Any]:
        """Return the halves of the piece that begins at a place."""
        build = self._builder
        kind = ir.VectorType(ir.DoubleType(), _HALF).as_pointer()
        first, second = (build.add(place, place.type(i)) for i in (0, _HALF))
        first, second = (
            build.load(build.bitcast(build.gep(self._data, [i]), kind), align=8)
            for i in (first, second)
        )
        return first, second


def _whole(builder: Any, halves: list[Any]) -> Any:
    """Return two halves as one vector."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), PIECE), list(range(PIECE)))
    return builder.shuffle_vector(*halves, mask)


def _all(lanes: int, number: Any, kind: Any) -> Any:
    return ir.Constant(ir.VectorType(kind, lanes), [number] * lanes)


def _is(builder: Any, how: str, halves: Any) -> Any:
    """Compare a piece of 8-byte floats with 0."""
    zero = _all(_HALF, 0.0, ir.DoubleType())
    compare = builder.fcmp_unordered if how == "!=" else builder.fcmp_ordered
    return _whole(builder, [compare(how, half, zero) for half in halves])


def _clamped(builder: Any, x: Any, bound: Any) -> Any:
    low, high = _all(PIECE, -bound, ir.FloatType()), _all(PIECE, bound, ir.FloatType())
    x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
    return builder.select(builder.fcmp_ordered(">", x, high), high, x)


def _scaled(builder: Any, v: Any, centre: Any, inverse: Any) -> Any:
    """Return a scaled piece; see ``standing`` and ``bent`` in scaling.py."""
    floats = ir.VectorType(ir.FloatType(), _HALF)
    raw = _whole(
        builder,
        [
            builder.fptrunc(builder.fmul(builder.fsub(a, b), c), floats)
            for a, b, c in zip(v, centre, inverse, strict=True)
        ],
    )
    zero, room = _all(PIECE, 0.0, ir.FloatType()), _all(PIECE, ROOM, ir.FloatType())
    straight = _clamped(builder, raw, np.float32(Z_STRAIGHT))
    far = _clamped(builder, builder.fsub(raw, straight), FARTHEST)
    size = builder.select(builder.fcmp_ordered("<", far, zero), builder.fsub(zero, far), far)
    curve = builder.fdiv(builder.fmul(room, far), builder.fadd(room, size))
    bent = builder.fadd(straight, curve)
    says = builder.and_(_is(builder, "!=", inverse), _is(builder, "!=", v))
    on_centre = builder.and_(builder.fcmp_ordered("==", bent, zero), says)
    bent = builder.select(on_centre, _all(PIECE, np.float32(ON_CENTRE), ir.FloatType()), bent)
    finite = _is(builder, "==", [builder.fsub(half, half) for half in v])
    return builder.select(finite, bent, zero)


def _write(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    centres, inverses, values = (
        _Doubles(target, builder, kinds[i], arguments[i]) for i in range(3)
    )
    z, packed = (Vector(target, builder, kinds[i], arguments[i]) for i in (3, 4))
    places = target.make_array(kinds[5])(target, builder, arguments[5]).data
    word = values.size.type
    taken = cgutils.alloca_once_value(builder, word(0))
    end = builder.and_(values.size, word(-PIECE))
    with cgutils.for_range_slice(builder, word(0), end, word(PIECE), word) as (place, _):
        # A place is written whether it is taken or not, see piece_loops.py.
        n = builder.load(taken)
        builder.store(place, builder.gep(places, [n]))
        z.write(place, PIECE, _all(PIECE, 0.0, ir.FloatType()))
        some = builder.or_(
            _is(builder, "!=", values.read(place)), _is(builder, "!=", centres.read(place))
        )
        bits = builder.bitcast(some, ir.IntType(PIECE))
        live = builder.icmp_unsigned("!=", bits, ir.IntType(PIECE)(0))
        builder.store(builder.add(n, builder.zext(live, word)), taken)
    with cgutils.for_range(builder, builder.load(taken), intp=word) as loop:
        place = builder.load(builder.gep(places, [loop.index]))
        parts = (array.read(place) for array in (values, centres, inverses))
        scaled = _scaled(builder, *parts)
        z.write(place, PIECE, scaled)
        packed.write(builder.mul(loop.index, word(PIECE)), PIECE, scaled)
    return builder.load(taken)


@intrinsic
def _compiled(
    context: Any, centres: Any, inverses: Any, values: Any, z: Any, packed: Any, places: Any
) -> Any:
    return types.intp(centres, inverses, values, z, packed, places), _write


# Numba gives the typing context itself, which type checkers cannot know.
_write_all: Any = _compiled


@overload(scale_whole_pieces, strict=False, inline="always")
def _scale_whole_pieces(
    centres: Any, inverses: Any, values: Any, z: Any, packed: Any, places: Any
) -> Callable[..., Any]:
    # Numba asks for a function of its own kind of names, not for an intrinsic.
    return lambda centres, inverses, values, z, packed, places: _write_all(  # noqa: PLW0108
        centres, inverses, values, z, packed, places
    )
