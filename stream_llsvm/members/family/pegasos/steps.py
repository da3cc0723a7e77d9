"""Pegasos' steps: shrink, move, project; on one record, or on a batch that is held.

    w <- (1 - eta l2) w + eta / k sum_batch push_i z_i,    eta = 1 / (l2 (t - forgotten + t0))
    w <- w min(1, radius / |w|)                            if asked for

Shalev-Shwartz, Singer, Srebro, Cotter (2011), where nothing is forgotten: t counts steps, and after
a change a machine needs about as many again. With ``forgets`` steps are forgotten while losses are
greater than usual (``kernels/surprise.py``), and those that follow are long again.

Weights are ``scale u``, so that shrinking and projecting cost nothing, and |w|^2 is followed: a
step touches only what the record names. The bias is a weight of a constant 1. For losses with a
curvature (the squared ones) eta is 1 / (l2 (t - forgotten + t0) + curvature |z|^2), and one
record's epsilon-insensitive step ends where its loss does: a record's own loss is never overshot.

``m`` is the member's ``PegasosState``.
"""

from __future__ import annotations

import math
from typing import Any

from stream_llsvm.kernels.compile import Array, Real, inlined, kernel
from stream_llsvm.kernels.linear import place_of_greatest
from stream_llsvm.kernels.losses import (
    EPSILON_INSENSITIVE,
    FARTHEST,
    HINGE,
    curvature_of,
    is_of_numbers,
    margin_loss,
    margin_push,
    residual_loss,
    residual_push,
)
from stream_llsvm.kernels.surprise import FORGOTTEN, forget_steps, kept_by_loss, least_steps

# The head: running figures and settings.
SEEN, STEPS, HELD, LOSS_AT_0, ENERGY, L2, EPSILON, T0 = range(8)
HEAD = 8
#: Below this the scale is folded into what it scales.
SMALL = 1e-6
#: No residual counts as more, so that its square stays finite.
MOST_REST = 1e15


@kernel
def score_row(m: Any, z: Array, at: Array, score: Array) -> None:
    """Score = w . z + b, one a column."""
    for c in range(score.size):
        w = m.weights[c]
        total = m.bias[c]
        if at.size > 0:
            for t in range(z.size):
                total += w[at[t]] * z[t]
        else:
            for i in range(z.size):
                total += w[i] * z[i]
        score[c] = m.scale[c] * total


@inlined
def learn(m: Any, z: Array, at: Array, score: Array, y: Real, importance: Real) -> None:
    """Learn a record that was scored: at once, or when its batch is full."""
    if m.forgets == 1:
        forget(m, score, y, importance)
    if m.batch_size == 1:
        learn_row(m, z, at, score, y, importance)
        return
    hold_row(m, z, at, score, y, importance)
    if m.head[HELD] >= m.batch_size:
        step(m)


@inlined
def forget(m: Any, score: Array, y: Real, importance: Real) -> None:
    """Forget steps while losses are greater than usual: errors, or the square of a number's."""
    head = m.head
    numbers = is_of_numbers(m.loss)
    if numbers:
        rest = min(max(y - score[0], -MOST_REST), MOST_REST)
        lost = rest * rest
    else:
        best = place_of_greatest(score) if m.columns > 1 else int(score[0] > 0)
        lost = 0.0 if best == y else 1.0
    keep = kept_by_loss(m.clock, lost, numbers, importance)
    if keep < 1:
        forget_steps(m.clock, head[STEPS], keep, least_steps(head[L2], head[T0], m.batch_size))


@kernel
def sign_of(loss: int, columns: int, c: int, y: Real) -> float:
    """Return what column c is to score: the number, or -1 and +1, each class against the rest."""
    if is_of_numbers(loss):
        return y
    return 1.0 if y == (c if columns > 1 else 1) else -1.0


@kernel
def rate_of(m: Any, energy: Real) -> float:
    """1 / (l2 (t - forgotten + t0)), less where a squared loss would be overshot."""
    t = m.head[STEPS] - m.clock[FORGOTTEN]
    return 1 / (m.head[L2] * (t + m.head[T0]) + curvature_of(m.loss) * energy)


@kernel
def energy_of(z: Array) -> float:
    """|z|^2, with the constant 1 of the bias."""
    total = 1.0
    for t in range(z.size):
        total += float(z[t]) * z[t]
    return total


@kernel
def push_of(loss: int, score: Real, y: Real, epsilon: Real) -> Real:
    """-d loss / d score. For classes y is -1 or +1, else the number to predict."""
    if is_of_numbers(loss):
        return residual_push(loss, y - score, epsilon)
    return y * margin_push(loss, y * score)


@kernel
def note_loss(m: Any, y: Real) -> None:
    """Follow the mean loss of a machine that knows nothing: it bounds the weights of the best."""
    loss, head = m.loss, m.head
    if loss == HINGE:
        head[LOSS_AT_0] = 0.5  # |w| <= 1 / sqrt(l2), which is tighter than what 1 would give
    elif not is_of_numbers(loss):
        head[LOSS_AT_0] = margin_loss(loss, 0.0)
    else:
        told = residual_loss(loss, min(abs(y), FARTHEST), head[EPSILON])
        head[LOSS_AT_0] += (told - head[LOSS_AT_0]) / head[SEEN]


@inlined
def learn_row(m: Any, z: Array, at: Array, score: Array, y: Real, importance: Real) -> None:
    """One step on one record."""
    loss, columns, head, norm = m.loss, m.columns, m.head, m.norm
    head[STEPS] += 1
    note_loss(m, y)
    # Most records push nothing once the model is good: for the hinge they need no norm.
    energy = energy_of(z) if curvature_of(loss) > 0 else 0.0
    eta = rate_of(m, importance * energy)
    keep = max(1 - eta * head[L2], 0.0)
    for c in range(columns):
        s = score[c]
        push = importance * push_of(loss, s, sign_of(loss, columns, c, y), head[EPSILON])
        shrink(m, c, keep)
        if push != 0:
            energy = energy_of(z) if energy == 0 else energy
            move = eta * push
            if loss == EPSILON_INSENSITIVE:  # no curvature, and yet far to go
                most = max(abs(y - s) - head[EPSILON], 0.0) / energy
                move = min(max(move, -most), most)
            # |w + m z|^2, from the score before it was shrunk.
            norm[c] = max(norm[c] + 2 * move * keep * s + move * move * energy, 0.0)
            by = move / m.scale[c]
            w = m.weights[c]
            m.bias[c] += by
            if at.size > 0:
                for t in range(z.size):
                    w[at[t]] += by * z[t]
            else:
                for i in range(z.size):
                    w[i] += by * z[i]
        project(m, c)


@kernel
def hold_row(m: Any, z: Array, at: Array, score: Array, y: Real, importance: Real) -> None:
    """Add a record to the batch."""
    loss, columns, head = m.loss, m.columns, m.head
    note_loss(m, y)
    head[HELD] += 1
    energy = energy_of(z)
    head[ENERGY] += importance * energy
    for c in range(columns):
        sign = sign_of(loss, columns, c, y)
        push = importance * push_of(loss, score[c], sign, head[EPSILON])
        if push == 0:
            continue
        m.slope_bias[c] += push
        w = m.slope[c]
        for t in range(z.size):
            w[at[t] if at.size > 0 else t] += push * z[t]


@kernel
def step(m: Any) -> None:
    """One step on a whole batch."""
    head, scale, bias = m.head, m.scale, m.bias
    k = head[HELD]
    head[STEPS] += 1
    eta = rate_of(m, head[ENERGY] / k)
    keep = max(1 - eta * head[L2], 0.0)
    for c in range(m.columns):
        shrink(m, c, keep)
        by = eta / k / scale[c]
        bias[c] += by * m.slope_bias[c]
        square = bias[c] * bias[c]
        m.slope_bias[c] = 0
        w, g = m.weights[c], m.slope[c]
        for i in range(w.size):
            w[i] += by * g[i]
            square += w[i] * w[i]
            g[i] = 0
        m.norm[c] = scale[c] * scale[c] * square
        project(m, c)
    head[HELD] = head[ENERGY] = 0


@kernel
def shrink(m: Any, c: int, keep: Real) -> None:
    """Let w *= keep."""
    scale = m.scale
    scale[c] *= keep
    m.norm[c] *= keep * keep
    if scale[c] < SMALL:
        w = m.weights[c]
        m.bias[c] *= scale[c]
        for i in range(w.size):
            w[i] *= scale[c]
        scale[c] = 1


@kernel
def project(m: Any, c: int) -> None:
    """Bring w back to where the best one must be: |w|^2 <= 2 loss(0) / l2."""
    norm = m.norm
    most = 2 * m.head[LOSS_AT_0] / m.head[L2]
    if m.projection == 1 and norm[c] > most and norm[c] > 0:
        m.scale[c] *= math.sqrt(most / norm[c])
        norm[c] = most
