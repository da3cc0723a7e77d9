"""Pegasos' losses, of classes and of numbers: how they push, and how far a step may go."""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Real, kernel

HINGE, SQUARED_HINGE, LOGISTIC, EPSILON_INSENSITIVE, SQUARED_EPSILON, SQUARED, HUBER = range(7)
OF_CLASSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
OF_NUMBERS = {
    "epsilon_insensitive": EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": SQUARED_EPSILON,
    "squared": SQUARED,
    "huber": HUBER,
}
FARTHEST = 1e3


@kernel
def push_of(loss: int, score: Real, y: Real, epsilon: Real) -> float:
    """-d loss / d score. For classes y is -1 or +1, else the number to predict."""
    if loss == HINGE:
        return y if y * score < 1 else 0.0
    if loss == SQUARED_HINGE:
        return 2 * y * max(1 - y * score, 0.0)
    if loss == LOGISTIC:
        return y / (1 + math.exp(min(y * score, 50.0)))
    rest = min(max(y - score, -FARTHEST), FARTHEST)
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
def loss_at_0(loss: int, y: Real, epsilon: Real) -> float:
    """Return what a machine that knows nothing loses: it bounds the weights of the best one."""
    if loss == HINGE:
        return 0.5  # |w| <= 1 / sqrt(l2), which is tighter than what 1 would give
    if loss == SQUARED_HINGE:
        return 1.0
    if loss == LOGISTIC:
        return math.log(2.0)
    y = min(abs(y), FARTHEST)
    if loss == SQUARED:
        return 0.5 * y * y
    if loss == HUBER:
        return 0.5 * y * y if y <= epsilon else epsilon * (y - 0.5 * epsilon)
    beyond = max(y - epsilon, 0.0)
    return beyond if loss == EPSILON_INSENSITIVE else beyond * beyond


@kernel
def curvature_of(loss: int) -> float:
    """How fast a push changes with the score, at most; 0 where it is bounded anyway."""
    if loss in (SQUARED_HINGE, SQUARED_EPSILON):
        return 2.0
    return 1.0 if loss in (SQUARED, HUBER) else 0.0
