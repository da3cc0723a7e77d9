"""Compiling kernels, or loading them, before they are called.

Numba compiles one function at a time, in whatever thread. Where several kernels are not kept yet, a
second process compiles some of them: one takes the heaviest that is left whenever it is done with
the last, the other likewise. What the second one compiled is loaded from where kernels are kept. It
runs a module of ours and never the user's program, and it ends with the process that started it.
Programs that are started at the same moment take turns (``turn.py``).
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stream_llsvm.kernels.cache import PACKAGE, is_ready
from stream_llsvm.kernels.dispatch import SIGNATURE
from stream_llsvm.kernels.folders import places
from stream_llsvm.kernels.turn import turn

#: How many processes compile kernels: 1, or 2 as usual.
COMPILERS = "STREAM_LLSVM_COMPILERS"

#: A kernel and what it takes: a signature, or a tuple of types where Python calls it.
Wanted = tuple[Any, Any]
#: What is told how many kernels there are by now, and how many there shall be.
Progress = Callable[[int, int], object]


def compile_ahead(wanted: Sequence[Wanted], progress: Progress = lambda done, of: None) -> None:
    """Compile or load these kernels; what is there already costs next to nothing."""
    missing = {kernel: takes for kernel, takes in wanted if not kernel.signatures}
    to_compile = [kernel for kernel in missing if not is_ready(kernel)]

    def tell() -> None:
        progress(sum(map(is_ready, to_compile)), len(to_compile))

    if to_compile:
        with turn(meanwhile=tell), few_collections():
            # Whoever was waited for has compiled some of them.
            _compile({k: missing[k] for k in to_compile if not is_ready(k)}, tell)
    for kernel, takes in missing.items():
        kernel.compile(takes)
    if to_compile:
        tell()


def _compile(wanted: dict[Any, Any], tell: Callable[[], None]) -> None:
    """Compile kernels: in two processes, if that can be and pays."""
    shared = [k for k, takes in wanted.items() if takes is SIGNATURE and _name(k) is not None]
    if len(wanted) > 1 and shared and _may_help():
        own = {k: takes for k, takes in wanted.items() if k not in shared}
        _compile_in_two(own, sorted(shared, key=_weight, reverse=True), tell)
    for kernel, takes in wanted.items():
        kernel.compile(takes)
        tell()


def _compile_in_two(own: dict[Any, Any], shared: list[Any], tell: Callable[[], None]) -> None:
    """Compile what is our own and what is shared with a second process; return when both have."""
    todo = deque(shared)
    try:
        helper = Helper(todo)
    except OSError:  # no more processes, or no memory for one
        return
    try:
        for kernel, takes in own.items():
            kernel.compile(takes)
            tell()
        with suppress(IndexError):  # the last one is taken
            while True:
                todo.popleft().compile(SIGNATURE)
                tell()
        helper.join()
    finally:
        helper.end()


class Helper:
    """The second process, and a thread that hands it one kernel after the other.

    Parameters
    ----------
    todo
        Kernels that both processes take from.

    """

    def __init__(self, todo: deque[Any]) -> None:
        self.todo = todo
        self.taken: list[Any] = []
        path = [str(PACKAGE.parent), *(one for one in sys.path if one)]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "stream_llsvm.kernels.helper"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.thread = threading.Thread(target=self._hand_out, daemon=True, name="compiling")
        self.thread.start()

    def _hand_out(self) -> None:
        """Give it a kernel each time it says that it wants one, until none is left."""
        asks, answers = self.process.stdout, self.process.stdin
        assert asks is not None and answers is not None
        # It may end at any time; what it has not compiled is then compiled here.
        with suppress(OSError, ValueError, IndexError):
            for _ in asks:
                self.taken.append(self.todo.popleft())
                answers.write(f"{_name(self.taken[-1])}\n")
                answers.flush()

    def join(self) -> None:
        """Wait until it has compiled what it took, if it took anything."""
        if self.taken:
            self.thread.join(_PATIENCE)

    def end(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        self.thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


#: In seconds: what a helper has not compiled by then is compiled here.
_PATIENCE = 60


def _may_help() -> bool:
    """Whether a second process can be started, would run beside this one, and can keep kernels."""
    has = getattr(os, "sched_getaffinity", None)
    cores = len(has(0)) if has is not None else os.cpu_count() or 1
    # A program that embeds Python, or is frozen, would start itself.
    python = Path(sys.executable or "").name.startswith("python")
    allowed = os.environ.get(COMPILERS, "2") != "1"
    frozen = getattr(sys, "frozen", False)
    return allowed and cores > 1 and python and not frozen and places().written is not None


def _name(kernel: Any) -> str | None:
    """Return where another process finds a kernel; None if it is not one of the package's."""
    function = kernel.py_func
    module = sys.modules.get(function.__module__)
    if not function.__module__.startswith("stream_llsvm."):
        return None
    if getattr(module, function.__name__, None) is not kernel:
        return None
    return f"{function.__module__}:{function.__name__}"


def _weight(kernel: Any) -> int:
    """Return roughly how long a kernel takes to compile: how much is written in its folder."""
    folder = Path(kernel.py_func.__code__.co_filename).parent
    return sum(file.stat().st_size for file in folder.glob("*.py"))


@contextmanager
def few_collections() -> Iterator[None]:
    """Let Python look for garbage more rarely.

    A compiler makes very many objects and little garbage: an eighth of the time went into looking
    for it. Never to look at all would cost 200 MB and be no faster.
    """
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], 100_000) if usual[0] else 0, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
