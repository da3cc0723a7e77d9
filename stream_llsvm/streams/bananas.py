"""Two bananas that move and turn in the plane, and now and then are thrown somewhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Place, Position

LABELS = ("ripe", "green")
_BLOCK = 500  # records that are drawn at once
_NOISE = 0.2
_PATH = 0.8  # how far the pair strays from the middle


class MovingBananas:
    """A source without an end: two features, two labels, a concept that never rests.

    The pair drifts along a path and turns half round between two throws. Each throw turns it back
    by about as much, so that the bananas change places, and puts it down elsewhere. The same seed
    gives the same records.

    Parameters
    ----------
    seed
        For all that is random.
    every
        Records between two throws.
    first
        Records before the first throw; as many as between any two if None.

    Examples
    --------
    >>> source = MovingBananas(seed=1)
    >>> batch = source.poll(3, 0.0)
    >>> batch.names, len(batch), set(batch.labels) <= {"ripe", "green"}
    (('x', 'y'), 3, True)
    >>> source.position
    {'records': 3}

    """

    name = "moving bananas"
    ended = False

    def __init__(self, seed: int = 0, every: int = 48_000, first: int | None = None) -> None:
        self.seed, self.every = seed, every
        #: How much of its way the pair has behind it when the stream begins.
        self._ahead = 0 if first is None else every - min(first, every)
        self._next = 0

    @property
    def position(self) -> Position:
        """How many records have been handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Continue behind this position; nothing before it has to be drawn."""
        self._next = position["records"]

    def poll(self, max_records: int, timeout: float) -> Batch:
        """Return the next records, at most so many."""
        block, first = divmod(self._next, _BLOCK)
        values, codes = self._drawn(block)
        part = slice(first, first + min(max_records, _BLOCK - first))
        labels = [LABELS[code] for code in codes[part].tolist()]
        places = [Place(self.name, None, self._next + i + 1) for i in range(len(labels))]
        self._next += len(labels)
        return Batch(labels, places, self.position, names=("x", "y"), values=values[part])

    def close(self) -> None:
        """Nothing is open."""

    def _drawn(self, block: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the records of a block, which depend on nothing but the seed and its number."""
        chance = np.random.default_rng([self.seed, 0, block])
        codes = chance.integers(0, 2, _BLOCK)
        along, noise = np.pi * chance.random(_BLOCK), _NOISE * chance.normal(size=(_BLOCK, 2))
        upper = np.stack([np.cos(along) - 0.5, np.sin(along) - 0.25], axis=1)
        place = np.where(codes[:, None] == 0, upper, -upper) + noise
        throws, since = np.divmod(self._ahead + block * _BLOCK + np.arange(_BLOCK), self.every)
        angle, start = np.empty(_BLOCK), np.empty((_BLOCK, 2))
        for throw in np.unique(throws):
            angle[throws == throw], start[throws == throw] = self._thrown(int(throw))
        share = since / self.every
        angle += np.pi * share
        turned = np.stack(
            [
                np.cos(angle) * place[:, 0] - np.sin(angle) * place[:, 1],
                np.sin(angle) * place[:, 0] + np.cos(angle) * place[:, 1],
            ],
            axis=1,
        )
        path = np.stack([np.cos(2 * np.pi * share) - 1, np.sin(4 * np.pi * share)], axis=1)
        return start + turned + _PATH * path, codes

    def _thrown(self, throw: int) -> tuple[float, NDArray[np.float64]]:
        """Return how the pair lies after a throw: its angle, and where it starts from."""
        if throw == 0:
            return 0.0, np.zeros(2)
        chance = np.random.default_rng([self.seed, 1, throw])
        return chance.uniform(-0.15, 0.15) * np.pi, chance.uniform(-0.5, 0.5, 2)
