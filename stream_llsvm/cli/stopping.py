"""SIGTERM and the first Ctrl-C ask a run to stop; a second Ctrl-C ends the process at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

_SHOW_CURSOR = b"\x1b[?25h"


class Stopping:
    """While it is a context, signals call what is to stop, and the first is remembered.

    Parameters
    ----------
    stop
        Called, from a signal handler.

    Attributes
    ----------
    by
        ``"SIGINT"`` or ``"SIGTERM"``; None as long as none came.

    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self.by: str | None = None
        self._stop = stop
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _came(self, number: int, frame: FrameType | None) -> None:
        # The next Ctrl-C is the system's to handle: Python's handlers wait for a kernel to return.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self.by is None and number == signal.SIGINT:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR)
            os.write(2, b"stopping after this batch; Ctrl-C again leaves at once\n")
        self.by = self.by or signal.Signals(number).name
        self.again()

    def again(self) -> None:
        """Ask once more, if it was asked: a run that had just begun may not have heard."""
        if self.by is not None:
            self._stop()
