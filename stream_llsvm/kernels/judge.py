"""What each member is worth, judged on one record in eight.

How well it would do alone, with a small mixer of its own experts; and its worth: of one that works,
how much greater the log loss of the whole would be without it, of one that rests, how much smaller
with it. Who rests goes on learning how far it is to be trusted, as if it were heard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.join import ALL, GAIN, OVER, SHARE, learn_join
from stream_llsvm.kernels.mixer import (
    ALONE,
    ALONE_EFFORT,
    AWAKE,
    EFFORT,
    JUDGED,
    LEAST_RMS,
    ON_TOP_SIZE,
    OWN_ACCURACY,
    OWN_LOSS,
    POWER,
    SINCE,
    TRUST,
    WORTH,
    WORTH_SQUARED,
    normalised,
    pace_of,
    rate_of,
    softmax,
    step_trust,
)
from stream_llsvm.kernels.plan import MEMBER_ROW

JUDGE_ONE_IN = 8
#: Of who has rested for so many records it is known what it would add: it is judged on one record
#: in so many from then on. The records on which members share the metric are among them.
RESTED, RESTED_ONE_IN = 2_048, 32
#: How long judgements are remembered: of what a member does alone, and of its worth.
JUDGE_FADE, WORTH_FADE = 0.99, 0.999
# Rows of scratch, one number a class: all experts' sum, that of others, a member's own, the joint.
ALL_OF_THEM, OTHERS, OWN, JOINT = range(4)
SUMS = 4


class Heard(NamedTuple):
    """What all experts say of a record, as ``mix`` leaves it, and whom to trust."""

    mixer: Array
    joined: Array
    z: Array
    squares: Array
    counted: int
    sums: Array


@kernel
def judge_members(
    heard: Heard, facts: Array, plan: Array, resting: Array, label: int, importance: Real,
    seen: Real, rate: Real, learned: int,
) -> None:  # fmt: skip
    """Judge each member; ``resting`` has the scores of those who rest and were asked.

    Of no size, if nobody was asked. So many records are learned with this one.
    """
    mixer, z, squares = heard.mixer, heard.z, heard.squares
    add_up(heard)
    now = loss_with(heard, 0.0, 0, 0, label)
    for m in range(facts.shape[1]):
        first = plan[1 + m, MEMBER_ROW.first_expert]
        end = first + plan[1 + m, MEMBER_ROW.experts]
        rests = facts[AWAKE, m] == 0
        if first == end or (rests and (resting.size == 0 or not is_asked(facts, m, learned))):
            continue
        # What comes on top may rest, or not be listened to: it is judged as if it were.
        before = loss_with(heard, 0.0, first, first, label) if first >= heard.counted else now
        if rests:
            for e in range(first, end):
                rms = math.sqrt(mixer[POWER, e]) + LEAST_RMS
                squares[e] = normalised(resting[e], rms, z[e])
        facts[JUDGED, m] += 1
        judge_alone(heard, facts, m, first, end, label)
        other = loss_with(heard, 1.0 if rests else -1.0, first, end, label)
        worth = before - other if rests else other - before
        pace = max(1 - WORTH_FADE, 1 / facts[JUDGED, m])
        facts[WORTH, m] += pace * (worth - facts[WORTH, m])
        facts[WORTH_SQUARED, m] += pace * (worth * worth - facts[WORTH_SQUARED, m])
        if rests:
            learn_trust(heard, first, end, label, importance, seen, rate)
            for e in range(first, end):
                squares[e] = 0
                z[e] = 0


@kernel
def is_asked(facts: Array, m: int, learned: int) -> bool:
    """Whether a member that rests is asked and taught the record with which so many are learned.

    That hangs on nothing that changes between two decisions who rests.
    """
    rested = learned - facts[SINCE, m] > RESTED
    return learned % (RESTED_ONE_IN if rested else JUDGE_ONE_IN) == 0


@kernel
def add_up(heard: Heard) -> None:
    """Add up what all experts say."""
    total, z = heard.sums[ALL_OF_THEM], heard.z
    total[:] = 0
    for e in range(z.shape[0]):
        for c in range(z.shape[1]):
            total[c] += heard.mixer[TRUST, e] * z[e, c]


@kernel
def loss_with(heard: Heard, sign: Real, first: int, end: int, label: int) -> Real:
    """Return the log loss of the whole with (1) or without (-1) some experts.

    Leaves the sum over experts, and the joint probabilities. What comes on top counts while it
    gains, and where it is asked for.
    """
    z, others, joint = heard.z, heard.sums[OTHERS], heard.sums[JOINT]
    classes, share = z.shape[1], heard.joined[SHARE]
    for c in range(classes):
        others[c] = heard.sums[ALL_OF_THEM, c]
    for e in range(first, end):
        for c in range(classes):
            others[c] += sign * heard.mixer[TRUST, e] * z[e, c]
    joint[:] = 0
    over = False
    if share[OVER] > 0 and (share[GAIN] > 0 or first >= heard.counted):
        for e in range(max(1, heard.counted), z.shape[0]):
            left_out = sign < 0 and first <= e < end
            if heard.squares[e] != 0 and not left_out:
                over = True
                for c in range(classes):
                    joint[c] += share[OVER] * ON_TOP_SIZE * z[e, c]
    for c in range(classes):
        joint[c] += (share[ALL] if over else 1.0) * others[c]
    return softmax_loss(joint, label)


@kernel
def judge_alone(heard: Heard, facts: Array, m: int, first: int, end: int, label: int) -> None:
    """Follow how a member does alone, and let its own mixer learn."""
    mixer, z, own = heard.mixer, heard.z, heard.sums[OWN]
    classes = z.shape[1]
    own[:] = 0
    for e in range(first, end):
        for c in range(classes):
            own[c] += mixer[ALONE, e] * z[e, c]
    best = 0
    for c in range(1, classes):
        if own[c] > own[best]:
            best = c
    loss = softmax_loss(own, label)
    pace = max(1 - JUDGE_FADE, 1 / facts[JUDGED, m])
    facts[OWN_LOSS, m] += pace * (loss - facts[OWN_LOSS, m])
    facts[OWN_ACCURACY, m] += pace * ((1.0 if best == label else 0.0) - facts[OWN_ACCURACY, m])
    rate = rate_of(end - first, classes)
    for e in range(first, end):
        step_trust(mixer[ALONE], mixer[ALONE_EFFORT], e, z[e], own, label, rate)


@kernel
def learn_trust(
    heard: Heard, first: int, end: int, label: int, importance: Real, seen: Real, rate: Real
) -> None:
    """Let the trust in some experts who rest learn as if they were heard; after ``loss_with``."""
    mixer, z, squares, inner = heard.mixer, heard.z, heard.squares, heard.sums[OTHERS]
    softmax(inner)
    pace = pace_of(seen)
    for e in range(first, end):
        if squares[e] != 0:
            step_trust(mixer[TRUST], mixer[EFFORT], e, z[e], inner, label, rate)
            if e < heard.counted:
                mixer[POWER, e] += pace * (squares[e] - mixer[POWER, e])
    if first >= heard.counted:
        joint = heard.sums[JOINT]
        learn_join(heard.joined, z, squares, heard.counted, inner, joint, label, importance)


@kernel
def softmax_loss(scores: Array, label: int) -> Real:
    """Turn scores into probabilities, in place; returns the log loss."""
    softmax(scores)
    return -math.log(max(scores[label], 1e-12))
