"""How kernels are compiled: three decorators, so that no kernel can differ by accident.

``nogil`` lets an engine decode the next records while the model learns. The float flags allow sums
to be reordered into vector registers but, unlike plain ``fastmath``, keep the meaning of NaN and
infinity: both are input here (a missing value, a column that a record does not name).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numpy.typing import NDArray

#: What kernels take: float32, float64 or int64, as each says.
Array = NDArray[Any]
#: A float of either size: numbers in a kernel keep the size they came in.
Real = Any

_FLAGS = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call; it becomes part of them.

    Nothing calls it through C, and nothing must call it from Python: leaving out what such calls
    need saves a quarter of the compiling. Tests call ``tests.kernels.alone.alone(kernel)``.
    """
    wrappers: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return njit(nogil=True, error_model="numpy", fastmath=_FLAGS, **wrappers)(function)


def passage(function: Callable[..., Any]) -> Any:
    """Write a function into the one kernel that calls it.

    For what is a function only so that it reads better. Each kernel is compiled with all that it
    calls: a level less of calls is a time less that everything below it is compiled.
    """
    return njit(inline="always")(function)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result on disk for the next process."""
    compiled: Any = njit(nogil=True, error_model="numpy", fastmath=_FLAGS, cache=True)(function)
    # Numba would reuse a cached kernel as long as its own file is unchanged, even if a kernel that
    # is compiled into it has changed since. Its stamp is therefore that of all kernels' sources.
    compiled._cache._cache_file._source_stamp = _stamp()
    return compiled


def _stamp() -> str:
    """Return a digest of the sources of all kernels."""
    digest = hashlib.blake2b(digest_size=16)
    folder = Path(__file__).parent
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
