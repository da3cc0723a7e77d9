"""Histograms of seconds: counted in fine buckets, exported in coarse ones, asked for quantiles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

_PER_OCTAVE = 4
_OCTAVES = 26
BOUNDS = [1e-6 * 2 ** (i / _PER_OCTAVE) for i in range(_PER_OCTAVE * _OCTAVES + 1)]
Counts = list[int]


class Histogram:
    """How many records took how long: from a microsecond to a minute, to about a fifth exactly.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.observe(0.003, times=99)
    >>> histogram.observe(0.5)
    >>> f"{quantile(histogram.counts, 0.5):.3f}"
    '0.003'
    >>> histogram.coarse()[-1], round(histogram.sum, 3)
    ((inf, 100), 0.797)

    """

    def __init__(self, counts: Sequence[int] = (), total: float = 0.0) -> None:
        self.counts: Counts = list(counts) or [0] * (len(BOUNDS) + 1)
        self.sum = total

    def observe(self, seconds: float, times: int = 1) -> None:
        """Count something that took so long, so many times."""
        self.counts[bisect_left(BOUNDS, seconds)] += times
        self.sum += seconds * times

    def copy(self) -> Histogram:
        """Return one that does not change any more."""
        return Histogram(self.counts, self.sum)

    def coarse(self) -> list[tuple[float, int]]:
        """Return upper bounds and how many were not above them, as Prometheus wants it."""
        below, found = 0, []
        for i, bound in enumerate(BOUNDS):
            below += self.counts[i]
            if i % _PER_OCTAVE == 0:
                found.append((bound, below))
        return [*found, (float("inf"), below + self.counts[-1])]


def quantile(counts: Sequence[int], share: float) -> float | None:
    """Return the seconds below which this share lies; None of nothing."""
    total = sum(counts)
    if total == 0:
        return None
    wanted, below = share * total, 0
    for i, here in enumerate(counts):
        if here and below + here >= wanted:
            low = BOUNDS[i - 1] if i > 0 else 0.0
            high = BOUNDS[min(i, len(BOUNDS) - 1)]
            return low + (high - low) * (wanted - below) / here
        below += here
    return BOUNDS[-1]


def since(now: Sequence[int], then: Sequence[int]) -> Counts:
    """Return what was counted between two looks."""
    return [a - b for a, b in zip(now, then, strict=True)]
