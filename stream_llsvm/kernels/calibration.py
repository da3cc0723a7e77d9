"""What a probability means: how sure the mixer is, brought to how often it is right.

    m    = log odds of the likeliest class, 0 where all are alike
    t    = the table, pooled where it falls: isotonic regression
    p'   = (1 - e) t(m) + e (1 - 1 / (3 + m)), t linear between BINS knots from 0 to WIDEST
    table at the two knots around m += share * max(SLOWEST, 1 / count) * (right - table)

The other classes keep their proportions, and the likeliest stays the likeliest. When a class
appears, the table's odds are shared with it as the mixer's are. Where labels are
noisy a sum of experts is surer than it can be; where the mixer is right already, little changes.

Who is surer is never told to be less likely right: answers are ranked. The table alone would let
records tie, beyond its last knot and where it has seen no miss for long; so a very small part of
the answer, e = ORDERED, is a curve that goes on rising, so slowly that floats can tell its values.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel

RIGHT, COUNT = range(2)
BINS = 17
WIDEST = 8.0
#: The table begins with the mixer's own answers, as if each had been seen so often.
PRIOR = 200.0
SLOWEST = 0.002
#: How much of an answer is the curve that keeps the order.
ORDERED = 1e-5


@kernel
def calibrate(
    table: Array, rising: Array, proba: Array, best: int, label: int, importance: Real
) -> None:
    """Calibrate the probabilities in place; learn the table if there is a label (not -1).

    ``rising`` is scratch, a number a knot.
    """
    classes = proba.size
    if classes < 2:
        return
    rest, second = 0.0, 0.0
    for c in range(classes):
        if c != best:
            rest += proba[c]
            second = max(second, proba[c])
    odds = max(math.log(proba[best] * (classes - 1) / rest), 0.0)
    place = min(odds, WIDEST) / WIDEST * (BINS - 1)
    knot = min(int(place), BINS - 2)
    share = place - knot
    put_in_order(table, rising)
    right = rising[knot] + share * (rising[knot + 1] - rising[knot])
    if label >= 0:
        hit = 1.0 if label == best else 0.0
        learn_knot(table, knot, importance * (1 - share), hit)
        learn_knot(table, knot + 1, importance * share, hit)
    wrong = min(1 - right, rest / (rest + second))
    wrong += ORDERED * (1 / (3 + odds) - wrong)
    for c in range(classes):
        proba[c] *= wrong / rest
    proba[best] = 1 - wrong


@kernel
def put_in_order(table: Array, rising: Array) -> None:
    """Fill ``rising`` with the table, its knots pooled by what they remember where they fall."""
    for knot in range(BINS):
        mean, known = table[RIGHT, knot], min(table[COUNT, knot], 1 / SLOWEST)
        first = knot
        while first > 0 and rising[first - 1] > mean:
            first -= 1
            more = min(table[COUNT, first], 1 / SLOWEST)
            known += more
            mean += more / known * (rising[first] - mean)
        for pooled in range(first, knot + 1):
            rising[pooled] = mean


@kernel
def learn_knot(table: Array, knot: int, share: Real, hit: Real) -> None:
    """Draw a knot towards what happened."""
    table[COUNT, knot] += share
    rate = min(1.0, share * max(SLOWEST, 1 / table[COUNT, knot]))
    table[RIGHT, knot] += rate * (hit - table[RIGHT, knot])
