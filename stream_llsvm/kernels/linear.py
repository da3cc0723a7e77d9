"""The inner loops that nearly all time is spent in, for dense and for sparse records.

A record is ``x`` (its scaled values) and ``at`` (the column of each). An empty ``at`` means that
``x`` holds every column in order; otherwise only the columns named are touched, so that a record
that names 75 features of 47,000 costs 75 steps. Where ``x`` is longer than ``at``, it holds pieces
of so many columns, and ``at`` says where each begins (``pieces.py``).
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel, outlined
from stream_llsvm.kernels.piece_loops import add_pieces, scores_of_pieces
from stream_llsvm.kernels.vectors import add_multiple


@kernel
def copy_to(out: Array, x: Array) -> None:
    """``out[i] = x[i]``; numba's own way takes a second to compile, for its error message."""
    for i in range(x.size):
        out[i] = x[i]


@kernel
def greatest(x: Array) -> Real:
    """Return the greatest element."""
    best = x[0]
    for i in range(1, x.size):
        best = max(best, x[i])
    return best


@kernel
def place_of_greatest(x: Array) -> int:
    """Return where the greatest element is, the first of several."""
    best = 0
    for i in range(1, x.size):
        if x[i] > x[best]:
            best = i
    return best


@kernel
def average_named(mean: Array, w: Array, x: Array, at: Array, rate: Real) -> None:
    """``mean[i] += rate * (w[i] - mean[i])`` in the columns that a record names."""
    for t in range(x.size):
        i = at[t] if at.size > 0 else t
        mean[i] += rate * (w[i] - mean[i])


@kernel
def add_scaled(v: Array, x: Array, at: Array, factor: Real) -> None:
    """``v[i] += factor * x[i]``."""
    if at.size == 0:
        add_multiple(v, x, factor)
    elif x.size > at.size:
        add_pieces(v, x, at, factor)
    else:
        for i in range(x.size):
            v[at[i]] += factor * x[i]


@outlined
def scores_of(weights: Array, x: Array, at: Array, out: Array) -> None:
    """``out[c] = sum_i weights[c, i] * x[i]``.

    Dense records four rows at a time, which is twice as fast as one by one: the record is read
    once for them, and four sums do not wait for each other.
    """
    if at.size == 0:
        fours = weights.shape[0] - weights.shape[0] % 4
        for c in range(0, fours, 4):
            w0, w1, w2, w3 = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
            s0, s1, s2, s3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for i in range(x.size):
                v = x[i]
                s0 += w0[i] * v
                s1 += w1[i] * v
                s2 += w2[i] * v
                s3 += w3[i] * v
            out[c], out[c + 1], out[c + 2], out[c + 3] = s0, s1, s2, s3
        for c in range(fours, weights.shape[0]):
            total = np.float32(0)
            for i in range(x.size):
                total += weights[c, i] * x[i]
            out[c] = total
    elif x.size > at.size:
        scores_of_pieces(weights, x, at, out)
    else:
        for c in range(weights.shape[0]):
            total = np.float32(0)
            for i in range(x.size):
                total += weights[c, at[i]] * x[i]
            out[c] = total


@kernel
def add_outer(weights: Array, step: Array, x: Array, at: Array) -> None:
    """``weights[c, i] += step[c] * x[i]``, only where a step is not zero."""
    for c in range(weights.shape[0]):
        s = step[c]
        if s == 0:
            continue
        add_scaled(weights[c], x, at, s)
