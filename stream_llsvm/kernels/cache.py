"""Compiled kernels, kept for the next process, or installed with the package.

A wheel for one Python and one kind of processor brings its kernels along (``make kernels``), so
that nothing has to be compiled where it is installed. They are used if the versions of numba and
Python, the sources and what is compiled for (``inside_numba.py:processor``) are those they were
made with; if anything differs, kernels are compiled and kept as in a checkout, see ``folders.py``.
Either way it is the same machine code, to the bit.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

from stream_llsvm.kernels.folders import places
from stream_llsvm.kernels.inside_numba import (
    AS_EXPECTED,
    Cache,
    Files,
    KernelCompiler,
    packed,
    processor,
    unpacked,
)

PACKAGE = Path(__file__).parents[1]
#: Kernels that are installed with the package; in a checkout, those that the next wheel will hold.
SHIPPED = Path(__file__).parent / "shipped"

#: How all that is compiled here is compiled. Nothing owns memory, so no references are counted:
#: the passes of ``numba_passes.py`` never give one back, and with counting on each call would keep
#: every array it is given alive. A function that would allocate is refused by the compiler.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}

#: All that is kept, by the kernels of this process.
caches: list[KernelCache] = []


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

    def holds(self) -> bool:
        """Whether there is machine code for the processor that is compiled for."""
        targets = {target for files in self._files() for _, target in _keys(files) or ()}
        return processor() in targets

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for this signature and processor, or None."""
        for files in self._files():
            found = _read(files, (sig, processor()))
            if found is not None:
                return unpacked(target_context, found)
        return None

    def ship(self) -> bool:
        """Copy what is kept for the processor to where it is installed from; False: nothing is."""
        kept, shipped = {}, self._shipped()
        assert shipped is not None
        for folder in reversed(places().read):
            files = self._files_in(folder.of(self._source))
            for key in _keys(files) or ():
                if key[1] == processor() and (found := _read(files, key)) is not None:
                    kept[key] = found
        if kept:
            SHIPPED.mkdir(exist_ok=True)
            shipped.flush()
        for key, found in kept.items():
            shipped.save(key, found)
        return bool(kept)

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
            files.save((sig, processor()), packed(data))
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
        if (shipped := self._shipped()) is not None:
            yield shipped
        yield from (self._files_in(folder.of(self._source)) for folder in places().read)

    def _files_in(self, folder: Path) -> Any:
        return Files(cache_path=str(folder), filename_base=self._name, source_stamp=self._stamp)

    def _shipped(self) -> Any:
        """Return the files that came with the package; None for a kernel from elsewhere."""
        if not self._source.is_relative_to(PACKAGE):
            return None
        room = ".".join(self._source.relative_to(PACKAGE).parent.parts)
        return Files(
            cache_path=str(SHIPPED),
            filename_base=f"{room}.{self._name}",
            source_stamp=self._stamp,
        )


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


def _read(files: Any, key: Any) -> Any:
    """Return what is kept under a key, or None."""
    try:
        return files.load(key)
    except _UNREADABLE:
        return None


def kept(function: Callable[..., Any], *sources: Path, **options: Any) -> Any:
    """Compile a function for the processor of ``inside_numba.py``, and keep what comes of it.

    Parameters
    ----------
    function
        What is compiled when it is first called.
    sources
        The folders or files of all that becomes a part of the machine code: numba would look at the
        function's own file only, and reuse machine code although a function called had changed.
    options
        What numba's ``njit`` takes, beside `OPTIONS`.

    Returns
    -------
    Any
        Numba's dispatcher.

    """
    compiled = njit(pipeline_class=KernelCompiler, **OPTIONS | options)(function)
    if AS_EXPECTED:
        compiled._cache = KernelCache(function, _stamp((*sources, Path(__file__))))
        caches.append(compiled._cache)
    return compiled


@cache
def _stamp(sources: tuple[Path, ...]) -> str:
    """Return a digest of these sources, the same wherever and however they are installed."""
    digest = hashlib.blake2b(digest_size=16)
    for part in sources:
        files = [part] if part.is_file() else part.rglob("*.py")
        names = {source.relative_to(part.parent).as_posix(): source for source in files}
        for name, source in sorted(names.items()):
            text = source.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(text)} ".encode() + text)
    return digest.hexdigest()


def is_ready(compiled: Any) -> bool:
    """Whether nobody has to wait for this kernel to be compiled."""
    if compiled.signatures:
        return True
    return AS_EXPECTED and bool(compiled._cache.holds())
