"""Where the latest records lie that windowed scores look at, and from which record on they do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Window:
    """So many places, filled in turn, of which those count that were filled since it began.

    Parameters
    ----------
    size
        How many places there are.

    Examples
    --------
    >>> window = Window(4)
    >>> window.latest(3), window.latest(9)
    (slice(0, 3, None), slice(0, 4, None))
    >>> window.begun = 9  # what came before was another model's
    >>> window.latest(11), window.latest(13)
    (array([1, 2]), slice(0, 4, None))

    """

    def __init__(self, size: int) -> None:
        self.size = size
        #: How many records had come when it began.
        self.begun = 0

    def held(self, n: int) -> int:
        """Return how many of n records it holds."""
        return min(n - self.begun, self.size)

    def latest(self, n: int) -> slice | NDArray[np.int64]:
        """Return the places of the records that count, n having come."""
        if self.begun == 0 or n - self.begun >= self.size:
            return slice(0, min(n, self.size))
        return np.arange(self.begun, n) % self.size
