"""The eight smallest of many distances, for sixteen rows side by side.

For a single row they are found by bisection and insertion sort, whose branches mispredict. Here
each row has a SIMD lane to itself, and nothing branches: a distance is carried down a ladder of the
eight smallest so far, and where it is smaller it changes places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.vectors import WIDEST, Vector

ROWS = WIDEST
MOST = 8


def smallest_side_by_side(distances: Array, near: Array, nearest: Array) -> None:
    """Find the eight smallest distances of each row, smallest first; equal ones as they come.

    All three hold one number of each of sixteen rows, then the next of each: ``near``, as floats,
    which distances they are, and ``nearest`` the distances.
    """
    table = distances.reshape(-1, ROWS)
    order = np.argsort(table, axis=0, kind="stable")[:MOST]
    near[: order.size] = order.reshape(-1)
    nearest[: order.size] = np.take_along_axis(table, order, axis=0).reshape(-1)


def _write(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    distances, near, nearest = (Vector(target, builder, kinds[i], arguments[i]) for i in range(3))
    whole = target.make_array(kinds[0])(target, builder, arguments[0])
    size, single = builder.extract_value(whole.shape, 0), ir.FloatType()
    word = size.type
    kind = ir.VectorType(single, ROWS)
    count = builder.udiv(size, word(ROWS))
    endless = ir.Constant(kind, [float("inf")] * ROWS)
    ladder = [
        (
            cgutils.alloca_once_value(builder, endless),
            cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * ROWS)),
        )
        for _ in range(MOST)
    ]
    with cgutils.for_range(builder, count, intp=word) as loop:
        new = distances.read(builder.mul(loop.index, word(ROWS)), ROWS)
        number = builder.insert_element(
            ir.Constant(kind, ir.Undefined),
            builder.sitofp(loop.index, single),
            ir.IntType(32)(0),
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), ROWS), [0] * ROWS)
        carried = [new, builder.shuffle_vector(number, number, zeros)]
        for rung in ladder:
            held = [builder.load(place) for place in rung]
            smaller = builder.fcmp_ordered("<", new, held[0])
            for i, place in enumerate(rung):
                builder.store(builder.select(smaller, carried[i], held[i]), place)
                carried[i] = builder.select(smaller, held[i], carried[i])
    for p, (distance, which) in enumerate(ladder):
        near.write(word(p * ROWS), ROWS, builder.load(which))
        nearest.write(word(p * ROWS), ROWS, builder.load(distance))
    return target.get_dummy_value()


@intrinsic
def _compiled(context: Any, distances: Any, near: Any, nearest: Any) -> Any:
    return types.void(distances, near, nearest), _write


# Numba gives the typing context itself, which type checkers cannot know.
_write_smallest: Any = _compiled


@overload(smallest_side_by_side, strict=False, inline="always")
def _smallest(distances: Any, near: Any, nearest: Any) -> Callable[..., Any]:
    # Numba asks for a function of its own kind of names, not for an intrinsic.
    return lambda distances, near, nearest: _write_smallest(distances, near, nearest)  # noqa: PLW0108
