"""Joining what the mixer makes of all experts with those that come on top of the others.

    logit_c = a log p_c + b H_c                 p: the mixer's; H: what comes on top says by itself
    a, b   += 0.1 / sqrt(1 + faded sum of squared gradients) * d log(joint p of the label) / d a, b

The mixer adds up many experts that know the same, and must be slow about each; where names decide,
one expert knows nearly all. Two numbers find out soon whom to follow. Until something on top has
spoken, and wherever it says nothing, the mixer's answer stays as it is, to the bit.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.mixer import FADE, ON_TOP_SIZE, softmax

# Rows of the state; and its columns: the share of all together, and of what comes on top.
SHARE, EFFORT = range(2)
ALL, OVER = range(2)
ROWS, COLUMNS = 2, 2
#: What they are when something on top has spoken for the first time.
FIRST_ALL, FIRST_OVER = 0.7, 0.3
RATE, MOST = 0.1, 4.0


@kernel
def speaks(squares: Array, counted: int) -> bool:
    """Whether any of the experts behind so many others says something."""
    for e in range(max(1, counted), squares.size):  # noqa: SIM110  # numba knows no generators
        if squares[e] != 0:
            return True
    return False


@kernel
def height(z: Array, counted: int, c: int) -> Real:
    """Return what comes on top says of a class."""
    total = 0.0
    for e in range(counted, z.shape[0]):
        total += z[e, c]
    return ON_TOP_SIZE * total


@kernel
def join(joined: Array, z: Array, squares: Array, counted: int, mixed: Array, proba: Array) -> int:
    """Fill proba from the mixer's; returns the likeliest class, or -1: all is as the mixer says."""
    for c in range(proba.size):
        proba[c] = mixed[c]
    if joined[SHARE, OVER] == 0 or not speaks(squares, counted):
        return -1
    best = 0
    for c in range(proba.size):
        own = joined[SHARE, OVER] * height(z, counted, c)
        proba[c] = joined[SHARE, ALL] * math.log(mixed[c]) + own
        if proba[c] > proba[best]:
            best = c
    softmax(proba)
    return best


@kernel
def learn_join(
    joined: Array,
    z: Array,
    squares: Array,
    counted: int,
    mixed: Array,
    proba: Array,
    label: int,
    importance: Real,
) -> None:
    """One logistic step on both shares; the first time they only begin."""
    if not speaks(squares, counted):
        return
    if joined[SHARE, OVER] == 0:
        joined[SHARE, ALL], joined[SHARE, OVER] = FIRST_ALL, FIRST_OVER
        return
    slope, own = math.log(mixed[label]), height(z, counted, label)
    for c in range(proba.size):
        slope -= proba[c] * math.log(mixed[c])
        own -= proba[c] * height(z, counted, c)
    for which in range(COLUMNS):
        gradient = slope if which == ALL else own
        joined[EFFORT, which] = FADE * joined[EFFORT, which] + gradient * gradient
        step = importance * RATE * gradient / math.sqrt(1 + joined[EFFORT, which])
        # Not 0: that it has spoken is not forgotten.
        joined[SHARE, which] = min(max(joined[SHARE, which] + step, 1e-3), MOST)
