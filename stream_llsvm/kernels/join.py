"""Joining what the mixer makes of all experts with those that come on top of the others.

    logit_c = a log p_c + b H_c                 p: the mixer's; H: what comes on top says by itself
    a, b   += 0.1 / sqrt(1 + faded sum of squared gradients) * d log(joint p of the label) / d a, b

    gain   += max(0.002, 1 / n) (log joint p - log p of the label - gain)    n: of so many records

The mixer adds up many experts that know the same, and must be slow about each; where names decide,
one expert knows nearly all. Two numbers find out soon whom to follow. The joint answer is given
only while it gains. Until then, and wherever what comes on top says nothing, the mixer's answer
stays as it is, to the bit.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.mixer import FADE, ON_TOP_SIZE, softmax

# Rows of the state; and its columns: the share of all together, and of what comes on top. The third
# column has no share: what the joint answer has gained, and over how many records.
SHARE, EFFORT = range(2)
ALL, OVER, GAIN = range(3)
ROWS, COLUMNS = 2, 3
#: What they are when something on top has spoken for the first time.
FIRST_ALL, FIRST_OVER = 0.7, 0.3
RATE, MOST, GAIN_FADE = 0.1, 4.0, 0.998


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
def join(
    joined: Array, z: Array, squares: Array, counted: int, mixed: Array, joint: Array, proba: Array
) -> int:
    """Fill joint, and proba: from it while it gains, else from the mixer's.

    Returns the likeliest class, or -1: all is as the mixer says.
    """
    copy_to(proba, mixed)
    if joined[SHARE, OVER] == 0 or not speaks(squares, counted):
        return -1
    best = 0
    for c in range(joint.size):
        own = joined[SHARE, OVER] * height(z, counted, c)
        joint[c] = joined[SHARE, ALL] * math.log(mixed[c]) + own
        if joint[c] > joint[best]:
            best = c
    softmax(joint)
    if joined[SHARE, GAIN] <= 0:
        return -1
    copy_to(proba, joint)
    return best


@kernel
def learn_join(
    joined: Array,
    z: Array,
    squares: Array,
    counted: int,
    mixed: Array,
    joint: Array,
    label: int,
    importance: Real,
) -> None:
    """One logistic step on both shares, and follow the gain; the first time they only begin."""
    if not speaks(squares, counted):
        return
    if joined[SHARE, OVER] == 0:
        joined[SHARE, ALL], joined[SHARE, OVER] = FIRST_ALL, FIRST_OVER
        return
    slope, own = math.log(mixed[label]), height(z, counted, label)
    for c in range(joint.size):
        slope -= joint[c] * math.log(mixed[c])
        own -= joint[c] * height(z, counted, c)
    joined[EFFORT, GAIN] += 1
    pace = max(1 - GAIN_FADE, 1 / joined[EFFORT, GAIN])
    gained = math.log(joint[label]) - math.log(mixed[label])
    joined[SHARE, GAIN] += pace * (gained - joined[SHARE, GAIN])
    for which in range(GAIN):
        gradient = slope if which == ALL else own
        joined[EFFORT, which] = FADE * joined[EFFORT, which] + gradient * gradient
        step = importance * RATE * gradient / math.sqrt(1 + joined[EFFORT, which])
        # Not 0: that it has spoken is not forgotten.
        joined[SHARE, which] = min(max(joined[SHARE, which] + step, 1e-3), MOST)
