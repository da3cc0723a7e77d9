"""Losses, each with its push, the negative derivative: what is lost, and where that drives a score.

Of classes, by the margin m = y f, where f is the score and y is -1 or +1:

    hinge               max(0, 1 - m)                                        SAPL(4)
    huberized_hinge     (1 - m)^2 / 2 up to a violation of one, 1/2 - m beyond
    logistic            log(1 + exp(-m))
    squared_hinge       max(0, 1 - m)^2

Of numbers, by the residual r = y - f:

    epsilon_insensitive            max(0, |r| - epsilon)
    squared_epsilon_insensitive    max(0, |r| - epsilon)^2
    squared                        r^2 / 2
    huber                          r^2 / 2 up to epsilon, epsilon (|r| - epsilon / 2) beyond

The Huberized hinge is the squared hinge halved, with a push of at most one: no record throws a
machine whose steps know nothing of the record's length. Pegasos knows it, and takes the plain one.

With one column (two classes) the label is -1 or +1. With more, "ovr" asks each class's score for
its own margin, SAPL(21); "crammer_singer" asks the true class to beat the runner-up (Crammer &
Singer), or is the softmax's cross-entropy for the logistic loss.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import greatest
from stream_llsvm.kernels.vectors import exponentials

(
    HINGE,
    HUBERIZED_HINGE,
    LOGISTIC,
    SQUARED_HINGE,
    EPSILON_INSENSITIVE,
    SQUARED_EPSILON_INSENSITIVE,
    SQUARED,
    HUBER,
) = range(8)
#: Those whose push is at most one.
LOSSES = {"hinge": HINGE, "huberized_hinge": HUBERIZED_HINGE, "logistic": LOGISTIC}
#: Pegasos'.
LOSSES_OF_PEGASOS = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
LOSSES_OF_NUMBERS = {
    "epsilon_insensitive": EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": SQUARED_EPSILON_INSENSITIVE,
    "squared": SQUARED,
    "huber": HUBER,
}
OVR, CRAMMER_SINGER = range(2)
MULTICLASS = {"ovr": OVR, "crammer_singer": CRAMMER_SINGER}
#: The logistic loss never stops pushing: below this a step is not worth its time.
FAINT = 0.01
#: No residual pushes more than one of this size.
FARTHEST = 1e3


@kernel
def margin_loss(loss: int, margin: Real) -> Real:
    """Return a loss of classes, for the margin y * score."""
    short = max(1 - margin, 0.0)
    if loss == HINGE:
        return short
    if loss == HUBERIZED_HINGE:
        return 0.5 * short * short if short <= 1 else short - 0.5
    if loss == SQUARED_HINGE:
        return short * short
    return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)


@kernel
def margin_push(loss: int, margin: Real) -> Real:
    """Return -d loss / d margin."""
    one = np.float32(1)
    if loss == HINGE:
        return one if margin < one else np.float32(0)
    if loss == HUBERIZED_HINGE:
        return min(max(one - margin, np.float32(0)), one)
    if loss == SQUARED_HINGE:
        return 2 * max(one - margin, np.float32(0))
    return one / (one + math.exp(min(margin, np.float32(30))))


@kernel
def is_of_numbers(loss: int) -> bool:
    """Whether a loss is one of numbers: they stand behind those of classes."""
    return loss >= EPSILON_INSENSITIVE


@kernel
def residual_loss(loss: int, rest: Real, epsilon: Real) -> float:
    """Return a loss of numbers, for the residual: what was to be predicted, less the score."""
    size = min(abs(rest), FARTHEST)
    beyond = max(size - epsilon, 0.0)
    lost = 0.5 * size * size
    if loss == EPSILON_INSENSITIVE:
        lost = beyond
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        lost = beyond * beyond
    elif loss == HUBER and size > epsilon:
        lost = epsilon * (size - 0.5 * epsilon)
    return lost + (abs(rest) - size) * residual_push(loss, size, epsilon)


@kernel
def residual_push(loss: int, rest: Real, epsilon: Real) -> float:
    """Return -d loss / d score."""
    rest = min(max(rest, -FARTHEST), FARTHEST)
    if loss == SQUARED:
        return rest
    if loss == HUBER:
        return min(max(rest, -epsilon), epsilon)
    beyond = abs(rest) - epsilon
    if beyond <= 0:
        return 0.0
    sign = 1.0 if rest > 0 else -1.0
    return sign if loss == EPSILON_INSENSITIVE else 2 * sign * beyond


@kernel
def curvature_of(loss: int) -> float:
    """How fast a push changes with the score, at most, which bounds a step; 0 if it only jumps."""
    if loss in (SQUARED_HINGE, SQUARED_EPSILON_INSENSITIVE):
        return 2.0
    return 1.0 if loss in (SQUARED, HUBER) else 0.0


@kernel
def strong_push(loss: int, margin: Real) -> Real:
    """Return the push of a margin; 0 for the logistic loss where it is faint."""
    push = margin_push(loss, margin)
    return push if loss != LOGISTIC or push >= np.float32(FAINT) else np.float32(0)


@kernel
def pushes(loss: int, multiclass: int, scores: Array, label: int, out: Array) -> bool:
    """Fill out[c] with -d loss / d scores[c], without faint ones; true when any is not zero."""
    columns = scores.size
    if columns > 1 and multiclass == CRAMMER_SINGER:
        return _joint(loss, scores, label, out)
    any_push = False
    for c in range(columns):
        positive = label == c if columns > 1 else label == 1
        y = np.float32(1) if positive else np.float32(-1)
        out[c] = y * strong_push(loss, y * scores[c])
        any_push |= out[c] != 0
    return any_push


@kernel
def _joint(loss: int, scores: Array, label: int, out: Array) -> bool:
    columns = scores.size
    if loss == LOGISTIC:
        exponentials(out, scores, greatest(scores))
        total = np.float32(0)
        for c in range(columns):
            total += out[c]
        for c in range(columns):
            out[c] = -out[c] / total
        out[label] += np.float32(1)
        any_push = False
        for c in range(columns):
            if abs(out[c]) < np.float32(FAINT):
                out[c] = np.float32(0)
            else:
                any_push = True
        return any_push
    rival = -1
    for c in range(columns):
        out[c] = np.float32(0)
        if c != label and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    push = strong_push(loss, scores[label] - scores[rival])
    out[label] = push
    out[rival] = -push
    return push != 0
