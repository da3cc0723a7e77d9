"""How the loops over bytes are compiled: without the lock of Python, and exact to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numpy.typing import NDArray

from stream_llsvm.kernels import boxes
from stream_llsvm.kernels.cache import OPTIONS, kept
from stream_llsvm.kernels.inside_numba import KernelCompiler, OutlinedPartCompiler

#: Bytes, places or numbers, as each function says.
Array = NDArray[Any]
#: Where bytes begin, see `addresses`.
Begin = Any
#: 64 bits without a sign: they must not be mixed with others, which would make floats of them.
Bits = Any

# Whether it is inlined is said, since it would else be as in the caller that is compiled first.
_OPTIONS = OPTIONS | {"forceinline": False}
_PART = _OPTIONS | {"no_cfunc_wrapper": True}


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that only other compiled ones call; it becomes part of them."""
    return njit(pipeline_class=KernelCompiler, **_PART)(function)


def inside(function: Callable[..., Any]) -> Any:
    """Compile a part that is always written down where it is called: all it is given costs."""
    options = _PART | {"forceinline": True}
    return njit(pipeline_class=KernelCompiler, **options)(function)


def aside(function: Callable[..., Any]) -> Any:
    """Compile a part that stays a function of its own, so that the loop around it stays small."""
    return njit(pipeline_class=OutlinedPartCompiler, **_PART)(function)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result on disk for the next process.

    Unlike a model's kernels these have no freedom to reorder sums: a number that is read must be
    the one that Python reads.
    """
    return kept(function, Path(__file__).parent, Path(boxes.__file__), **_OPTIONS)
