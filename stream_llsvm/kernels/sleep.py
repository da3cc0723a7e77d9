"""Who works: members that the mixer can do without rest, the dear ones sooner than the cheap.

Every so many records one member may change. Who rests is asked and taught on judged records only,
one in eight and later one in thirty-two, and adds nothing to the answer (``judge.py`` knows what it
would add): it costs as little, and still learns enough to be fair when it is asked again. Three
things wake it: its worth among those who work; its turn, since it may have been judged wrongly; and
errors that rise, which wake all at once, since the stream has changed.

A record that names few of many features costs what it names, not the width: a value in a column of
its own is fetched with the line of the cache it lies in, and counts as so many.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.judge import WORTH_FADE
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE, WORTH, WORTH_SQUARED
from stream_llsvm.kernels.plan import LEAVES_METRIC, MEMBER_ROW, MODEL_ROW, READS_METRIC

#: Records between two decisions.
TERM = 256
#: Terms between two awakenings.
TERMS_ASLEEP = 64
#: Numbers in a line of the cache.
LINE = 16
#: A member is needed if it is worth so many nats a record for each microsecond that it takes; where
#: all together cost more than the budget, so many in any case.
NEEDED_A_MICROSECOND, NEEDED = 0.001, 0.002
#: How often a member is judged before it may rest: so often with two classes, with more of them it
#: learns more slowly. Beyond the budget, and before it may wake, a few times are enough.
ENOUGH, A_FEW = 256, 64
#: After a change the worth of all counts as if they had been judged so often.
AFTER_A_CHANGE = 64
#: The model's errors: their mean of late, their usual mean, and how many records both are of.
LATELY, USUALLY, FOLLOWED = range(3)
ERROR_FACTS = 3
SHORT, LONG = 1 / 64, 1 / 2_000
#: Errors have risen if they are so many standard deviations above the usual.
RISEN = 3.5
FEWEST_FOLLOWED = 500


@kernel
def follow_errors(errors: Array, wrong: bool) -> None:
    """Follow how often the model is wrong."""
    errors[FOLLOWED] += 1
    miss = 1.0 if wrong else 0.0
    errors[LATELY] += max(SHORT, 1 / errors[FOLLOWED]) * (miss - errors[LATELY])
    errors[USUALLY] += max(LONG, 1 / errors[FOLLOWED]) * (miss - errors[USUALLY])


@kernel
def have_risen(errors: Array) -> bool:
    """Whether the model is wrong more often than it usually is; if so, that is the usual now."""
    if errors[FOLLOWED] < FEWEST_FOLLOWED:
        return False
    usual = min(max(errors[USUALLY], SHORT), 1 - SHORT)
    spread = math.sqrt(usual * (1 - usual) * SHORT / 2)
    if errors[LATELY] - errors[USUALLY] < RISEN * spread:
        return False
    errors[USUALLY] = errors[LATELY]
    return True


@kernel
def decide(facts: Array, errors: Array, plan: Array, learned: Real, named: Real) -> None:
    """Let at most one member rest, or wake one, or all; records name so many features each.

    0 if that is not known: then all of them.
    """
    members = facts.shape[1]
    if have_risen(errors):
        for m in range(members):
            if facts[AWAKE, m] == 0:
                wake(facts, m, learned)
        judge_anew(facts)
        return
    dear = is_dear(facts, plan, named)
    turn = learned % (TERM * TERMS_ASLEEP) == 0
    least, most, longest, awake = -1, -1, -1, 0
    least_gain, most_gain = 0.0, 0.0
    for m in range(members):
        price = share_named(plan, m, named) * plan[1 + m, MEMBER_ROW.price] / 1_000
        if price == 0 or facts[WORTH_SQUARED, m] == 0:
            continue  # it takes no time: by its price, or since it has nothing to say
        needed = max(NEEDED_A_MICROSECOND * price, NEEDED if dear else 0.0)
        worth, judged = facts[WORTH, m], facts[JUDGED, m]
        if facts[AWAKE, m] == 0:
            gain = worth - doubt(facts, m) - needed
            if judged >= A_FEW and gain > most_gain:
                most, most_gain = m, gain
            if longest < 0 or facts[SINCE, m] < facts[SINCE, longest]:
                longest = m
            continue
        awake += 0 if is_on_top(plan, m) else 1
        if dear:
            gain, settled = worth - needed, judged >= A_FEW
        else:
            gain = worth + doubt(facts, m) - needed
            settled = judged >= enough(plan) and not is_read(facts, plan, m)
        if settled and gain < least_gain:
            least, least_gain = m, gain
    if turn and longest >= 0:
        wake(facts, longest, learned)
    elif least >= 0 and (awake > 1 or is_on_top(plan, least)):
        facts[AWAKE, least], facts[SINCE, least], facts[JUDGED, least] = 0, learned, 0
        judge_anew(facts)
    elif most >= 0:
        wake(facts, most, learned)
        judge_anew(facts)


@kernel
def share_named(plan: Array, m: int, named: Real) -> Real:
    """Return which share of the cost of all features that a member sees a record has."""
    width = plan[1 + m, MEMBER_ROW.width]
    return LINE * named / width if 0 < LINE * named < width else 1.0


@kernel
def is_dear(facts: Array, plan: Array, named: Real) -> bool:
    """Whether those who work cost more than the budget."""
    cost = 0.0
    for m in range(facts.shape[1]):
        if facts[AWAKE, m] > 0:
            cost += share_named(plan, m, named) * plan[1 + m, MEMBER_ROW.cost]
    return cost > plan[0, MODEL_ROW.budget]


@kernel
def enough(plan: Array) -> Real:
    """Return how often a member has to be judged before it may rest."""
    return ENOUGH * math.sqrt(max(plan[0, MODEL_ROW.classes], 2) / 2)


@kernel
def is_read(facts: Array, plan: Array, which: int) -> bool:
    """Whether somebody who works reads the metric that a member leaves, and is worth so."""
    if plan[1 + which, MEMBER_ROW.metric] != LEAVES_METRIC:
        return False
    for m in range(facts.shape[1]):
        if facts[AWAKE, m] > 0 and plan[1 + m, MEMBER_ROW.metric] == READS_METRIC:
            return True
    return False


@kernel
def doubt(facts: Array, m: int) -> Real:
    """Return how far a member's worth may be off: the standard deviation of that mean."""
    variance = max(facts[WORTH_SQUARED, m] - facts[WORTH, m] * facts[WORTH, m], 0.0)
    return math.sqrt(variance / max(1.0, min(facts[JUDGED, m], 2 / (1 - WORTH_FADE))))


@kernel
def is_on_top(plan: Array, m: int) -> bool:
    """Whether a member comes on top of the others, so that it cannot be the only one."""
    counted = plan[0, MODEL_ROW.counted_experts]
    return plan[1 + m, MEMBER_ROW.first_expert] >= counted


@kernel
def wake(facts: Array, m: int, learned: Real) -> None:
    """Let a member work again; what it is worth among those who work is not known yet."""
    facts[AWAKE, m], facts[SINCE, m], facts[JUDGED, m] = 1, learned, 0


@kernel
def judge_anew(facts: Array) -> None:
    """Let what members are worth follow soon what it is after a change."""
    for m in range(facts.shape[1]):
        facts[JUDGED, m] = min(facts[JUDGED, m], AFTER_A_CHANGE)
