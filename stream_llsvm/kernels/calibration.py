"""What a probability means: how sure the mixer is, brought to how often it is right.

    m    = log odds of the likeliest class, 0 where all are alike
    p'   = table(m), piecewise linear between BINS knots from 0 to WIDEST
    table at the two knots around m += share * max(SLOWEST, 1 / count) * (right - table)

The other classes keep their proportions, and the likeliest stays the likeliest. Where labels are
noisy a sum of experts is surer than it can be; where the mixer is right already, little changes.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.jit import Array, Real, kernel

RIGHT, COUNT = range(2)
BINS = 17
WIDEST = 8.0
#: The table begins with the mixer's own answers, as if each had been seen so often.
PRIOR = 200.0
SLOWEST = 0.002
#: So little is left for the other classes that their proportions mean nothing.
NOTHING = 1e-9


@kernel
def calibrate(table: Array, proba: Array, best: int, label: int, importance: Real) -> None:
    """Calibrate the probabilities in place; learn the table if there is a label (not -1)."""
    classes = proba.size
    if classes < 2:
        return
    rest, second = 0.0, 0.0
    for c in range(classes):
        if c != best:
            rest += proba[c]
            second = max(second, proba[c])
    odds = math.log(proba[best] * (classes - 1) / max(rest, NOTHING))
    place = min(max(odds, 0.0), WIDEST) / WIDEST * (BINS - 1)
    knot = min(int(place), BINS - 2)
    share = place - knot
    right = (1 - share) * table[RIGHT, knot] + share * table[RIGHT, knot + 1]
    if label >= 0:
        hit = 1.0 if label == best else 0.0
        learn_knot(table, knot, importance * (1 - share), hit)
        learn_knot(table, knot + 1, importance * share, hit)
    if rest > NOTHING:
        right = max(right, second / (rest + second))
    for c in range(classes):
        if rest > NOTHING:
            proba[c] *= (1 - right) / rest
        else:
            proba[c] = (1 - right) / (classes - 1)
    proba[best] = right


@kernel
def learn_knot(table: Array, knot: int, share: Real, hit: Real) -> None:
    """Draw a knot towards what happened."""
    table[COUNT, knot] += share
    rate = min(1.0, share * max(SLOWEST, 1 / table[COUNT, knot]))
    table[RIGHT, knot] += rate * (hit - table[RIGHT, knot])
