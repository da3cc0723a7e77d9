"""Which fields contexts are made of together: all small sets, and of larger ones a fixed lot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

_MIX, _STEP = np.uint64(0x3F58476D1CE4E5B9), np.uint64(0x14D049BB133111EB)
_FIRST, _SECOND = np.uint64(29), np.uint64(32)


def sets_of(hashes: Sequence[int], most: int, largest: int) -> list[tuple[int, ...]]:
    """Return the sets of these fields, by their places: each alone, pairs, threes and so on.

    As long as there is room; of the last size that does not fit whole, those first by a hash of
    their fields, so that the choice does not hang on the order in which fields appear.

    Parameters
    ----------
    hashes
        A number for each field.
    most
        How many sets there may be; at least as many as fields.
    largest
        How many fields a set has at most.

    Examples
    --------
    >>> sets_of([5, 7, 9], 6, 5)
    [(0,), (1,), (2,), (1, 2), (0, 2), (0, 1)]

    """
    chosen: list[tuple[int, ...]] = [(i,) for i in range(len(hashes))]
    for size in range(2, largest + 1):
        if len(chosen) >= most:
            break
        together = chain.from_iterable(combinations(range(len(hashes)), size))
        fields = np.fromiter(together, np.int64).reshape(-1, size)
        drawn = _drawn(np.array(hashes, dtype=np.int64).view(np.uint64)[fields])
        lot = fields[drawn.argsort(kind="stable")[: most - len(chosen)]]
        chosen += map(tuple, lot.tolist())
    return chosen


def _drawn(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers by which sets are drawn; a set is a row."""
    h = hashes.sum(axis=1) * _MIX
    h = (h ^ (h >> _FIRST)) * _STEP
    return np.asarray(h ^ (h >> _SECOND))
