"""What part of the plane is in the picture: it follows what is there, by steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MARGIN = 0.15
#: The picture is drawn closer when what is in it fills less than this share of its sides.
_LOOSE = 0.5


class Extent:
    """Keeps a box around places until they leave it, or fill little of it."""

    def __init__(self) -> None:
        self.low, self.high = np.zeros(2), np.zeros(2)

    @property
    def size(self) -> Array:
        """Width and height; never 0."""
        return np.maximum(self.high - self.low, 1e-9)

    def cover(self, *groups: Array) -> None:
        """Let the box hold almost all places, (n, 2), of each of the groups."""
        ends = [np.percentile(places, [2, 98], axis=0) for places in groups if len(places) > 0]
        if not ends:
            return
        low, high = np.min(ends, axis=(0, 1)), np.max(ends, axis=(0, 1))
        wide = np.maximum(high - low, 1e-6 * np.maximum(1.0, np.abs(high)))
        outside = (low < self.low) | (high > self.high)
        if (outside | (wide < _LOOSE * self.size)).any():
            self.low, self.high = low - _MARGIN * wide, high + _MARGIN * wide
