"""Surprise: two clocks that tell a change from noise, so that nothing is forgotten in calm.

Steps that shorten with what was learned suit a stream that stays as it is, and after a change they
need as long again. So whoever takes them asks whether its losses are greater than it expects:

    x = l - e                       a loss, less its mean; v is its variance, both by the prediction
    s += f (x - s)                  S = (1 - f)^2 S + f^2 v         S is the variance of s
    keep = KEEP  while  s > Z sqrt(S) + MARGIN                      of all that was learned

once with a fast clock (f = 1/50: an abrupt change, told after tens of records), once with a slow
one (f = 1/500: a slow one). Thresholds are in standard deviations: free of units, and of how noisy
the stream is. A record of weight w moves clocks as w records would, f = 1 - (1 - f)^w, and none
moves one by more than half of what is an alarm: a single record is none.

Who says probabilities p knows e and v: `kept_by_chance`. Who does not compares its losses (1 if
wrong, else 0; of numbers the squared error, in units of the usual one) with their own running mean
and variance, over 1/PACE records: `forget_steps`, for machines with steps of 1 / (l2 (t + t0)).
It shortens t, never below the last LEAST records, nor where a step would be longer than one.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel

#: What a clock keeps: the fast and the slow mean of the excess, and the variance of each.
FAST, SLOW, FAST_VARIANCE, SLOW_VARIANCE = range(4)
CLOCKS = 4
#: Behind them, of who compares losses: the weight of all records, the mean loss and mean squared
#: one, and how many steps are forgotten.
WEIGHT, USUAL, SQUARED, FORGOTTEN = range(4, 8)
STEP_CLOCKS = 8

FAST_RATE, FAST_Z, FAST_MARGIN, FAST_KEEP = 1 / 50, 8.0, 0.02, 0.8
SLOW_RATE, SLOW_Z, SLOW_MARGIN, SLOW_KEEP = 1 / 500, 4.0, 0.01, 0.95
#: How fast the usual loss follows, and how many times as great a squared error may count.
PACE, MOST_USUAL = 1 / 5_000, 16.0
#: So many records are enough to begin again with: with fewer, machines of some hundred features
#: stay surprised by what they have not learned yet.
LEAST = 2_000.0
#: A probability counts as no less than this: of none is more lost.
FLOOR = 1e-4
MOST_LOST = -math.log(FLOOR)
#: The logarithm of less is not taken, and a usual squared error below the other is none.
TINY, NOTHING = 1e-300, 1e-150


@kernel
def is_late(
    clock: Array, at: int, excess: Real, variance: Real, rate: Real, z: Real, margin: Real
) -> bool:
    """Move one clock by a record; whether it has gone too far.

    Squares spare the roots, and branches that noise decides.
    """
    spread = (1 - rate) * (1 - rate) * clock[at + FAST_VARIANCE] + rate * rate * variance
    move, square = rate * (excess - clock[at]), z * z * spread
    beyond = 2 * move - margin
    if beyond * abs(beyond) > square:
        move = 0.5 * (math.sqrt(square) + margin)
    now = clock[at] + move
    clock[at], clock[at + FAST_VARIANCE] = now, spread
    return (now - margin) * abs(now - margin) > square


@kernel
def kept(clock: Array, excess: Real, variance: Real, weight: Real) -> float:
    """Move both clocks by a record; returns how much of what was learned is kept."""
    fast, slow, keep = FAST_RATE, SLOW_RATE, 1.0
    if weight != 1:
        fast, slow = 1 - (1 - fast) ** weight, 1 - (1 - slow) ** weight
    if is_late(clock, SLOW, excess, variance, slow, SLOW_Z, SLOW_MARGIN):
        keep = SLOW_KEEP
    if is_late(clock, FAST, excess, variance, fast, FAST_Z, FAST_MARGIN):
        keep = FAST_KEEP
    return keep ** min(weight, 1.0) if keep < 1 else 1.0


@kernel
def kept_by_chance(clock: Array, scores: Array, chance: Array, label: int, weight: Real) -> float:
    """Return how much is kept by who said ``chance``, the softmax of ``scores``."""
    shift = math.log(max(chance[label], TINY)) - scores[label]  # log p of all, for one logarithm
    expected, square = 0.0, 0.0
    for c in range(chance.size):
        lost = max(min(-shift - scores[c], MOST_LOST), 0.0)
        expected += chance[c] * lost
        square += chance[c] * lost * lost
    loss = max(min(-shift - scores[label], MOST_LOST), 0.0)
    return kept(clock, loss - expected, max(square - expected * expected, 0.0), weight)


@kernel
def kept_by_loss(clock: Array, lost: Real, of_numbers: bool, weight: Real) -> float:
    """Return how much is kept by who lost this, and usually loses what the clock says."""
    usual, square, known = clock[USUAL], clock[SQUARED], clock[WEIGHT] > 0
    if of_numbers:
        known = known and usual > NOTHING
        lost = min(lost, MOST_USUAL * usual) if known else lost
    clock[WEIGHT] += weight
    pace = weight * PACE
    if clock[WEIGHT] * PACE < 1:
        pace = weight / clock[WEIGHT]
    pace = min(pace, 1.0)
    clock[USUAL] += pace * (lost - usual)
    clock[SQUARED] += pace * (lost * lost - square)
    if not known:
        return 1.0
    per = 1 / usual if of_numbers else 1.0
    usual *= per
    return kept(clock, lost * per - usual, max(square * per * per - usual * usual, 0.0), weight)


@kernel
def forget_steps(clock: Array, steps: Real, keep: Real, least: Real) -> None:
    """Let t = steps - forgotten become so much of itself, or ``least``."""
    t = steps - clock[FORGOTTEN]
    if t > least:
        clock[FORGOTTEN] += t - max(keep * t, least)


@kernel
def least_steps(l2: Real, t0: Real, batch_size: Real) -> float:
    """Return how many steps are never forgotten."""
    return max(max(LEAST / batch_size, 1 / l2) - t0, 1.0)
