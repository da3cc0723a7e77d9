"""Who may write at a place: one process at a time, and in a process the last one who asked.

A notebook's cell that is run twice makes a second writer while the first is still there: where that
one is idle it lets go. One that is at work keeps the place.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakMethod, WeakValueDictionary


class InUseError(ValueError):
    """Somebody else writes there; the text says who, and what to do."""


class Ownership:
    """The right to write at a place.

    Parameters
    ----------
    place
        A file or a folder.
    let_go
        A method that is called when another part of this process takes the place over. It must
        unlock what it has locked.

    Attributes
    ----------
    busy
        Whether the owner is at work, so that nobody may take the place over.

    """

    def __init__(self, place: Path, let_go: Callable[[], None]) -> None:
        self.busy = False
        self._place = os.path.realpath(place)
        self._let_go: WeakMethod[Callable[[], None]] = WeakMethod(let_go)

    def take(self) -> None:
        """Take the place over from whoever has it in this process; InUseError if it is at work."""
        with _GUARD:
            other = _OWNERS.get(self._place)
            if other is not None and other is not self:
                if other.busy:
                    raise InUseError(
                        f"{self._place} is in use by a run of this process: stop that one first"
                    )
                let_go = other._let_go()
                if let_go is not None:
                    let_go()
            _OWNERS[self._place] = self

    def leave(self) -> None:
        """Let whoever wants have the place."""
        with _GUARD:
            if _OWNERS.get(self._place) is self:
                del _OWNERS[self._place]


_GUARD = threading.RLock()
_OWNERS: WeakValueDictionary[str, Ownership] = WeakValueDictionary()


def locked(descriptor: int) -> bool:
    """Lock an open file against other processes; the kernel lets go when it is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lock_file(path: Path) -> tuple[int, str]:
    """Lock a file that says who has locked it; return it opened, or -1 and who that is."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    if not locked(lock):
        holder = os.read(lock, 200).decode("utf-8", "replace").strip() or "another process"
        os.close(lock)
        return -1, holder
    os.ftruncate(lock, 0)
    os.write(lock, f"process {os.getpid()} on {socket.gethostname()}".encode())
    return lock, ""
