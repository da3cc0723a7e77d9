"""Tell the user when the first call is slow because kernels are being compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stream_llsvm.kernels.guests import GUEST_KERNELS, Guests
from stream_llsvm.kernels.run import run

#: What to call when kernels are about to be compiled, by the thread that has to wait for them.
listening: list[Callable[[], object]] = []

_told = False


def announce(guests: Guests = ()) -> None:
    """Print one line, once, if the compiled kernels are not in numba's cache yet.

    Parameters
    ----------
    guests
        The kinds of members that will need a kernel of their own.

    """
    global _told  # noqa: PLW0603  # once per process is the point
    if _told or not (_missing(run) or any(_missing(GUEST_KERNELS[kind]) for kind in guests)):
        return
    _told = True
    print(
        "stream_llsvm: compiling kernels, once on this machine (about half a minute)",
        file=sys.stderr,
        flush=True,
    )
    for one in list(listening):
        one()


def _missing(kernel: Any) -> bool:
    """Whether this process has to compile it."""
    if kernel.signatures:
        return False
    return not any(Path(kernel.stats.cache_path).glob(f"*.{kernel.__name__}-*.nbc"))
