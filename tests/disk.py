"""A disk that is full: a real file system of four megabytes where it can be mounted."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

SIZE = 4_000_000


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a disk of four megabytes; None where that is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        done = None
    if done is None or done.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        # Lazily: what is still open there, and waits for the garbage collector, may go later.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, leave: int = 0) -> Path:
    """Write until nothing fits any more, or only so many bytes; return the file to delete."""
    path = folder / "fills the disk"
    size = 0
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            size += file.write(bytes(4_096))
    with path.open("rb+") as file:
        file.truncate(max(0, size - leave))
    return path
