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

from stream_llsvm.kernels.compile import Array, entry, kernel
from stream_llsvm.kernels.losses import EPSILON_INSENSITIVE
from stream_llsvm.kernels.pegasos.state import (
    BATCH,
    COLUMNS,
    FIRST,
    HEAD,
    HELD,
    LOSS,
    SEEN,
    STANDARDIZE,
    WIDTH,
)
from stream_llsvm.kernels.pegasos.steps import hold_row, learn_row, step
from stream_llsvm.kernels.scaling import (
    CENTRE,
    COUNT,
    INVERSE,
    STATISTICS,
    is_due,
    observe,
    observe_row,
    put_side_by_side,
    scale_row,
    scale_settled,
)


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
    scales = scratch[width : 3 * width].reshape(2, width)
    dense = not sparse and at_all.size == 0
    laid_out = settled = False
    n = targets.size
    d = 0 if sparse or n == 0 else values.size // n
    for q in range(n):
        begin, end = (starts[q], starts[q + 1]) if sparse else (q * d, (q + 1) * d)
        raw, at = values[begin:end], at_all[begin:end] if sparse else at_all
        z = scratch[: raw.size]
        if dense and scaled and not laid_out:
            settled = put_side_by_side(statistics[: raw.size], scales)
            laid_out = True
        if settled:
            scale_settled(scales, scaled, raw, z)
        else:
            scale_row(statistics, scaled, raw, at, z)
        score = out[q]
        score_row(weights, bias, scale, z, at, score)
        y = targets[q]
        centre, spread = 0.0, 1.0
        if numbers and scaled and target[0, COUNT] > 0:
            centre = target[0, CENTRE]
            spread = 1 / target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
        if not math.isnan(y):
            head[SEEN] += 1
            due = is_due(head[SEEN], width)
            if scaled and (due or not settled):
                observe_row(statistics, head[SEEN], raw, at)
                laid_out = False
            if numbers and scaled:
                observe(target, 0, y, head[SEEN], True, due)
                y = (y - target[0, CENTRE]) * target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
            if plan[BATCH] == 1:
                learn_row(plan, head, scale, norm, bias, weights, z, at, score, y, importance[q])
            else:
                hold_row(plan, head, slope_bias, slope, z, at, score, y, importance[q])
                if head[HELD] >= plan[BATCH]:
                    step(plan, head, scale, norm, bias, weights, slope_bias, slope)
        if numbers:
            score[0] = centre + spread * score[0]


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
