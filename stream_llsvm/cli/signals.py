"""What Ctrl-C and SIGTERM do: end the process, raise, or ask a run to stop.

A command ends at once, as `main` has set it, unless it says here that there is something to finish.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Self

INTERRUPTED = 130  # what a shell expects of a program ended by Ctrl-C
_SHOW_CURSOR = b"\x1b[?25h"


@contextlib.contextmanager
def raising_interrupts() -> Iterator[None]:
    """While it is a context, Ctrl-C raises KeyboardInterrupt: something wants to be finished."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Stopping:
    """SIGTERM and the first Ctrl-C ask a run to stop; a second Ctrl-C ends the process at once.

    While it is a context, signals call what is to stop, and the first is remembered.

    A thread hears them, since Python's own handlers wait for what the main thread is in: a kernel,
    or a compiler that takes half a minute.

    Parameters
    ----------
    stop
        Called by that thread.

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
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_write, False)
        self._woken = signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._thread.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, _came)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._woken)
        os.close(self._wakeup_write)  # the thread has heard all that came, and ends
        self._thread.join()
        os.close(self._wakeup_read)

    def _listen(self) -> None:
        while heard := os.read(self._wakeup_read, 1):
            if heard[0] not in self._before:
                continue
            if self.by is not None and heard[0] == signal.SIGINT:
                os._exit(INTERRUPTED)
            if self.by is None and heard[0] == signal.SIGINT:
                shown = _SHOW_CURSOR if sys.stderr.isatty() else b""
                with contextlib.suppress(OSError):
                    os.write(2, shown + b"stopping after this batch; Ctrl-C again leaves at once\n")
            self.by = self.by or signal.Signals(heard[0]).name
            self.again()

    def again(self) -> None:
        """Ask once more, if it was asked: a run that had just begun may not have heard."""
        if self.by is not None:
            self._stop()


def _came(number: int, frame: FrameType | None) -> None:
    # From here on the next Ctrl-C is the system's to handle: nothing can hold that up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
