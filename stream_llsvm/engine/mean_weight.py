"""What records count on the mean: weights far above 1 make steps too long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST = 5.0
_FEWEST = 100  # records, before anything is said of a run that goes on


class MeanWeight:
    """The mean weight of the records so far.

    Examples
    --------
    >>> mean = MeanWeight()
    >>> mean.take(np.full(100, 40.0), 100)
    >>> mean.doubt()
    'weights are 40 on the mean, which makes steps so many times as long: divide them by their mean'

    """

    def __init__(self) -> None:
        self._sum, self._records = 0.0, 0

    def take(self, weights: NDArray[np.float64] | None, records: int) -> None:
        """Count the weights of so many records; where there are none each is 1."""
        if weights is None:
            self._sum += records
            self._records += records
        else:
            sound = weights[np.isfinite(weights)]
            self._sum += float(sound.sum())
            self._records += len(sound)

    def doubt(self) -> str | None:
        """Return what is to be said of it, None if there is nothing, or if it is too early."""
        if self._records < _FEWEST or self._sum <= _MOST * self._records:
            return None
        return (
            f"weights are {self._sum / self._records:.3g} on the mean, which makes steps so many "
            "times as long: divide them by their mean"
        )
