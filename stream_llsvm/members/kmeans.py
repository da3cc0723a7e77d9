"""K-means for a warm start: anchors from history, all of it at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

_BLOCK = 4096
_ROUNDS = 20


def kmeans(z: Floats, n_centres: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return centres and how many rows are nearest to each.

    Starts from k-means++ (Arthur & Vassilvitskii, 2007). Fewer centres come back if there are
    fewer distinct rows.
    """
    centres = _spread_out(z, n_centres, rng)
    counts = np.zeros(len(centres))
    for _ in range(_ROUNDS):
        nearest = _nearest(z, centres)
        counts = np.bincount(nearest, minlength=len(centres)).astype(np.float64)
        sums = np.zeros(centres.shape)
        order = np.argsort(nearest, kind="stable")
        starts = np.flatnonzero(np.diff(nearest[order], prepend=-1))
        sums[nearest[order][starts]] = np.add.reduceat(z[order], starts, axis=0)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        still = np.allclose(moved, centres, atol=1e-4)
        centres = moved.astype(z.dtype)
        if still:
            break
    return centres, counts


def _spread_out(z: Floats, n_centres: int, rng: np.random.Generator) -> Floats:
    chosen = [int(rng.integers(len(z)))]
    squares = (z * z).sum(axis=1)
    distance = _distances(z, squares, chosen[0])
    for _ in range(n_centres - 1):
        total = distance.sum()
        if total <= 0:
            break
        chosen.append(int(np.searchsorted(np.cumsum(distance), rng.random() * total)))
        chosen[-1] = min(chosen[-1], len(z) - 1)
        distance = np.minimum(distance, _distances(z, squares, chosen[-1]))
    return z[chosen].copy()


def _distances(z: Floats, squares: Floats, row: int) -> Floats:
    """Return all rows' squared distances to one of them; 0 where only rounding differs."""
    d = squares - 2 * (z @ z[row]) + squares[row]
    return np.where(d > 1e-5 * (squares + squares[row]), d, 0.0).astype(np.float64)


def _nearest(z: Floats, centres: Floats) -> NDArray[np.int64]:
    squares = (centres * centres).sum(axis=1) / 2
    found = [
        np.argmin(squares - z[i : i + _BLOCK] @ centres.T, axis=1) for i in range(0, len(z), _BLOCK)
    ]
    return np.concatenate(found)
