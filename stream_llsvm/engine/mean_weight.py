"""What records count on the mean: weights far above 1 make steps too long."""

from __future__ import annotations

import numpy as np

from stream_llsvm.connectors.base import Batch

_MOST = 5.0
_FEWEST = 100  # records, before anything is said of a run that goes on


class MeanWeight:
    """The mean weight of the records so far.

    Examples
    --------
    >>> mean = MeanWeight()
    >>> mean.take(Batch([], [], {}, weights=np.full(100, 40.0)))
    >>> mean.doubt()
    'weights are 40 on the mean, which makes steps so many times as long: divide them by their mean'

    """

    def __init__(self) -> None:
        self._sum, self._records = 0.0, 0

    def take(self, batch: Batch) -> None:
        """Count a batch's weights; where it has none each is 1."""
        if batch.weights is None:
            self._sum += len(batch)
            self._records += len(batch)
        else:
            sound = batch.weights[np.isfinite(batch.weights)]
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
