"""Which anchors nobody needs any more, and where each came from."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.dashboard.recent_records import Array

#: So long a trail is drawn.
TRAIL = 12
#: A move is visible from this share of the picture on.
_VISIBLE = 0.01
#: An anchor is dead if it has answered next to nothing in so many records for each anchor.
_PATIENCE, _LEAST = 20, 2_000
_LIFE = 0.5
#: From here on a mass is a 4-byte float that small shares no longer change.
_FULL = 2.0**21


class DeadAnchors:
    """Follows the masses of anchors, and tells which have stopped growing."""

    def __init__(self) -> None:
        self._mass = np.zeros(0)
        self._grown = np.zeros(0)

    def dead(self, masses: Array, learned: float) -> NDArray[np.bool_]:
        """Return for each anchor whether it has long answered nobody; ``learned`` is now."""
        if len(masses) < len(self._mass) or (self._grown > learned).any():
            self._mass = self._grown = np.zeros(0)  # another model
        new = len(masses) - len(self._mass)
        self._mass = np.concatenate([self._mass, masses[len(masses) - new :]])
        self._grown = np.concatenate([self._grown, np.full(new, learned)])
        grown = (masses >= self._mass + _LIFE) | (masses > _FULL)
        self._mass[grown], self._grown[grown] = masses[grown], learned
        return np.asarray(learned - self._grown > max(_LEAST, _PATIENCE * len(masses)))


class Trails:
    """Where each anchor was before, as far as one can see that it has moved."""

    def __init__(self) -> None:
        self._trails: dict[int, deque[tuple[float, float]]] = {}

    def follow(self, which: NDArray[np.int64], places: Array, size: Array) -> None:
        """Note the places of anchors in a picture of this size; forget all other anchors."""
        kept: dict[int, deque[tuple[float, float]]] = {}
        for number, (x, y) in zip(which.tolist(), places.tolist(), strict=True):
            trail = self._trails.get(number)
            if trail is None:
                trail = deque([(x, y)], maxlen=TRAIL)
            elif max(abs(x - trail[-1][0]) / size[0], abs(y - trail[-1][1]) / size[1]) > _VISIBLE:
                trail.append((x, y))
            kept[number] = trail
        self._trails = kept

    def of(self, number: int) -> list[tuple[float, float]]:
        """Return where an anchor was, oldest first."""
        return list(self._trails[number])
