"""Tell the user when the first call is slow because kernels are being compiled."""

from __future__ import annotations

import sys
from pathlib import Path

from stream_llsvm.kernels.run import run

_told = False


def announce() -> None:
    """Print one line, once, if the compiled kernels are not in numba's cache yet."""
    global _told  # noqa: PLW0603  # once per process is the point
    if _told or run.signatures:
        return
    _told = True
    cached = Path(run.stats.cache_path)
    if not any(cached.glob("run.run-*.nbc")):
        print(
            "stream_llsvm: compiling kernels, once on this machine (about half a minute)",
            file=sys.stderr,
            flush=True,
        )
