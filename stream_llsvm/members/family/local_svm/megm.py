"""The full linear map, learned online: MEGM, LAS section III.

    d_j = |A (x - v_j)|^2                                     LAS III, d^2 = (Ax - Ay)'(Ax - Ay)
    p_j = exp(-beta d_j) / sum_l exp(-beta d_l)
    y^  = sum_j p_j y_j                                       the soft vote, LAS section I
    E   = sum_c (y_c - y^_c)^2                                its mean squared error
    A  -= rate dE/dA,   dE/dA = 4 beta sum_j e_j A (x - v_j)(x - v_j)'
    e_j = p_j ((y - y^)_(class of j) - (y - y^) . y^)

One step per record, on its nearest neighbours. Steps are divided by the root of a faded sum of
squared gradients, and A keeps a root mean square singular value of 1: only proportions and
directions are learned, how far is far is beta's business.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel

RATE = 0.02
FADE = 0.99
#: Of a feature's difference, in units of the neighbours' usual distance: what is farther off is
#: an outlier, which must not turn the map.
FARTHEST = 3.0
#: Votes that are right by so much have nothing to teach.
LEAST_ERROR = 1e-4


@kernel
def vote_errors(
    distance: Array, labels: Array, near: Array, label: int, beta: Real, vote: Array, errors: Array
) -> Real:
    """Fill vote with the soft vote y^ and errors with e_j; returns E."""
    vote[:] = 0
    total = 0.0
    for j in range(distance.size):
        errors[j] = math.exp(-beta * (distance[j] - distance[0]))
        total += errors[j]
    for j in range(distance.size):
        errors[j] /= total
        vote[int(labels[near[j]])] += errors[j]
    inner, squares = vote[label], 1 - 2 * vote[label]
    for c in range(vote.size):
        inner -= vote[c] * vote[c]
        squares += vote[c] * vote[c]
    for j in range(distance.size):
        c = int(labels[near[j]])
        errors[j] *= (1.0 if c == label else 0.0) - vote[c] - inner
    return squares


@kernel
def gradient_of(
    matrix: Array,
    x: Array,
    store: Array,
    near: Array,
    errors: Array,
    beta: Real,
    rows: Array,
    gradient: Array,
) -> None:
    """Fill gradient with dE/dA; ``store`` holds the neighbours, by columns."""
    width, apart, mapped = matrix.shape[0], rows[0], rows[1]
    gradient[:] = 0
    farthest = FARTHEST / math.sqrt(beta)
    for j in range(near.size):
        for i in range(width):
            d = x[i] - store[i, near[j]]
            apart[i] = min(max(d, -farthest), farthest)
        for r in range(width):
            total = np.float32(0)
            row = matrix[r]
            for i in range(width):
                total += row[i] * apart[i]
            mapped[r] = total
        for r in range(width):
            push = np.float32(4 * beta * errors[j] * mapped[r])
            row = gradient[r]
            for i in range(width):
                row[i] += push * apart[i]


@kernel
def descend(matrix: Array, effort: Array, gradient: Array, importance: Real) -> None:
    """One step on A; ``effort`` is the faded sum of squared gradients, one number."""
    width = matrix.shape[0]
    square = 0.0
    for r in range(width):
        for i in range(width):
            square += float(gradient[r, i]) * gradient[r, i]
    effort[0] = FADE * effort[0] + (1 - FADE) * square
    if effort[0] <= 0:
        return
    rate = np.float32(importance * RATE / math.sqrt(effort[0]))
    size = 0.0
    for r in range(width):
        for i in range(width):
            matrix[r, i] -= rate * gradient[r, i]
            size += float(matrix[r, i]) * matrix[r, i]
    shrink = np.float32(math.sqrt(width / size)) if size > 0 else np.float32(1)
    for r in range(width):
        for i in range(width):
            matrix[r, i] *= shrink
