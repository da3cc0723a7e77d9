"""Processes of a cluster, as the kernel lists them: who they are, and where they listen."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROC = Path("/proc")
_LISTENS = "0A"


def descendants(pid: int) -> dict[int, str]:
    """Return the processes that a process has begun, and these in turn, with their commands."""
    parents: dict[int, int] = {}
    for one in PROC.iterdir():
        if one.name.isdecimal():
            try:
                stat = (one / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(one.name)] = int(stat.rpartition(")")[2].split()[1])
    found, new = dict[int, str](), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found |= {child: command(child) for child in new}
    return found


def command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def listening(pids: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the addresses at which these processes wait for others, and who does."""
    sockets = {}
    for pid in pids:
        try:
            for handle in (PROC / str(pid) / "fd").iterdir():
                sockets[os.readlink(handle)] = pid
        except OSError:
            continue
    for table in ("tcp", "tcp6"):
        for line in (PROC / "net" / table).read_text().splitlines()[1:]:
            parts = line.split()
            owner = sockets.get(f"socket:[{parts[9]}]")
            if parts[3] == _LISTENS and owner is not None:
                yield owner, parts[1].partition(":")[0]


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(holds: Callable[[], bool], seconds: float = 400.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
