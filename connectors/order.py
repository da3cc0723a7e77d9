"""Records of several partitions in one order, by time: which of those that are there may go.

Each partition keeps its own order. Of their next records the one with the lowest time goes first,
of equal times that of the lower partition. So the order is a function of the data, as long as each
partition's next record is known whenever another one goes; what has no time goes right behind the
one before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Disorder

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Seconds in which a record that was sent arrives: so long others wait for a partition that has
#: nothing more to give just now.
UNDER_WAY = 0.01


#: Seconds that a partition is waited for that has more and does not give it.
MAX_WAIT = 5.0


def is_by_time(order: str, time: str | None, max_wait: float) -> bool:
    """Return whether the order that is asked for is that of times. Raises ValueError."""
    if order not in ("time", "arrival"):
        raise ValueError(f"order is one of 'time', 'arrival', not {order!r}")
    if order == "arrival" and time is not None:
        raise ValueError(f"order='arrival' asks for no time; leave out time={time!r}, or order")
    if not 0 <= max_wait <= 86_400:
        raise ValueError(f"max_wait is a number of seconds from 0 to 86,400, not {max_wait!r}")
    return order == "time"


class Cut(NamedTuple):
    """What may go.

    Attributes
    ----------
    counts
        How many records of each partition.
    order
        Their order: numbers that count through the first partition's records, then the second
        one's, and so on.
    untimed
        Which of them, in order, have no time.

    """

    counts: list[int]
    order: Indices
    untimed: NDArray[np.bool_]


class _Part:
    """What one partition holds: the times of its records, and when they came."""

    def __init__(self) -> None:
        self.times: Floats = np.zeros(0)  # raised to that of the record before, if lower
        self.untimed = np.zeros(0, dtype=np.bool_)
        self.came: deque[tuple[int, float]] = deque()  # how many, and when
        self.last = -inf  # no later record goes before this time
        self.given_up = self.ended = False

    def add(self, times: Floats, now: float) -> None:
        raised = np.fmax.accumulate(np.fmax(times, self.last))  # which passes over NaN
        self.last = float(raised[-1])
        self.times = np.concatenate([self.times, raised])
        self.untimed = np.concatenate([self.untimed, np.isnan(times)])
        self.came.append((len(times), now))

    def pop(self, count: int) -> None:
        self.times, self.untimed = self.times[count:], self.untimed[count:]
        while count:
            many, at = self.came.popleft()
            if many > count:
                self.came.appendleft((many - count, at))
            count -= min(many, count)

    def arrivals(self) -> Floats:
        counts, at = zip(*self.came, strict=True) if self.came else ((), ())
        return np.repeat(np.array(at, dtype=np.float64), np.array(counts, dtype=np.int64))


class TimeOrder:
    """Merges partitions by time; it knows times only, and never what the records are.

    Parameters
    ----------
    names
        What people call the partitions, in their order.
    max_wait
        Seconds that a partition is waited for that has more and does not give it.

    Attributes
    ----------
    wait
        Seconds after which more may go although nothing came; infinite if only what comes helps.

    Examples
    --------
    >>> order = TimeOrder(["a", "b"], max_wait=5.0)
    >>> order.add(0, np.array([1.0, 4.0]), now=0.0)
    >>> order.add(1, np.array([2.0, 3.0]), now=0.0)
    >>> cut = order.take(lambda part: True, now=0.0)  # b may still give something before 4
    >>> cut.counts, cut.order
    ([1, 2], array([0, 1, 2]))
    >>> order.take(lambda part: False, now=0.02).counts  # b has no more
    [1, 0]

    """

    def __init__(self, names: Sequence[str], max_wait: float) -> None:
        self._names, self._max_wait = list(names), max_wait
        self._under_way = min(UNDER_WAY, max_wait)
        self._parts = [_Part() for _ in names]
        self._gone = (-inf, -1)  # time and partition of the last that went
        self._blocked: tuple[int, float] | None = None  # by whom, and since when
        self._held_since: float | None = None
        self._late, self._waited = 0, 0.0
        self._gave_up: list[str] = []
        self.wait = inf

    def add(self, part: int, times: Floats, now: float) -> None:
        """Take the times of records that a partition gave, NaN where there is none."""
        if not len(times):
            return
        one = self._parts[part]
        one.add(times, now)
        one.given_up = False
        if self._blocked is not None and self._blocked[0] == part:
            self._blocked = None
        fresh, (time, gone) = one.times[-len(times) :], self._gone
        side: Literal["left", "right"] = "left" if part > gone else "right"  # as ties are broken
        if part != gone:
            self._late += int(np.searchsorted(fresh, time, side))

    def end(self, part: int) -> None:
        """Know that a partition will never give anything again."""
        self._parts[part].ended = True

    def take(self, more: Callable[[int], bool], now: float) -> Cut | None:
        """Return what may go, None if nothing may.

        Parameters
        ----------
        more
            Whether a partition is known to have more than it gave.
        now
            The time, by a clock that is never set.

        """
        sizes = [len(part.times) for part in self._parts]
        if not any(sizes):
            self.wait, self._held_since = inf, None
            return None
        times = np.concatenate([part.times for part in self._parts])
        owners = np.repeat(np.arange(len(sizes)), sizes)
        order: Indices = np.argsort(times, kind="stable").astype(np.int64, copy=False)
        times, owners = times[order], owners[order]
        count = self._free(times, owners, order, more, now)
        if not count:
            self._held_since = now if self._held_since is None else self._held_since
            return None
        if self._held_since is not None:
            self._waited += now - self._held_since
            self._held_since = None
        self._blocked = None
        counts = np.bincount(owners[:count], minlength=len(sizes))
        begin: Indices = np.cumsum(sizes) - np.array(sizes, dtype=np.int64)
        own: Indices = np.cumsum(counts) - counts
        untimed = np.concatenate([part.untimed for part in self._parts])[order[:count]]
        order = order[:count] + (own - begin)[owners[:count]]
        self._gone = max(self._gone, (float(times[count - 1]), int(owners[count - 1])))
        for part, many in zip(self._parts, counts.tolist(), strict=True):
            part.pop(many)
        return Cut(counts.tolist(), order, untimed)

    def _free(
        self,
        times: Floats,
        owners: Indices,
        order: Indices,
        more: Callable[[int], bool],
        now: float,
    ) -> int:
        """Return how many of the sorted records may go."""
        first_quiet: tuple[float, int] | None = None
        count, blocker = len(times), None
        for last, at in sorted((part.last, at) for at, part in enumerate(self._parts)):
            if self._parts[at].ended:
                continue
            if not self._parts[at].given_up and more(at):
                blocker = at
                count = _upto(times, owners, (last, at))
                break
            first_quiet = first_quiet or (last, at)
        self.wait = inf
        if first_quiet is not None:
            count = self._arrived(times, owners, order, count, first_quiet, now)
        if count or blocker is None or self.wait < inf:
            return count
        if self._blocked is None or self._blocked[0] != blocker:
            self._blocked = (blocker, now)
        self.wait = self._blocked[1] + self._max_wait - now
        if self.wait > 0:
            return 0
        self._parts[blocker].given_up = True
        self._gave_up.append(self._names[blocker])
        return self._free(times, owners, order, more, now)

    def _arrived(
        self,
        times: Floats,
        owners: Indices,
        order: Indices,
        count: int,
        quiet: tuple[float, int],
        now: float,
    ) -> int:
        """Return how many go if some partition is quiet whose records may be under way."""
        sure = _upto(times, owners, quiet)
        latest = max(part.came[-1][1] for part in self._parts if part.came)
        if sure >= count or latest <= now - self._under_way:
            return count
        came = np.concatenate([part.arrivals() for part in self._parts])[order[sure:count]]
        young = np.flatnonzero(came > now - self._under_way)
        if not len(young):
            return count
        count = sure + int(young[0])
        if not count:
            self.wait = float(came[young[0]]) + self._under_way - now
        return count

    def told(self) -> Disorder:
        """Return what is not in order, and how long was waited, since this was last asked."""
        found = Disorder(self._late, tuple(self._gave_up), self._waited)
        self._late, self._gave_up, self._waited = 0, [], 0.0
        return found


def _upto(times: Floats, owners: Indices, bound: tuple[float, int]) -> int:
    """Return how many of the sorted records are not behind a time and a partition."""
    time, owner = bound
    first = int(np.searchsorted(times, time, "left"))
    last = int(np.searchsorted(times, time, "right"))
    return first + int(np.searchsorted(owners[first:last], owner, "right"))
