"""Where slices of some partitions begin and end: at times, so that all have the same stretch of it.

Records lie in the order of their times as `TimeOrder` puts them: a record that is older than one
before it in its partition counts as old as that one. So a partition's first offset whose time is T
or later, which is what brokers tell, parts what goes before T from what does not.

Among the times that make a slice about as large as it should be, the roundest is taken, the one
with most zeros at its end as a binary number. So a border is a function of what lies behind the
last one, whatever was asked before, and a run that is killed finds the same borders again.

Brokers count the marks of transactions, and what was aborted, among the records: where those are
newer than a record behind them, a border may lie before that record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Offsets = dict[Any, int]
#: Of a time: each partition's first offset that is not before it, and the time of that record.
Ask = Callable[[int], Mapping[Any, tuple[int, int] | None]]

_LAST = 1 << 43  # milliseconds: the year 2248
_GUESSES = (7 / 8, 9 / 8, 2, 16)  # how long a slice may be, if the last one was as long as 1
_REMEMBERED = 64  # borders
_SLACK = 16  # a slice may be so large a part larger or smaller than it should be


class Borders:
    """Finds borders, one after the other.

    Parameters
    ----------
    ask
        What asks brokers.

    Examples
    --------
    >>> times = {"a": [10, 20, 30, 40], "b": [15, 35, 36, 50]}
    >>> def ask(time):
    ...     found = {one: [t >= time for t in of].index(True) if of[-1] >= time else None
    ...              for one, of in times.items()}
    ...     return {one: None if at is None else (at, times[one][at]) for one, at in found.items()}
    >>> borders = Borders(ask)
    >>> first = borders.next({"a": 0, "b": 0}, {"a": 4, "b": 4}, 4)
    >>> first, borders.next(first, {"a": 4, "b": 4}, 4)
    ({'a': 3, 'b': 1}, {'a': 4, 'b': 4})

    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._last: tuple[Offsets, int] | None = None  # a border, and a time at which all is before
        self._pace = 0.0  # milliseconds of the last slice
        # What was found lately, by where it begins and the size: it is asked for again.
        self._found: dict[tuple[frozenset[tuple[Any, int]], int], Offsets] = {}

    def next(self, begin: Offsets, ends: Offsets, size: int) -> Offsets:
        """Return where a slice ends that begins there; ``ends`` if there is no more than that."""
        least, most = size - size // _SLACK, size + size // _SLACK
        if sum(ends.values()) - sum(begin.values()) <= most:
            return dict(ends)
        if len(begin) == 1:
            return {one: at + size for one, at in begin.items()}
        place = frozenset(begin.items()), size
        if place in self._found:
            return dict(self._found[place])
        found = _Search(self._ask, begin, ends, least, most).found(self, size)
        while len(self._found) >= _REMEMBERED:
            del self._found[next(iter(self._found))]
        self._found[place] = dict(found)
        return found if found != begin else dict(ends)  # whatever brokers say, it goes on

    def known(self, begin: Offsets) -> tuple[int, float]:
        """Return a time before which nothing of the slice is, and how long slices are."""
        if self._last is None or self._last[0] != begin:
            return 0, 0.0
        return self._last[1], self._pace

    def keep(self, border: Offsets, time: int, pace: float) -> None:
        """Remember a border, so that the next one is found sooner."""
        self._last, self._pace = (dict(border), time), pace


class _Search:
    """The search for one border: between a time that is too early and one that is too late."""

    def __init__(self, ask: Ask, begin: Offsets, ends: Offsets, least: int, most: int) -> None:
        self._ask, self._begin, self._ends = ask, begin, ends
        self._least, self._most = least, most
        self._early, self._before = 0, dict(begin)
        self._first = 0  # the time before which nothing is
        self._late, self._behind = _LAST, dict(ends)

    def found(self, borders: Borders, size: int) -> Offsets:
        self._early, pace = borders.known(self._begin)
        self._first = self._early
        for share in _GUESSES if pace else ():
            time = self._first + max(1, int(share * pace))
            if self._late == _LAST and time > self._early:
                self._look(time)
        low, high = 0, _LAST
        while high - low > 1:
            time = (low + high) // 2
            if time <= self._early:
                low = time
            elif time >= self._late:
                high = time
            elif (here := self._look(time)) is not None:
                borders.keep(here, time, time - self._first)
                return here
        here = self._within(size)
        borders.keep(here, low, 1.0)
        return here

    def _look(self, time: int) -> Offsets | None:
        """Return what is before a time, if that is about as much as is wanted."""
        told = self._ask(time)
        here = {}
        for one, begin in self._begin.items():
            found, end = told.get(one), self._ends[one]
            here[one] = end if found is None else min(max(found[0], begin), end)
        count = sum(here.values()) - sum(self._begin.values())
        if count < self._least:
            # Up to the time of whatever comes next nothing else would be found.
            times = [found[1] for found in told.values() if found is not None]
            self._early, self._before = max(time, min(times, default=time)), here
            if count == 0:
                self._first = self._early
        elif count > self._most:
            self._late, self._behind = time, here
        else:
            return here
        return None

    def _within(self, size: int) -> Offsets:
        """Part records of one and the same time, of which there are many, as they are ordered."""
        left = size - (sum(self._before.values()) - sum(self._begin.values()))
        here = {}
        for one in sorted(self._before):
            step = max(0, min(left, self._behind[one] - self._before[one]))
            here[one] = self._before[one] + step
            left -= step
        return here
