"""One process at a time compiles for a folder: who comes second waits, and loads what is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from stream_llsvm.kernels.folders import places

try:
    import fcntl
except ImportError:  # Windows, where each process compiles for itself
    fcntl = None  # type: ignore[assignment]

_LOCK = "compiling.lock"
#: In seconds: so long another process is waited for at most, and so often it is looked after.
PATIENCE, _PAUSE = 120.0, 0.2

_in_this_process = threading.Lock()


@contextmanager
def turn(meanwhile: Callable[[], object]) -> Iterator[None]:
    """Wait until nobody else compiles for the folder that kernels are written to.

    The system takes the lock from a process that ends, however that comes about.

    Parameters
    ----------
    meanwhile
        What to call now and then while another process compiles.

    """
    with _in_this_process:
        file = _opened()
        try:
            limit = monotonic() + PATIENCE
            while file is not None and not _taken(file) and monotonic() < limit:
                meanwhile()
                sleep(_PAUSE)
            yield
        finally:
            if file is not None:
                os.close(file)


def _opened() -> int | None:
    written = places().written
    if written is None or fcntl is None:
        return None
    with suppress(OSError):  # the folder may be gone, or on a disk without locks
        folder = Path(str(written))
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    return None


def _taken(file: int) -> bool:
    lock: Any = fcntl
    try:
        lock.flock(file, lock.LOCK_EX | lock.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here: nobody can be waited for
        return True
    return True
