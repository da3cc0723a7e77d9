"""One model, several threads: a call has the model to itself, and the others wait.

A row is encoded into the model's own buffers, kernels answer into others, predictions are kept for
late labels, and the model grows. So every call, also one that only predicts, takes the model's
lock. A scratch for each thread would not do: a prediction writes too, and must not meet a record
that is being learned. Nobody else calls a model while it is copied, pickled or saved.
"""

from __future__ import annotations

import copy
import functools
from _thread import RLock
from collections.abc import Callable
from typing import Any, Self, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


class Lock(RLock):  # type: ignore[misc]
    """A lock whose copy is another one: river clones a model attribute by attribute."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()


class OneAtATime:
    """What several threads may call: it has a ``_lock``, which `locked` methods take.

    ``copy.copy`` is a deep copy: two models that share their arrays would share no lock.
    """

    _lock: Any

    def _make_lock(self) -> Any:
        """Return the lock of this object; one that works with another's has that one's."""
        return Lock()

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = object.__new__(type(self))
        memo[id(self)] = new
        with self._lock:
            new.__setstate__(copy.deepcopy(_but_the_lock(self), memo))
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy: it is pickled when others may have the model again."""
        with self._lock:
            return copy.deepcopy(_but_the_lock(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = self._make_lock()


def _but_the_lock(one: Any) -> dict[str, Any]:
    return {name: value for name, value in one.__dict__.items() if name != "_lock"}


def let_go(lock: Any) -> None:
    """Release a lock if this thread has it: a wait for it may have been interrupted.

    For calls with single records, which write out what ``with`` does: that would take 0.2 us of
    their 2, twice as long. So a lock is acquired behind ``try``, and Ctrl-C leaves none behind.
    """
    if lock._is_owned():
        lock.release()


def locked(method: Method) -> Method:
    """Let a method of `OneAtATime` wait until no other thread is in one."""

    @functools.wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    own: Any = alone
    made: Method = own
    return made
