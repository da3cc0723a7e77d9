"""Something dear that is worked out only now and then."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Made = TypeVar("_Made")
#: The share of the time that one of them may take, however large the model is.
SHARE = 0.04


class Throttle(Generic[_Made]):
    """Keeps a value, and makes it anew at most every so many seconds.

    If making it takes long it is made less often, so that it never takes more than `SHARE` of the
    time.

    Parameters
    ----------
    clock
        Tells the time in seconds.
    every
        Seconds between two values at least.

    """

    def __init__(self, clock: Callable[[], float], every: float) -> None:
        self._clock, self._every = clock, every
        self._due = 0.0
        self._key: Hashable = None
        self._made: _Made | None = None

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the value kept for the key; it is made if it is due, or the key is another."""
        begin = self._clock()
        if self._made is None or key != self._key or begin >= self._due:
            self._made, self._key = make(), key
            self._due = begin + max(self._every, (self._clock() - begin) / SHARE)
        return self._made
