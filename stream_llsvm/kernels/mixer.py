"""The mixer: experts' scores in, probabilities out, one logistic step per record.

    z_e  = expert e's scores, centred over the classes, divided by their running RMS, clipped
    p    = softmax(sum_e trust_e z_e)
    trust_e += rate / sqrt(1 + faded sum of squared gradients) * d log p(label) / d trust_e

One weight per expert, shared by the classes. Voting by recent accuracy, weights per class and
second-order steps were all tried and are no better.

What each member is worth is judged in ``judge.py``.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import greatest, place_of_greatest

TRUST, POWER, EFFORT, ALONE, ALONE_EFFORT = range(5)
MIXER_ROWS = 5
# What is known of each member.
AWAKE, OWN_LOSS, OWN_ACCURACY, WORTH, JUDGED, SINCE, WORTH_SQUARED = range(7)
MEMBER_FACTS = 7
#: What the scores of what comes on top, which say by themselves how sure they are, are divided by,
#: so that few are clipped.
ON_TOP_SIZE = 8.0
RATE, LARGEST_RATE = 3.8, 0.5
FADE = 0.999
Z_CLIP = 4.0
LARGEST_TRUST = 50.0
#: How far a logit counts at most below the largest: none of the exponentials is 0.
FARTHEST_BEHIND = -600.0
#: An expert whose scores are all 0 divides by this.
LEAST_RMS = 1e-6


def rms_of(mixer: Array) -> Array:
    """Return what each expert's scores are divided by, for Python: `mix` does it itself."""
    rms: Array = np.sqrt(mixer[POWER]) + LEAST_RMS
    return rms


@kernel
def normalised(scores: Array, rms: Real, z: Array) -> Real:
    """Fill z, one value a class, from an expert's scores; returns their mean square."""
    classes = z.size
    if scores.size == 1:
        if classes == 2:
            half = scores[0] / 2 / rms
            z[0] = min(max(-half, -Z_CLIP), Z_CLIP)
            z[1] = min(max(half, -Z_CLIP), Z_CLIP)
        else:
            z[0] = 0.0
        return float(scores[0]) * scores[0]
    mean = 0.0
    for c in range(classes):
        mean += scores[c]
    mean /= classes
    square = 0.0
    for c in range(classes):
        centred = scores[c] - mean
        square += centred * centred
        z[c] = min(max(centred / rms, -Z_CLIP), Z_CLIP)
    return square


@kernel
def mix(mixer: Array, scores: Array, z: Array, squares: Array, proba: Array) -> int:
    """Fill proba from all experts' scores for one record; returns the likeliest class."""
    proba[:] = 0
    experts, classes = z.shape
    for e in range(experts):
        squares[e] = normalised(scores[e], math.sqrt(mixer[POWER, e]) + LEAST_RMS, z[e])
        for c in range(classes):
            proba[c] += mixer[TRUST, e] * z[e, c]
    best = place_of_greatest(proba)
    softmax(proba)
    return best


@kernel
def softmax(scores: Array) -> None:
    """Turn scores into probabilities, in place."""
    top = greatest(scores)
    total = 0.0
    for c in range(scores.size):
        scores[c] = math.exp(max(scores[c] - top, FARTHEST_BEHIND))
        total += scores[c]
    for c in range(scores.size):
        scores[c] /= total


@kernel
def rate_of(experts: int, classes: int) -> Real:
    """How long a step is: shorter for many experts, which move together.

    And longer for many classes, over which an expert's scores, together of size 1, are spread: each
    is smaller, and so are the gradients.
    """
    return min(LARGEST_RATE, RATE / experts) * math.sqrt(max(classes, 2) / 2)


@kernel
def pace_of(seen: Real) -> Real:
    """How fast the power of scores is followed."""
    return max(0.001, 1 / (seen + 1))


@kernel
def step_trust(
    trust: Array, effort: Array, e: int, z: Array, proba: Array, label: int, rate: Real
) -> None:
    """One logistic step on the trust in expert e, whose scores are z."""
    gradient = z[label]
    for c in range(z.size):
        gradient -= proba[c] * z[c]
    effort[e] = FADE * effort[e] + gradient * gradient
    step = rate * gradient / math.sqrt(1 + effort[e])
    trust[e] = min(max(trust[e] + step, -LARGEST_TRUST), LARGEST_TRUST)


@kernel
def learn_mix(
    mixer: Array,
    seen: Real,
    z: Array,
    squares: Array,
    proba: Array,
    label: int,
    rate: Real,
    counted: int,
) -> None:
    """One logistic step on the trust in each expert, from what ``mix`` left in z and proba.

    The first ``counted`` experts share the pace. Those that come on top of them
    say how sure they are by themselves, and their scores stay as they are.
    """
    pace = pace_of(seen)
    for e in range(z.shape[0]):
        if squares[e] == 0:
            continue  # it rests, or has nothing to say yet
        step_trust(mixer[TRUST], mixer[EFFORT], e, z[e], proba, label, rate)
        if e < counted:
            mixer[POWER, e] += pace * (squares[e] - mixer[POWER, e])
