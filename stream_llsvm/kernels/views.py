"""Views into a block of words, of any type and shape.

In plain Python these are numpy's own views, which refuse what lies outside the block. Compiled they
are nothing but an address and a shape: ``reshape`` and the counting of references would take most
of the time of a call with a single row, and of the compiling a part.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from stream_llsvm.kernels.jit import Array

_array: Any = vars(numba)["carray"]  # numba's, though it does not say so to type checkers

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


def flat(block: Array) -> Array:
    """4-byte floats that lie one behind the other, as a single row."""
    return block.reshape(-1)


def _size(shape: Shape) -> int:
    return prod(shape) if isinstance(shape, tuple) else int(shape)


@intrinsic
def _address_of(context: Any, words: Any, start: Any) -> Any:
    """Return where a word lies."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = target.make_array(signature.args[0])(target, builder, arguments[0])
        place = builder.gep(block.data, [arguments[1]])
        return builder.bitcast(place, target.get_value_type(types.voidptr))

    return types.voidptr(words, types.intp), generate


# Numba gives the typing context itself, which type checkers cannot know.
_address: Any = _address_of


@overload(floats, strict=False)
def _floats(words: Any, start: Any, shape: Any) -> Callable[..., Any]:
    return lambda words, start, shape: _array(_address(words, start), shape, np.float32)


@overload(doubles, strict=False)
def _doubles(words: Any, start: Any, shape: Any) -> Callable[..., Any]:
    return lambda words, start, shape: _array(_address(words, start), shape, np.float64)


@overload(integers, strict=False)
def _integers(words: Any, start: Any, shape: Any) -> Callable[..., Any]:
    return lambda words, start, shape: _array(_address(words, start), shape, np.int64)


@overload(flat, strict=False)
def _flat(block: Any) -> Callable[..., Any]:
    return lambda block: _array(_address(block, 0), block.size, np.float32)
