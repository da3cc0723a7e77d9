"""Pegasos: a linear machine per score, primal steps of 1 / (l2 t), one record or a few at a time.

    w <- (1 - eta l2) w + eta / k sum_batch push_i z_i,    eta = 1 / (l2 (t + t0))
    w <- w min(1, radius / |w|)                            if asked for

Shalev-Shwartz, Singer, Srebro, Cotter (2011). Weights are ``scale u``, so that shrinking and
projecting cost nothing, and |w|^2 is followed: a step touches only what the record names. The bias
is a weight of a constant 1. For losses with a curvature (the squared ones) eta is 1 / (l2 (t + t0)
+ curvature |z|^2), and one record's epsilon-insensitive step ends where its loss does: a record's
own loss is never overshot.
"""

from __future__ import annotations

import math

from stream_llsvm.kernels.jit import Array, Real, entry, kernel
from stream_llsvm.kernels.scaling import (
    CENTRE,
    COUNT,
    INVERSE,
    STATISTICS,
    observe,
    observe_row,
    scale_row,
)

# The plan: sizes and choices, and from FIRST on where each section of the state begins.
WIDTH, COLUMNS, STANDARDIZE, LOSS, BATCH, PROJECT, FIRST = range(7)
# The state's first section: running figures and settings.
SEEN, STEPS, HELD, LOSS_AT_0, ENERGY, L2, EPSILON, T0 = range(8)
HEAD = 8

HINGE, SQUARED_HINGE, LOGISTIC, EPSILON_INSENSITIVE, SQUARED_EPSILON, SQUARED, HUBER = range(7)
OF_CLASSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
OF_NUMBERS = {
    "epsilon_insensitive": EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": SQUARED_EPSILON,
    "squared": SQUARED,
    "huber": HUBER,
}
#: Below this the scale is folded into what it scales.
SMALL = 1e-6
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


@entry
def run(
    state: Array,
    scratch: Array,
    plan: Array,
    values: Array,
    at_all: Array,
    starts: Array,
    targets: Array,
    importance: Array,
    out: Array,
) -> None:
    """Score each row, then learn from it if it has a target (not NaN): a class's code, a number.

    ``values``, ``at_all`` and ``starts`` are rows as ``kernels.run.run`` takes them.
    """
    width, columns, loss = plan[WIDTH], plan[COLUMNS], plan[LOSS]
    o = plan[FIRST:]
    head = state[o[0] : o[0] + HEAD]
    statistics = state[o[1] : o[1] + width * STATISTICS].reshape(width, STATISTICS)
    target = state[o[2] : o[2] + STATISTICS].reshape(1, STATISTICS)
    scale = state[o[3] : o[3] + columns]
    norm = state[o[4] : o[4] + columns]
    bias = state[o[5] : o[5] + columns]
    weights = state[o[6] : o[6] + columns * width].reshape(columns, width)
    slope_bias = state[o[7] : o[7] + columns]
    slope = state[o[8] : o[8] + columns * width].reshape(columns, width)
    sparse = starts.size > 0
    numbers = loss >= EPSILON_INSENSITIVE
    scaled = plan[STANDARDIZE] == 1
    n = targets.size
    d = 0 if sparse or n == 0 else values.size // n
    for q in range(n):
        begin, end = (starts[q], starts[q + 1]) if sparse else (q * d, (q + 1) * d)
        raw, at = values[begin:end], at_all[begin:end] if sparse else at_all
        z = scratch[: raw.size]
        scale_row(statistics, scaled, raw, at, z)
        score = out[q]
        score_row(weights, bias, scale, z, at, score)
        y = targets[q]
        if not math.isnan(y):
            head[SEEN] += 1
            if scaled:
                observe_row(statistics, head[SEEN], raw, at)
            if numbers and scaled:
                observe(target, 0, y, head[SEEN], True)
                y = (y - target[0, CENTRE]) * target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
            if plan[BATCH] == 1:
                learn_row(plan, head, scale, norm, bias, weights, z, at, score, y, importance[q])
            else:
                hold_row(plan, head, slope_bias, slope, z, at, score, y, importance[q])
                if head[HELD] >= plan[BATCH]:
                    step(plan, head, scale, norm, bias, weights, slope_bias, slope)
        if numbers and scaled and target[0, COUNT] > 0:
            spread = 1 / target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
            score[0] = target[0, CENTRE] + spread * score[0]


@kernel
def score_row(weights: Array, bias: Array, scale: Array, z: Array, at: Array, score: Array) -> None:
    """Score = w . z + b, one a column."""
    for c in range(score.size):
        w = weights[c]
        total = bias[c]
        if at.size > 0:
            for t in range(z.size):
                total += w[at[t]] * z[t]
        else:
            for i in range(z.size):
                total += w[i] * z[i]
        score[c] = scale[c] * total


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
def note_loss(plan: Array, head: Array, y: Real) -> None:
    """Follow the mean loss of a machine that knows nothing."""
    if plan[LOSS] < EPSILON_INSENSITIVE:
        head[LOSS_AT_0] = loss_at_0(plan[LOSS], 1.0, 0.0)
    else:
        told = loss_at_0(plan[LOSS], y, head[EPSILON])
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
