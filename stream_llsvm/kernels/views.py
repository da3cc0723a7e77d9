"""Views into a block of words, of any type and shape.

In plain Python these are numpy's own views, which refuse what lies outside the block. Compiled they
are nothing but an address and a shape: ``reshape`` and the counting of references would take most
of the time of a call with a single row, and of the compiling a part.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import populate_array

from stream_llsvm.kernels.compile import Array

Shape = int | tuple[int, ...]


def floats(words: Array, start: int, shape: Shape) -> Array:
    """4-byte floats that begin at word ``start``."""
    size = _size(shape)
    return words[start : start + (size + 1) // 2].view(np.float32)[:size].reshape(shape)


def doubles(words: Array, start: int, shape: Shape) -> Array:
    """8-byte floats that begin at word ``start``."""
    return words[start : start + _size(shape)].reshape(shape)


def integers(words: Array, start: int, shape: Shape) -> Array:
    """8-byte integers that begin at word ``start``."""
    return words[start : start + _size(shape)].view(np.int64).reshape(shape)


def short_integers(words: Array, start: int, shape: Shape) -> Array:
    """4-byte integers that begin at word ``start``."""
    size = _size(shape)
    return words[start : start + (size + 1) // 2].view(np.int32)[:size].reshape(shape)


def flat(block: Array) -> Array:
    """4-byte floats that lie one behind the other, as a single row."""
    return block.reshape(-1)


def bits_of(x: Array) -> Array:
    """See the bits of a vector; what numba makes of ``x.view`` is slow to compile."""
    return x.view(np.int32 if x.itemsize == 4 else np.int64)


def _size(shape: Shape) -> int:
    return prod(shape) if isinstance(shape, tuple) else int(shape)


def _viewed_as(function: Callable[..., Array], kind: Any) -> None:
    """Tell numba how such a view is typed, and how it is written down: no function to compile."""

    @type_callable(function)
    def _type(context: Any) -> Callable[[Any, Any, Any], Any]:
        def view(words: Any, start: Any, shape: Any) -> Any:
            return types.Array(kind, len(shape) if isinstance(shape, types.BaseTuple) else 1, "C")

        return view

    @lower_builtin(function, types.Array, types.Any, types.Any)
    def _write(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole, start_kind, shape_kind = signature.args
        words, start, shape = arguments
        start = target.cast(builder, start, start_kind, types.intp)
        place = builder.gep(target.make_array(whole)(target, builder, words).data, [start])
        if isinstance(shape_kind, types.BaseTuple):
            extents = cgutils.unpack_tuple(builder, shape)
        else:
            shape_kind, extents = (shape_kind,), (shape,)
        shape = [
            target.cast(builder, extent, given, types.intp)
            for extent, given in zip(extents, shape_kind, strict=True)
        ]
        return array_at(target, builder, signature.return_type, place, shape)


def array_at(target: Any, builder: Any, kind: Any, place: Any, shape: list[Any]) -> Any:
    """Return what the compiler takes for an array: an address and a shape."""
    found = target.make_array(kind)(target, builder)
    size = cgutils.intp_t(target.get_abi_sizeof(target.get_data_type(kind.dtype)))
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(
        found,
        data=builder.bitcast(place, target.get_data_type(kind.dtype).as_pointer()),
        shape=shape,
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return found._getvalue()


class View(NamedTuple):
    """How numbers of one type are seen in a block of words."""

    of: Callable[..., Array]
    dtype: Any


#: By the letters that sections use for a type.
VIEWS = {
    "f4": View(floats, types.float32),
    "f8": View(doubles, types.float64),
    "i8": View(integers, types.int64),
    "i4": View(short_integers, types.int32),
}
for _function, _dtype in VIEWS.values():
    _viewed_as(_function, _dtype)


@type_callable(flat)
def _type_flat(context: Any) -> Callable[[Any], Any]:
    return lambda block: types.Array(types.float32, 1, "C")


@lower_builtin(flat, types.Array)
def _write_flat(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    block = target.make_array(signature.args[0])(target, builder, arguments[0])
    return array_at(target, builder, signature.return_type, block.data, [block.nitems])


@type_callable(bits_of)
def _type_bits(context: Any) -> Callable[[Any], Any]:
    return lambda x: types.Array(types.int32 if x.dtype == types.float32 else types.int64, 1, "C")


@lower_builtin(bits_of, types.Array)
def _write_bits(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vector = target.make_array(signature.args[0])(target, builder, arguments[0])
    return array_at(target, builder, signature.return_type, vector.data, [vector.nitems])
