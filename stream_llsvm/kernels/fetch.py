"""Fetching memory ahead of its use: of a million rows hardly any is in the cache when it comes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from stream_llsvm.kernels.compile import Array, kernel

#: A row is fetched so many records before it is used (a fifth of a bank's time at a million keys).
AHEAD = 4
#: Bytes that come at once, and how many of a row are fetched at most.
_LINE, _MOST = 64, 2_048


@intrinsic
def _fetch(context: Any, address: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        there = builder.inttoptr(arguments[0], pointer)
        to_write, kept, data = number(1), number(3), number(1)
        builder.call(fetch, [there, to_write, kept, data])
        return target.get_dummy_value()

    return types.void(types.intp), generate


# Numba gives the typing context itself, which type checkers cannot know.
_there: Any = _fetch


@kernel
def fetch_row(matrix: Array, row: int) -> None:
    """Let a row of a matrix come into the cache, meanwhile."""
    begin = matrix.ctypes.data + row * matrix.strides[0]
    for byte in range(0, min(matrix.strides[0], _MOST), _LINE):
        _there(begin + byte)
