"""Folders where compiled kernels are kept, so that only one process on a machine compiles them.

Numba's own cache ends the program where neither the sources' folder nor the user's can be written.
Here kernels are looked for in each folder of this list up to the first that can be written, which
takes what is compiled; where there is none, a process compiles for itself:

1. ``STREAM_LLSVM_CACHE``, if it is set,
2. ``NUMBA_CACHE_DIR``, if it is set,
3. ``__pycache__`` beside the sources,
4. the user's cache folder,
5. a folder of this user's own among the temporary ones.

So an image may bring kernels along in a folder that is read-only when it runs. Before all of them
come the kernels that were installed with the package, see ``cache.py``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stream_llsvm.kernels.inside_numba import Config, user_cache_folder

VARIABLE = "STREAM_LLSVM_CACHE"


@dataclass(frozen=True)
class Folder:
    """A folder for kernels; without a path it is the one beside each source."""

    path: Path | None
    #: Nobody chose it: it must be this user's own, and no link.
    private: bool = False

    def of(self, source: Path) -> Path:
        """Return where the kernels of this source are."""
        if self.path is None:
            return source.parent / "__pycache__"
        digest = hashlib.blake2b(os.fsencode(source.parent), digest_size=8).hexdigest()
        return self.path / f"{source.parent.name}-{digest}"

    def __str__(self) -> str:
        return str(self.path or self.of(Path(__file__)))


@dataclass(frozen=True)
class Places:
    """Where kernels are looked for, where they are written, and who refused to take them."""

    read: tuple[Folder, ...]
    written: Folder | None
    #: A sentence's part for each folder that should have come first.
    refused: tuple[str, ...]


@cache
def places() -> Places:
    """Return the folders of this process."""
    read: list[Folder] = []
    refused: list[str] = []
    for folder in _in_order():
        if (why_not := _refusal(folder)) is None:
            return Places((*read, folder), folder, tuple(refused))
        refused.append(f"{folder} ({why_not})")
        if why_not != _OTHERS:
            read.append(folder)
    return Places(tuple(read), None, tuple(refused))


def _in_order() -> Iterator[Folder]:
    """Yield the folders that may take kernels."""
    for named in (os.environ.get(VARIABLE), Config.CACHE_DIR):
        if named:
            yield Folder(Path(named).expanduser().absolute())
    yield Folder(None)
    users = user_cache_folder()
    if users.is_absolute():  # it begins with ~ for a user whom the system does not know
        yield Folder(users, private=True)
    with contextlib.suppress(OSError):  # there may be none that can be written
        whose = os.geteuid() if hasattr(os, "geteuid") else os.environ.get("USERNAME", "")
        yield Folder(Path(tempfile.gettempdir()).absolute() / f"stream_llsvm-{whose}", private=True)


_OTHERS = "others may write there"


def _refusal(folder: Folder) -> str | None:
    """Return why kernels cannot be written there; None if they can."""
    path = Path(str(folder))
    try:
        path.mkdir(mode=0o700 if folder.private else 0o777, parents=True, exist_ok=True)
        if folder.path is not None and _is_open(path, private=folder.private):
            return _OTHERS
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        return error.strerror
    return None


def _is_open(path: Path, *, private: bool) -> bool:
    """Whether others may have written there, or to a folder in it: what they wrote would be run.

    Beside the sources nobody looks: who may write there may change the sources.
    """
    if not hasattr(os, "geteuid"):
        return False
    owners = {os.geteuid()} if private else {os.geteuid(), 0}
    with os.scandir(path) as inside:
        folders = [one.stat(follow_symlinks=False) for one in inside if not one.is_file()]
    seen = [path.lstat() if private else path.stat(), *folders]
    return any(
        one.st_uid not in owners or stat.S_ISLNK(one.st_mode) or one.st_mode & 0o022 for one in seen
    )
