"""The whole run as points: the newest one by one, older ones ever more thinly."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

Point = Mapping[str, Any]
MOST = 2_000


class History:
    """Points of a run, in bounded memory; safe to read while another thread adds.

    Parameters
    ----------
    most
        How many points are kept at most. Half of them are the newest; of those before, every
        second one is dropped whenever they become too many.

    Examples
    --------
    >>> history = History(most=8)
    >>> for i in range(1, 31):
    ...     history.add({"id": i})
    >>> [point["id"] for point in history.points()]
    [1, 9, 17, 25, 27, 28, 29, 30]
    >>> [point["id"] for point in history.points(after=27)]
    [28, 29, 30]

    """

    def __init__(self, most: int = MOST) -> None:
        self._half = most // 2
        self._newest: deque[Point] = deque()
        self._older: list[Point] = []
        self._stride, self._passed = 1, 0
        self._lock = threading.Lock()

    def add(self, point: Point) -> None:
        """Take the next point; its id is above that of all before."""
        with self._lock:
            self._newest.append(point)
            if len(self._newest) > self._half:
                self._let_go(self._newest.popleft())

    def _let_go(self, point: Point) -> None:
        if self._passed % self._stride == 0:
            self._older.append(point)
            if len(self._older) > self._half:
                self._older = self._older[::2]
                self._stride *= 2
        self._passed += 1

    def points(self, after: int = -1) -> list[Point]:
        """Return the points whose ids are above this one, in order."""
        with self._lock:
            kept = [*self._older, *self._newest]
        return [point for point in kept if point["id"] > after]

    def columns(self) -> dict[str, list[Any]]:
        """Return all points, column by column."""
        points = self.points()
        return {name: [point[name] for point in points] for name in (points[-1] if points else ())}
