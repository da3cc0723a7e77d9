"""Steps over short vectors of 4-byte floats, sixteen numbers at a time and then the rest.

The compiler takes a loop for a long one: its vector part begins at thirty-two numbers, and what is
left goes one by one. Ten classes or sixteen features would all be left. Here the rest of a vector
is taken in one piece of eight, one of four, one of two and one of one, where it has them.

In plain Python these are numpy's own operations. Each number is computed as any other, whatever
its place, so that nothing depends on how a vector is cut.
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

WIDEST = 16
_LANES = (16, 8, 4, 2, 1)
# A product and a sum may become one instruction, as in all kernels.
FLAGS = ("contract",)
# Below this an exponential is no ordinary float. The logarithm of 2 in two parts, of which whole
# multiples of the first are exact, and the polynomial for what is left, are those of Cephes' expf.
_LOWEST = -87.0
_LOG2_OF_E, _LN2, _LN2_REST = 1.44269504088896341, 0.693359375, -2.12194440e-4
_POLYNOMIAL = (
    1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
    5.0000001201e-1, 1.0, 1.0,
)  # fmt: skip
_EXPONENT_BIAS, _FRACTION_BITS = 127, 23
_Block = Callable[[Any, int], None]


def add_multiple(out: Array, x: Array, factor: Real) -> None:
    """``out[i] += factor * x[i]`` for each number of x."""
    out[: x.size] += np.float32(factor) * x


def step_and_follow(w: Array, mean: Array, pace: Array, share: Real, rate: Real) -> None:
    """``w[i] += share * pace[i]``, then ``mean[i] += rate * (w[i] - mean[i])``."""
    half = mean.size
    w[:half] += np.float32(share) * pace[:half]
    mean += np.float32(rate) * (w[:half] - mean)


def exponentials(out: Array, x: Array, top: Real) -> None:
    """``out[i] = exp(x[i] - top)``, right to a millionth of itself; no x[i] is above top."""
    out[: x.size] = np.exp(np.maximum(x - top, np.float32(_LOWEST)))


def square_of(x: Array) -> Real:
    """Return ``|x|^2``."""
    return x @ x


def _in_blocks(builder: Any, size: Any, block: _Block) -> None:
    """Write ``block(place, how many)`` for all of a vector's numbers."""
    word = size.type
    whole = builder.and_(size, word(-WIDEST))
    with cgutils.for_range_slice(builder, word(0), whole, word(WIDEST), word) as (place, _):
        block(place, WIDEST)
    for lanes in _LANES[1:]:
        there = builder.icmp_unsigned("!=", builder.and_(size, word(lanes)), word(0))
        with builder.if_then(there):
            block(builder.and_(size, word(-2 * lanes)), lanes)


class Vector:
    """A one-dimensional array of floats, a block of which is read or written at once."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self._builder = builder
        self._data = context.make_array(kind)(context, builder, array).data

    def _at(self, place: Any, lanes: int) -> Any:
        block = ir.VectorType(ir.FloatType(), lanes).as_pointer()
        return self._builder.bitcast(self._builder.gep(self._data, [place]), block)

    def read(self, place: Any, lanes: int) -> Any:
        """Return the block that begins at a place."""
        return self._builder.load(self._at(place, lanes), align=4)

    def write(self, place: Any, lanes: int, values: Any) -> None:
        """Write a block that begins at a place."""
        self._builder.store(values, self._at(place, lanes), align=4)

    def write_one(self, place: int, value: Any) -> None:
        """Write a single number."""
        self._builder.store(value, self._builder.gep(self._data, [ir.IntType(64)(place)]))


def everywhere(builder: Any, number: Any, lanes: int) -> Any:
    """Return a vector of one number."""
    nothing = ir.Constant(ir.VectorType(ir.FloatType(), lanes), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    pattern = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(first, nothing, pattern)


def sum_with(builder: Any, to: Any, factor: Any, x: Any, lanes: int) -> Any:
    """Return ``to + factor * x``."""
    product = builder.fmul(everywhere(builder, factor, lanes), x, flags=FLAGS)
    return builder.fadd(to, product, flags=FLAGS)


@intrinsic
def _add_multiple(context: Any, out: Any, x: Any, factor: Any, size: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        ours, theirs = (Vector(target, builder, kinds[i], arguments[i]) for i in (0, 1))

        def block(place: Any, lanes: int) -> None:
            old, step = ours.read(place, lanes), theirs.read(place, lanes)
            ours.write(place, lanes, sum_with(builder, old, arguments[2], step, lanes))

        _in_blocks(builder, arguments[3], block)
        return target.get_dummy_value()

    return types.void(out, x, types.float32, types.intp), generate


@intrinsic
def _step_and_follow(
    context: Any, w: Any, mean: Any, pace: Any, share: Any, rate: Any, size: Any
) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        raw, average, steps = (Vector(target, builder, kinds[i], arguments[i]) for i in range(3))

        def block(place: Any, lanes: int) -> None:
            old, step = raw.read(place, lanes), steps.read(place, lanes)
            stepped = sum_with(builder, old, arguments[3], step, lanes)
            raw.write(place, lanes, stepped)
            before = average.read(place, lanes)
            lag = builder.fsub(stepped, before, flags=FLAGS)
            average.write(place, lanes, sum_with(builder, before, arguments[4], lag, lanes))

        _in_blocks(builder, arguments[5], block)
        return target.get_dummy_value()

    return types.void(w, mean, pace, types.float32, types.float32, types.intp), generate


@intrinsic
def _square_of(context: Any, x: Any, size: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own = Vector(target, builder, signature.args[0], arguments[0])
        sums = {}
        for lanes in _LANES:
            nothing = ir.Constant(ir.VectorType(ir.FloatType(), lanes), [0.0] * lanes)
            sums[lanes] = cgutils.alloca_once_value(builder, nothing)

        def block(place: Any, lanes: int) -> None:
            read = own.read(place, lanes)
            square = builder.fmul(read, read, flags=FLAGS)
            total = builder.fadd(builder.load(sums[lanes]), square, flags=FLAGS)
            builder.store(total, sums[lanes])

        _in_blocks(builder, arguments[1], block)
        # Halves are added to halves, and to what was left over in vectors of that length.
        total = builder.load(sums[WIDEST])
        for lanes in _LANES[1:]:
            total = builder.fadd(folded(builder, [total], 2 * lanes), builder.load(sums[lanes]))
        return builder.extract_element(total, ir.IntType(32)(0))

    return types.float32(x, types.intp), generate


def folded(builder: Any, pair: list[Any], lanes: int) -> Any:
    """Return one or two vectors as one; of each so many lanes, half is added to the other half."""
    size = sum(vector.type.count for vector in pair)
    halves = []
    for first in (0, lanes // 2):
        taken = [begin + first + i for begin in range(0, size, lanes) for i in range(lanes // 2)]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(taken)), taken)
        halves.append(builder.shuffle_vector(pair[0], pair[-1], mask))
    return builder.fadd(*halves)


@intrinsic
def _exponentials(context: Any, out: Any, x: Any, top: Any, size: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        ours, theirs = (Vector(target, builder, kinds[i], arguments[i]) for i in (0, 1))

        def block(place: Any, lanes: int) -> None:
            below = builder.fsub(
                theirs.read(place, lanes), everywhere(builder, arguments[2], lanes)
            )
            ours.write(place, lanes, _exponential(builder, below, lanes))

        _in_blocks(builder, arguments[3], block)
        return target.get_dummy_value()

    return types.void(out, x, types.float32, types.intp), generate


def _exponential(builder: Any, x: Any, lanes: int) -> Any:
    """Return exp(x) = 2^n exp(rest), with n whole and the rest within half of log 2."""
    kind, whole = ir.VectorType(ir.FloatType(), lanes), ir.VectorType(ir.IntType(32), lanes)

    def number(value: Any) -> Any:
        return ir.Constant(kind, [value] * lanes)

    def plus(to: Any, a: Any, b: Any) -> Any:
        return builder.fadd(to, builder.fmul(a, b, flags=FLAGS), flags=FLAGS)

    lowest = number(np.float32(_LOWEST))
    x = builder.select(builder.fcmp_ordered(">", x, lowest), x, lowest)
    # x is not above 0: towards 0 is upwards, and half less is to the nearest.
    n = builder.fptosi(plus(number(-0.5), x, number(np.float32(_LOG2_OF_E))), whole)
    power = builder.sitofp(n, kind)
    rest = plus(x, power, number(np.float32(-_LN2)))
    rest = plus(rest, power, number(np.float32(-_LN2_REST)))
    value = number(np.float32(_POLYNOMIAL[0]))
    for coefficient in _POLYNOMIAL[1:]:
        value = plus(number(np.float32(coefficient)), value, rest)
    bits = builder.shl(
        builder.add(n, ir.Constant(whole, [_EXPONENT_BIAS] * lanes)),
        ir.Constant(whole, [_FRACTION_BITS] * lanes),
    )
    return builder.fmul(value, builder.bitcast(bits, kind))


# Numba gives the typing context itself, which type checkers cannot know.
_add: Any = _add_multiple
_follow: Any = _step_and_follow
_exp: Any = _exponentials
_square: Any = _square_of


@overload(add_multiple, strict=False, inline="always")
def _compiled_add(out: Any, x: Any, factor: Any) -> Callable[..., Any]:
    return lambda out, x, factor: _add(out, x, np.float32(factor), x.size)


@overload(step_and_follow, strict=False, inline="always")
def _compiled_follow(w: Any, mean: Any, pace: Any, share: Any, rate: Any) -> Callable[..., Any]:
    return lambda w, mean, pace, share, rate: _follow(
        w, mean, pace, np.float32(share), np.float32(rate), mean.size
    )


@overload(exponentials, strict=False, inline="always")
def _compiled_exponentials(out: Any, x: Any, top: Any) -> Callable[..., Any]:
    return lambda out, x, top: _exp(out, x, np.float32(top), x.size)


@overload(square_of, strict=False, inline="always")
def _compiled_square(x: Any) -> Callable[..., Any]:
    return lambda x: _square(x, x.size)
