"""Tell the user when the first call is slow because kernels are being compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: What to call when kernels are about to be compiled, by the thread that has to wait for them.
listening: list[Callable[[], object]] = []

_told = False


def announce(*kernels: Any) -> None:
    """Print one line, once, if the compiled kernels are not in numba's cache yet.

    Parameters
    ----------
    kernels
        Those that are about to be called.

    """
    global _told  # noqa: PLW0603  # once per process is the point
    if _told or not any(_missing(kernel) for kernel in kernels):
        return
    _told = True
    print(
        "stream_llsvm: compiling kernels, once on this machine (some twenty seconds)",
        file=sys.stderr,
        flush=True,
    )
    for one in list(listening):
        one()


def _missing(kernel: Any) -> bool:
    """Whether this process has to compile it."""
    if kernel.signatures:
        return False
    # What was kept of other sources is as good as nothing.
    return not kernel._cache._cache_file._load_index()
