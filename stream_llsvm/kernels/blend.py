"""Experts that tell a number: how much each counts, by how it has done of late.

    loss_e += max(FLOOR, 1 / n) * (loss of e - loss_e)
    share_e = exp(-TRUST (loss_e / min loss - 1)), divided by their sum

An answer is a mean of theirs: no blend goes where no expert goes.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel

#: How fast an expert's loss is forgotten, at last.
FLOOR = 0.005
#: An expert whose loss is a tenth above the best one's counts a seventh of it.
TRUST = 20.0


@kernel
def blend(losses: Array, out: Array, farthest: Real, shares: Array) -> Real:
    """Fill shares, and return the experts' mean by them, as far as an answer may go."""
    if losses.size == 1:
        shares[0] = 1
        return min(max(float(out[0]), -farthest), farthest)
    least = losses[0]
    for e in range(1, losses.size):
        least = min(least, losses[e])
    total = 0.0
    for e in range(losses.size):
        worse = losses[e] / least - 1 if least > 0 else (0.0 if losses[e] == 0 else 1.0)
        shares[e] = math.exp(-TRUST * min(worse, 30.0))
        total += shares[e]
    mean = 0.0
    for e in range(losses.size):
        shares[e] /= total
        mean += shares[e] * out[e]
    return min(max(mean, -farthest), farthest)


@kernel
def follow_losses(
    losses: Array, seen: Real, out: Array, y: Real, farthest: Real, importance: Real
) -> None:
    """Note how far off each expert was."""
    pace = min(1.0, importance * max(FLOOR, 1 / seen))
    for e in range(losses.size):
        rest = min(abs(y - out[e]), farthest)
        losses[e] += pace * (rest - losses[e])
