"""Pegasos for numbers: one linear machine, and the target's scale; a kernel that Python calls."""

from __future__ import annotations

import math
from typing import NamedTuple

from stream_llsvm.kernels.compile import Array, entry
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
from stream_llsvm.members.family.pegasos.steps import HEAD, SEEN, learn, score_row

# The plan: sizes and choices, and from FIRST on where each section of the state begins.
WIDTH, STANDARDIZE, LOSS, BATCH, PROJECT, FIRST = range(6)


class Machine(NamedTuple):
    """What the steps work on, by the names that a member's state has."""

    columns: int
    loss: int
    batch_size: int
    projection: int
    head: Array
    scale: Array
    norm: Array
    bias: Array
    weights: Array
    slope_bias: Array
    slope: Array


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
    """Score each row, then learn from it if it has a target (not NaN).

    ``values``, ``at_all`` and ``starts`` are rows as ``kernels.run.run`` takes them.
    """
    width = plan[WIDTH]
    o = plan[FIRST:]
    head = state[o[0] : o[0] + HEAD]
    statistics = state[o[1] : o[1] + width * STATISTICS].reshape(width, STATISTICS)
    target = state[o[2] : o[2] + STATISTICS].reshape(1, STATISTICS)
    m = Machine(
        1,
        plan[LOSS],
        plan[BATCH],
        plan[PROJECT],
        head,
        state[o[3] : o[3] + 1],
        state[o[4] : o[4] + 1],
        state[o[5] : o[5] + 1],
        state[o[6] : o[6] + width].reshape(1, width),
        state[o[7] : o[7] + 1],
        state[o[8] : o[8] + width].reshape(1, width),
    )
    sparse = starts.size > 0
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
        score_row(m, z, at, score)
        y = targets[q]
        centre, spread = 0.0, 1.0
        if scaled and target[0, COUNT] > 0:
            centre = target[0, CENTRE]
            spread = 1 / target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
        if not math.isnan(y):
            head[SEEN] += 1
            if scaled:
                due = is_due(head[SEEN], width)
                if due or not settled:
                    observe_row(statistics, head[SEEN], raw, at)
                    laid_out = False
                observe(target, 0, y, head[SEEN], True, due)
                y = (y - target[0, CENTRE]) * target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
            learn(m, z, at, score, y, importance[q])
        score[0] = centre + spread * score[0]
