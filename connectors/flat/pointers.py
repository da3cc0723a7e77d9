"""Bytes by their address: what a loop over bytes does for each of them must cost nothing.

An array that is handed from one compiled function to another is a dozen arguments, its references
are counted, and each place in it is looked at whether it is counted from the end. Here a loop asks
once where its bytes begin; that a place lies among them it knows from comparing it with the end.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def _begin(context: Any, data: Any) -> Any:
    """Return where the bytes of an array begin, which must outlive the loop."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return target.make_array(signature.args[0])(target, builder, arguments[0]).data

    return types.CPointer(types.uint8)(data), generate


@intrinsic
def _byte(context: Any, begin: Any, at: Any) -> Any:
    """Return the byte so far behind the beginning."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(builder.gep(arguments[0], [arguments[1]]))
        return builder.zext(found, ir.IntType(64))

    return types.int64(begin, types.int64), generate


@intrinsic
def _float_of(context: Any, bits: Any) -> Any:
    """Return the float that has these 64 bits."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


# Numba gives the typing context itself, which type checkers cannot know.
begin_of: Any = _begin
byte: Any = _byte
float_of: Any = _float_of
