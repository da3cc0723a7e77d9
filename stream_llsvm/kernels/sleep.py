"""Who works: with many features or classes, members that the mixer can do without sleep.

Only where all members together cost more than the budget. Every so many records the least worth of
those awake goes to sleep, if the loss would hardly be greater without it; from time to time the one
that has slept longest is woken for a while, since the stream may have changed. What a member knows
it keeps.

A record that names few of many features costs what it names, not the width: a value in a column of
its own is fetched with the line of the cache it lies in, and counts as so many.
"""

from __future__ import annotations

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE, WORTH
from stream_llsvm.kernels.plan import MEMBER_ROW, MODEL_ROW

#: Records between two decisions.
TERM = 512
#: Terms between two awakenings.
TERMS_ASLEEP = 16
#: Numbers in a line of the cache.
LINE = 16
#: A member whose absence would cost fewer nats a record is not needed.
NEEDED = 0.002


@kernel
def decide(facts: Array, plan: Array, learned: Real, named: Real) -> None:
    """Send at most one member to sleep, wake at most one; records name so many features each.

    0 if that is not known: then all of them.
    """
    cost = 0.0
    for m in range(facts.shape[1]):
        if facts[AWAKE, m] > 0:
            cost += plan[1 + m, MEMBER_ROW.cost]
    if 0 < LINE * named < plan[0, MODEL_ROW.width]:
        cost *= LINE * named / plan[0, MODEL_ROW.width]
    least, sleeper, awake = -1, -1, 0
    for m in range(facts.shape[1]):
        if plan[1 + m, MEMBER_ROW.cost] == 0:
            continue
        if facts[AWAKE, m] == 0:
            if sleeper < 0 or facts[SINCE, m] < facts[SINCE, sleeper]:
                sleeper = m
            continue
        awake += 1
        settled = learned - facts[SINCE, m] >= TERM and facts[JUDGED, m] > 0
        if settled and (least < 0 or facts[WORTH, m] < facts[WORTH, least]):
            least = m
    dear = cost > plan[0, MODEL_ROW.budget] and awake > 1
    if dear and least >= 0 and facts[WORTH, least] < NEEDED:
        facts[AWAKE, least], facts[SINCE, least] = 0, learned
    if sleeper >= 0 and learned % (TERM * TERMS_ASLEEP) == 0:
        facts[AWAKE, sleeper], facts[SINCE, sleeper], facts[JUDGED, sleeper] = 1, learned, 0
