"""Which of a model's anchors are shown: those that count most, and not others every second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream_llsvm.explain import MemberReport
from stream_llsvm.memory import Memory

#: Another member is shown when it has counted so much more, for so many seconds.
_AHEAD, _FOR = 1.3, 10.0


class MemberChoice:
    """Chooses the member whose anchors are shown.

    Parameters
    ----------
    clock
        Tells the time in seconds.

    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._shown: str | None = None
        self._since: float | None = None
        self._ahead: str | None = None

    def choose(self, memory: Memory, mixture: Sequence[MemberReport]) -> int | None:
        """Return the number of the member to show, None if there are no anchors."""
        members = candidates(memory)
        if not members:
            return None
        weights = {
            memory.members[i].name: sum(map(abs, mixture[i].weights)) * mixture[i].awake
            for i in members
        }
        best = max(weights, key=weights.__getitem__)
        if self._shown not in weights:
            self._shown, self._ahead = best, None
        elif weights[best] > _AHEAD * max(weights[self._shown], 1e-3):
            if self._ahead != best:
                self._ahead, self._since = best, self._clock()
            elif self._since is not None and self._clock() - self._since >= _FOR:
                self._shown, self._ahead = best, None
        else:
            self._ahead = None
        return next(i for i in members if memory.members[i].name == self._shown)


def candidates(memory: Memory) -> list[int]:
    """Return the members with anchors; a linear machine, which has one, if there are no others."""
    sizes = [member.n_anchors for member in memory.members]
    least = 2 if any(size > 1 for size in sizes) else 1
    return [i for i, size in enumerate(sizes) if size >= least]
