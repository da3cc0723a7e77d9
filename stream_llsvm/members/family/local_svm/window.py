"""The window: records that are remembered, as they are and as the map sees them.

Both lie by columns, so that the search runs along a feature over all records.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.random import below
from stream_llsvm.kernels.search import smallest, subtract_products

LABEL, STAMP, WORTH, NORM = range(4)
FACTS = 4
PLAIN, DIAGONAL, FULL = range(3)
SLIDING, RESERVOIR = range(2)


@kernel
def map_record(kind: int, matrix: Array, x: Array, mapped: Array) -> None:
    """Fill mapped with A x."""
    if kind == DIAGONAL:
        for i in range(x.size):
            mapped[i] = matrix[0, i] * x[i]
    elif kind == FULL:
        for r in range(x.size):
            total = np.float32(0)
            row = matrix[r]
            for i in range(x.size):
                total += row[i] * x[i]
            mapped[r] = total
    else:
        for i in range(x.size):
            mapped[i] = x[i]


@kernel
def map_window(
    kind: int, matrix: Array, store: Array, mapped: Array, facts: Array, held: int
) -> None:
    """Bring all records, and their norms, to what the map now says."""
    width = store.shape[0]
    for j in range(held):
        facts[NORM, j] = 0
    for r in range(width):
        out = mapped[r, :held]
        if kind == DIAGONAL:
            values, a = store[r], matrix[0, r]
            for j in range(held):
                out[j] = a * values[j]
        else:
            out[:] = 0
            for i in range(width):
                values, a = store[i], matrix[r, i]
                for j in range(held):
                    out[j] += a * values[j]
        for j in range(held):
            facts[NORM, j] += out[j] * out[j]


@kernel
def search(m: Any, seen: Array, held: int, k: int) -> None:
    """Find the records nearest to the query, nearest first, and their squared distances."""
    x, factors, distance = m.query, m.rows[0], m.distance[:held]
    norm = np.float32(0)
    for i in range(x.size):
        factors[i] = 2 * x[i]
        norm += x[i] * x[i]
    for j in range(held):
        distance[j] = np.float32(m.facts[NORM, j]) + norm
    none = m.best[0, :0]  # no list of columns: all of them
    subtract_products(seen, factors, none, distance)
    smallest(distance, m.least, m.best, m.near[:k], m.nearest[:k])


@kernel
def neighbours_asked(per_doubling: Real, held: int) -> int:
    """K = k log2(N), LAS section III; no more than there are."""
    if held < 2:
        return held
    return min(held, math.ceil(per_doubling * math.log2(held)))


@kernel
def place_of(way: int, window: int, head: int, held: int, offered: Real, source: Array) -> int:
    """Return where the next record belongs, -1 if a reservoir leaves it out."""
    if held < window or way == SLIDING:
        return head
    place = below(source, int(offered))
    return place if place < window else -1
