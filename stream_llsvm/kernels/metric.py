"""A distance learned online: how much each feature counts, from which neighbours were right.

    d(x, v) = sum_i a_i^2 (x_i - v_i)^2
    p       = share of the label among the neighbours, each counted by exp(-beta d)
    a      += RATE / sqrt(faded sum of squared gradients) * d log p / d a

That is the gradient of the soft k-NN vote's log loss, as MEGM has it in LAS, for a diagonal metric
and one record at a time. ``a`` keeps a root mean square of 1: only proportions are learned.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel

RATE = 0.03
FADE = 0.999
SMALLEST, LARGEST = 0.05, 5.0
FARTHEST = 10.0
# Neighbours of one kind only have nothing to teach: all of the label, or (nearly) none.
LEAST, MOST = 1e-6, 0.999
#: The search uses the metric as it was at the last multiple of so many records.
PERIOD = 64


@kernel
def neighbour_gradient(distance: Array, same: Array, beta: Real, lessons: Array) -> bool:
    """Fill ``lessons`` with the log loss's gradient by each ``-beta d_j``; false if it is zero.

    That is q_j - [same label] q_j / p: a neighbour's share of all, less that of its kind.
    """
    total, kind = 0.0, 0.0
    for j in range(distance.size):
        lessons[j] = math.exp(-beta * (distance[j] - distance[0]))
        total += lessons[j]
        if same[j]:
            kind += lessons[j]
    if not LEAST * total < kind < MOST * total:
        return False
    for j in range(distance.size):
        share = lessons[j] / total
        lessons[j] = share - (lessons[j] / kind if same[j] else 0.0)
    return True


@kernel
def learn_metric(
    scale: Array,
    effort: Array,
    x: Array,
    store: Array,
    near: Array,
    lessons: Array,
    beta: Real,
    importance: Real,
) -> None:
    """One step on each feature's scale; ``store`` holds the neighbours, by columns."""
    squares = 0.0
    for i in range(x.size):
        gradient = 0.0
        values = store[i]
        for j in range(near.size):
            t = x[i] - values[near[j]]
            gradient += lessons[j] * min(beta * t * t, FARTHEST)
        gradient *= scale[i]
        effort[i] = FADE * effort[i] + gradient * gradient
        a = scale[i] + importance * RATE * gradient / math.sqrt(effort[i] + 1e-6)
        scale[i] = min(max(a, SMALLEST), LARGEST)
    for i in range(scale.size):
        squares += scale[i] * scale[i]
    rms = math.sqrt(squares / scale.size)
    for i in range(scale.size):
        scale[i] = np.float32(scale[i] / rms)
