"""How kernels are compiled: five decorators, so that no kernel can differ by accident.

``nogil`` lets an engine decode the next records while the model learns. The float flags allow sums
to be reordered into vector registers but, unlike plain ``fastmath``, keep the meaning of NaN and
infinity: both are input here (a missing value, a column that a record does not name).

A kernel owns no memory: all it works on comes from its caller and outlives the call. So nobody
counts references, which took up to two fifths of the time of a record with few features, and a
kernel that would allocate is refused by the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numpy.typing import NDArray

from stream_llsvm.kernels.cache import OPTIONS, kept
from stream_llsvm.kernels.inside_numba import OutlinedPartCompiler, PartCompiler

#: What kernels take: float32, float64 or int64, as each says.
Array = NDArray[Any]
#: A float of either size: numbers in a kernel keep the size they came in.
Real = Any

_OPTIONS = OPTIONS | {"fastmath": {"reassoc", "contract", "nsz", "arcp"}}
_STEADY = _OPTIONS | {"fastmath": {"contract", "nsz"}}
# For what neither Python nor C calls.
_NO_WRAPPERS: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
# What becomes a part of a kernel is written down where it is called. Said either way: numba would
# else do as in the caller that happens to be compiled first, and machine code would hang on that.
_INSIDE = _NO_WRAPPERS | {"forceinline": True}
_ASIDE = _NO_WRAPPERS | {"forceinline": False}
# Any of them may become a part of any kernel.
_SOURCES = tuple(Path(__file__).parents[1] / room for room in ("kernels", "members"))


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call: it becomes a part of them.

    See ``inside_numba.py``. Nothing must call it from Python; tests call
    ``tests.kernels.alone.alone(kernel)``.
    """
    return njit(pipeline_class=PartCompiler, **_OPTIONS, **_INSIDE)(function)


def steady_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose sums keep their order.

    For what becomes a part of two kernels that have to agree to the bit: the compiler might write
    down a sum one way in the one and another way in the other.
    """
    return njit(pipeline_class=PartCompiler, **_STEADY, **_INSIDE)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Inline at the call site (LLVM's ``alwaysinline``).

    For what is a function only so that it reads better, and takes a whole state: handed over, its
    arrays would all be copied.
    """
    return kernel(function)


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is never inlined, so that its callers compile faster.

    For what runs rarely, or is so long that a call does not show.
    """
    return njit(pipeline_class=OutlinedPartCompiler, **_OPTIONS, **_ASIDE)(function)


def member_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that a kernel calls by its address, see ``dispatch.py``; kept on disk."""
    return kept(function, *_sources_of(function), **_OPTIONS, **_NO_WRAPPERS)


def _sources_of(function: Callable[..., Any]) -> tuple[Path, ...]:
    """Return what may become a part of a kernel; one from elsewhere has a folder of its own."""
    own = Path(function.__code__.co_filename).parent
    inside = any(own.is_relative_to(room) for room in _SOURCES)
    return _SOURCES if inside else (*_SOURCES, own)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result on disk for the next process."""
    return kept(function, *_SOURCES, **_OPTIONS)
