"""Tell the user when the first call is slow because kernels are being compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from stream_llsvm.kernels.cache import is_ready
from stream_llsvm.kernels.folders import VARIABLE, Places, places

#: What to call when kernels are about to be compiled, by the thread that has to wait for them.
listening: list[Callable[[], object]] = []

_told = False


def announce(*kernels: Any) -> None:
    """Say once that kernels are compiled, if they are not kept yet, and where if it surprises.

    Parameters
    ----------
    kernels
        Those that are about to be called.

    """
    global _told  # noqa: PLW0603  # once per process is the point
    if _told or all(is_ready(kernel) for kernel in kernels):
        return
    _told = True
    print(_notice(places()), file=sys.stderr, flush=True)
    for one in list(listening):
        one()


def show_progress(done: int, of: int) -> None:
    """Show on a terminal how many kernels are compiled; elsewhere one line has to do.

    Parameters
    ----------
    done
        How many there are by now.
    of
        How many were lacking.

    """
    screen = sys.stderr  # None where a program has no console
    if screen is not None and screen.isatty():
        text = f"\rstream_llsvm: {done} of {of} kernels compiled"
        print(text, end="\n" if done == of else "", file=screen, flush=True)


def _notice(where: Places) -> str:
    often = "once on this machine" if where.written else "as every process will"
    lines = [f"stream_llsvm: compiling kernels, {often}"]
    if where.refused:
        refused = f"these cannot take them: {', '.join(where.refused)}"
        kept = f"kept in {where.written}" if where.written else "kept nowhere"
        lines.append(f"stream_llsvm: kernels are {kept}; {refused}; {VARIABLE} names another one")
    return "\n".join(lines)
