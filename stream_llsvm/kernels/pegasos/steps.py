"""Pegasos' steps: shrink, move, project; on one record, or on a batch that is held."""

from __future__ import annotations

import math

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.losses import (
    EPSILON_INSENSITIVE,
    FARTHEST,
    HINGE,
    curvature_of,
    margin_loss,
    margin_push,
    residual_loss,
    residual_push,
)
from stream_llsvm.kernels.pegasos.state import (
    COLUMNS,
    ENERGY,
    EPSILON,
    HELD,
    L2,
    LOSS,
    LOSS_AT_0,
    PROJECT,
    SEEN,
    STEPS,
    T0,
)

#: Below this the scale is folded into what it scales.
SMALL = 1e-6


@kernel
def sign_of(loss: int, columns: int, c: int, y: Real) -> float:
    """Return what column c is to score: the number, or -1 and +1, each class against the rest."""
    if loss >= EPSILON_INSENSITIVE:
        return y
    return 1.0 if y == (c if columns > 1 else 1) else -1.0


@kernel
def rate_of(plan: Array, head: Array, energy: Real) -> float:
    """1 / (l2 (t + t0)), less where a squared loss would be overshot."""
    return 1 / (head[L2] * (head[STEPS] + head[T0]) + curvature_of(plan[LOSS]) * energy)


@kernel
def energy_of(z: Array) -> float:
    """|z|^2, with the constant 1 of the bias."""
    total = 1.0
    for t in range(z.size):
        total += z[t] * z[t]
    return total


@kernel
def push_of(loss: int, score: Real, y: Real, epsilon: Real) -> Real:
    """-d loss / d score. For classes y is -1 or +1, else the number to predict."""
    if loss >= EPSILON_INSENSITIVE:
        return residual_push(loss, y - score, epsilon)
    return y * margin_push(loss, y * score)


@kernel
def note_loss(plan: Array, head: Array, y: Real) -> None:
    """Follow the mean loss of a machine that knows nothing: it bounds the weights of the best."""
    loss = plan[LOSS]
    if loss == HINGE:
        head[LOSS_AT_0] = 0.5  # |w| <= 1 / sqrt(l2), which is tighter than what 1 would give
    elif loss < EPSILON_INSENSITIVE:
        head[LOSS_AT_0] = margin_loss(loss, 0.0)
    else:
        told = residual_loss(loss, min(abs(y), FARTHEST), head[EPSILON])
        head[LOSS_AT_0] += (told - head[LOSS_AT_0]) / head[SEEN]


@kernel
def learn_row(
    plan: Array,
    head: Array,
    scale: Array,
    norm: Array,
    bias: Array,
    weights: Array,
    z: Array,
    at: Array,
    score: Array,
    y: Real,
    importance: Real,
) -> None:
    """One step on one record."""
    loss, columns = plan[LOSS], plan[COLUMNS]
    head[STEPS] += 1
    note_loss(plan, head, y)
    # Most records push nothing once the model is good: for the hinge they need no norm.
    energy = energy_of(z) if curvature_of(loss) > 0 else 0.0
    eta = rate_of(plan, head, importance * energy)
    keep = max(1 - eta * head[L2], 0.0)
    for c in range(columns):
        s = score[c]
        push = importance * push_of(loss, s, sign_of(loss, columns, c, y), head[EPSILON])
        shrink(c, keep, scale, norm, bias, weights)
        if push != 0:
            energy = energy_of(z) if energy == 0 else energy
            move = eta * push
            if loss == EPSILON_INSENSITIVE:  # no curvature, and yet far to go
                most = max(abs(y - s) - head[EPSILON], 0.0) / energy
                move = min(max(move, -most), most)
            # |w + m z|^2, from the score before it was shrunk.
            norm[c] = max(norm[c] + 2 * move * keep * s + move * move * energy, 0.0)
            by = move / scale[c]
            w = weights[c]
            bias[c] += by
            if at.size > 0:
                for t in range(z.size):
                    w[at[t]] += by * z[t]
            else:
                for i in range(z.size):
                    w[i] += by * z[i]
        project(plan, head, c, scale, norm)


@kernel
def hold_row(
    plan: Array,
    head: Array,
    slope_bias: Array,
    slope: Array,
    z: Array,
    at: Array,
    score: Array,
    y: Real,
    importance: Real,
) -> None:
    """Add a record to the batch."""
    loss, columns = plan[LOSS], plan[COLUMNS]
    note_loss(plan, head, y)
    head[HELD] += 1
    energy = energy_of(z)
    head[ENERGY] += importance * energy
    for c in range(columns):
        sign = sign_of(loss, columns, c, y)
        push = importance * push_of(loss, score[c], sign, head[EPSILON])
        if push == 0:
            continue
        slope_bias[c] += push
        w = slope[c]
        for t in range(z.size):
            w[at[t] if at.size > 0 else t] += push * z[t]


@kernel
def step(
    plan: Array,
    head: Array,
    scale: Array,
    norm: Array,
    bias: Array,
    weights: Array,
    slope_bias: Array,
    slope: Array,
) -> None:
    """One step on a whole batch."""
    k = head[HELD]
    head[STEPS] += 1
    eta = rate_of(plan, head, head[ENERGY] / k)
    keep = max(1 - eta * head[L2], 0.0)
    for c in range(plan[COLUMNS]):
        shrink(c, keep, scale, norm, bias, weights)
        by = eta / k / scale[c]
        bias[c] += by * slope_bias[c]
        square = bias[c] * bias[c]
        slope_bias[c] = 0
        w, g = weights[c], slope[c]
        for i in range(w.size):
            w[i] += by * g[i]
            square += w[i] * w[i]
            g[i] = 0
        norm[c] = scale[c] * scale[c] * square
        project(plan, head, c, scale, norm)
    head[HELD] = head[ENERGY] = 0


@kernel
def shrink(c: int, keep: Real, scale: Array, norm: Array, bias: Array, weights: Array) -> None:
    """Let w *= keep."""
    scale[c] *= keep
    norm[c] *= keep * keep
    if scale[c] < SMALL:
        w = weights[c]
        bias[c] *= scale[c]
        for i in range(w.size):
            w[i] *= scale[c]
        scale[c] = 1


@kernel
def project(plan: Array, head: Array, c: int, scale: Array, norm: Array) -> None:
    """Bring w back to where the best one must be: |w|^2 <= 2 loss(0) / l2."""
    most = 2 * head[LOSS_AT_0] / head[L2]
    if plan[PROJECT] == 1 and norm[c] > most and norm[c] > 0:
        scale[c] *= math.sqrt(most / norm[c])
        norm[c] = most
