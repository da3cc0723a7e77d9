"""How the loops over bytes are compiled: without the lock of Python, and exact to the last bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numpy.typing import NDArray

#: Bytes, places or numbers, as each function says.
Array = NDArray[Any]
#: Where bytes begin, see `addresses`.
Begin = Any
#: 64 bits without a sign: they must not be mixed with others, which would make floats of them.
Bits = Any


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that only other compiled ones call; it becomes part of them."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return njit(**options)(function)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result on disk for the next process.

    Unlike a model's kernels these have no freedom to reorder sums: a number that is read must be
    the one that Python reads.
    """
    compiled: Any = njit(nogil=True, error_model="numpy", cache=True)(function)
    # Numba looks at the function's own file only, not at those whose functions it calls.
    compiled._cache._cache_file._source_stamp = _stamp()
    return compiled


def _stamp() -> str:
    """Return a digest of the sources of all that is compiled here."""
    digest = hashlib.blake2b(digest_size=16)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
