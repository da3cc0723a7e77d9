"""Which fields contexts are made of together: all small sets, and of larger ones a fixed lot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

_WORD = 2**64
_MIX, _STEP = 0x3F58476D1CE4E5B9, 0x14D049BB133111EB


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
        together = combinations(range(len(hashes)), size)
        lot = sorted(together, key=lambda fields: (_drawn([hashes[i] for i in fields]), fields))
        chosen += lot[: most - len(chosen)]
    return chosen


def _drawn(hashes: Sequence[int]) -> int:
    """Return the number by which a set is drawn."""
    h = sum(hashes) * _MIX % _WORD
    h = (h ^ (h >> 29)) * _STEP % _WORD
    return h ^ (h >> 32)
