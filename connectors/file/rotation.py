"""Which files came after one that was renamed, as tail -F and logrotate know it.

A log is renamed (``log`` to ``log.1`` or ``log-20240131``) and a new one is made under its name.
Who was away meanwhile finds the old file by its inode, and those between by their names and times.
"""

from __future__ import annotations

import os
import re
from pathlib import Path


def find(path: str, inode: int) -> str | None:
    """Return the file of this name, or one beside it, that has the inode, if it is still there."""
    try:
        if os.stat(path).st_ino == inode:
            return path
    except OSError:
        pass
    try:
        with os.scandir(Path(path).parent) as entries:
            return next((e.path for e in entries if e.inode() == inode and e.is_file()), None)
    except OSError:
        return None


def _order(name: str, found: os.stat_result) -> tuple[int, int]:
    """Return by what files are put in order: the time of the last write, and then the name.

    ``log.2`` is older than ``log.1``; longer numbers are dates. Clocks of file systems tick only
    every few milliseconds, so the time alone does not do.
    """
    digits = re.sub(r"\D", "", name[name.rfind(".") :] if name[-1:].isdigit() else "")
    number = int(digits or 0)
    return found.st_mtime_ns, -number if len(digits) < 6 else number


def _seen(path: str) -> dict[str, os.stat_result]:
    """Return the file of this name, and those that were renamed from it."""
    name = Path(path).name
    known = re.compile(re.escape(name) + r"(?:[.-]\d[\d.T_-]*)?")
    found = {}
    with os.scandir(Path(path).parent) as entries:
        for entry in entries:
            if known.fullmatch(entry.name):
                found[entry.name] = os.stat(entry.path)
    return found


def successor(path: str, held: os.stat_result) -> tuple[str, int] | None:
    """Return the file that was written after the one that is held, and its inode.

    None if the one that is held is the last, or if files are being renamed just now.

    Parameters
    ----------
    path
        The name that is followed.
    held
        Of the file that is open.

    """
    try:
        if os.stat(path).st_ino == held.st_ino:
            return None
        before, seen = _seen(path), _seen(path)
    except OSError:
        return None
    if {n: s.st_ino for n, s in before.items()} != {n: s.st_ino for n, s in seen.items()}:
        return None
    now = seen.pop(Path(path).name, None)
    # An empty file may be made long before the writer turns to it.
    if now is None or now.st_ino == held.st_ino or not now.st_size:
        return None
    own = next((_order(n, s) for n, s in seen.items() if s.st_ino == held.st_ino), None)
    least = own or (held.st_mtime_ns, 0)
    between = [
        (_order(name, found), name, found.st_ino)
        for name, found in seen.items()
        if found.st_ino != held.st_ino and found.st_size and _order(name, found) > least
    ]
    if not between:
        return path, now.st_ino
    _, name, inode = min(between)
    return str(Path(path).with_name(name)), inode
