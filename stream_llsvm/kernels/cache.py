"""Where compiled kernels are kept, so that only one process on a machine has to compile them.

Numba's own cache ends the program where neither the sources' folder nor the user's can be written.
Here kernels are looked for in each folder of this list up to the first that can be written, which
takes what is compiled; where there is none, a process compiles for itself:

1. ``STREAM_LLSVM_CACHE``, if it is set,
2. ``NUMBA_CACHE_DIR``, if it is set,
3. ``__pycache__`` beside the sources,
4. the user's cache folder,
5. a folder of this user's own among the temporary ones.

So an image may bring kernels along in a folder that is read-only when it runs. What of numba's
cache is private to numba is used in this file only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching, compiler, config
from numba.misc.appdirs import AppDirs

VARIABLE = "STREAM_LLSVM_CACHE"

# Numba gives types to these that depend on its version.
Cache: Any = caching._Cache
Files: Any = caching.IndexDataCacheFile
Config: Any = config
Result: Any = compiler.CompileResult


@dataclass(frozen=True)
class Folder:
    """A folder for kernels; without a path it is the one beside each source."""

    path: Path | None
    #: Nobody chose it, so others must not have written there: what they wrote would be run.
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
    users = Path(AppDirs(appname="stream_llsvm", appauthor=False).user_cache_dir)
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
    except OSError as error:
        return error.strerror
    if folder.private and hasattr(os, "geteuid"):
        about = path.lstat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o022 or path.is_symlink():
            return _OTHERS
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        return error.strerror
    return None


class KernelCache(Cache):  # type: ignore[misc]
    """What numba asks for one function's machine code, and gives what it has compiled.

    Parameters
    ----------
    function
        The function that is compiled.
    stamp
        What the machine code depends on beside the signature and the processor.

    """

    def __init__(self, function: Any, stamp: str) -> None:
        code = function.__code__
        self._source = Path(code.co_filename)
        version = f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._name = f"{self._source.stem}.{code.co_name}-{code.co_firstlineno}.{version}"
        self._stamp = stamp

    @property
    def cache_path(self) -> str | None:
        """Where new machine code goes."""
        written = places().written
        return None if written is None else str(written.of(self._source))

    def holds(self, codegen: Any) -> bool:
        """Whether there is machine code for the processor that is compiled for."""
        targets = {target for files in self._files() for _, target in _keys(files) or ()}
        return codegen.magic_tuple() in targets

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for this signature and processor, or None."""
        target_context.refresh()
        for files in self._files():
            try:
                found = files.load((sig, target_context.codegen().magic_tuple()))
            except _UNREADABLE:
                continue
            if found is not None:
                return Result._rebuild(target_context, *found)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; that it cannot be kept is no reason not to run it."""
        written = places().written
        if written is None or data.library.has_dynamic_globals:
            return
        folder = written.of(self._source)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files = self._files_in(folder)
            if _keys(files) is None:
                files.flush()
            files.save((sig, data.codegen.magic_tuple()), data._reduce())
        except OSError as error:
            _tell_unkept(folder, str(error.strerror))

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Forget what was compiled."""
        if (path := self.cache_path) is not None:
            self._files_in(Path(path)).flush()

    def _files(self) -> Iterator[Any]:
        return (self._files_in(folder.of(self._source)) for folder in places().read)

    def _files_in(self, folder: Path) -> Any:
        return Files(cache_path=str(folder), filename_base=self._name, source_stamp=self._stamp)


# What a full disk or a crash has cut, or what this user may not read.
_UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)


def _keys(files: Any) -> list[Any] | None:
    """Return what there is machine code for; None if that cannot be read."""
    try:
        return list(files._load_index())
    except _UNREADABLE:
        return None


@cache
def _tell_unkept(folder: Path, why: str) -> None:
    """Say so once."""
    text = f"stream_llsvm: a compiled kernel cannot be kept in {folder} ({why}): the next process"
    print(text, "compiles it again", file=sys.stderr, flush=True)


def kept(compiled: Any, *sources: Path) -> Any:
    """Let what numba compiles of a function be kept.

    Parameters
    ----------
    compiled
        Numba's dispatcher.
    sources
        The folders or files of all that becomes a part of the machine code: numba would look at the
        function's own file only, and reuse machine code although a function called had changed.

    Returns
    -------
    Any
        The same dispatcher.

    """
    compiled._cache = KernelCache(compiled.py_func, _stamp(sources))
    return compiled


@cache
def _stamp(sources: tuple[Path, ...]) -> str:
    """Return a digest of these sources."""
    digest = hashlib.blake2b(digest_size=16)
    for part in sources:
        for source in [part] if part.is_file() else sorted(part.rglob("*.py")):
            digest.update(source.relative_to(part.parent).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def is_ready(compiled: Any) -> bool:
    """Whether nobody has to wait for this kernel to be compiled."""
    if compiled.signatures:
        return True
    return bool(compiled._cache.holds(compiled.targetctx.codegen()))
