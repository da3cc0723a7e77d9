"""Merging tables of rows: how far each model's changes count in a row, and their sum.

Models p have changed what a base 0 was, and row i has seen d_p records in each since: g_p of all
that all have gained, by weight. What took raw steps moves by a mean of the changes, times a little
more where several have moved it; what follows such a row as a running mean goes as far as it would
have gone had all records come one after the other:

    g_p    = weight_p d_p / sum weight d,      n = 1 / sum g_p^2,      d = sum d_p
    raw    = base + sum_p g_p n^power (row_p - base)
    mean   = base + sum_p g_p (1 - left(d)) / (1 - left(d / n)) (mean_p - base)
    left   = prod over these records of 1 - max(floor, 1 / (1 + records so far))

The base is one of the models here, with whatever is left to make 1. Without one the others' shares
are by all that they have seen, and both are plain means.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, entry, kernel


@kernel
def left_of(before: Real, more: Real, floor: Real) -> Real:
    """Return what a running mean of ``before`` records still has of itself after some more."""
    now = 1 + before
    young = max(0.0, min(more, 1 / floor - now))
    left = now / (now + young)
    return left * (1 - floor) ** (more - young) if more > young else left


@entry
def count_shares(
    seen: Array, weights: Array, since: bool, power: Real, floor: Real, raw: Array, means: Array
) -> None:
    """Fill in how far each model counts in each row, (models, rows): where steps are raw, or means.

    ``seen`` says how many records a row has seen in each model, the base first if ``since``.
    """
    first, models = 1 if since else 0, seen.shape[0]
    for i in range(seen.shape[1]):
        before = max(seen[0, i], 0.0) if since else 0.0
        total, gained = 0.0, 0.0
        for p in range(first, models):
            own = max(seen[p, i] - before, 0.0)
            raw[p, i] = weights[p] * own
            total += raw[p, i]
            gained += own
        if total <= 0:
            for p in range(models):
                raw[p, i] = means[p, i] = (1.0 if p == 0 else 0.0) if since else weights[p]
            continue
        squares = 0.0
        for p in range(first, models):
            raw[p, i] /= total
            squares += raw[p, i] * raw[p, i]
        if not since:
            for p in range(models):
                means[p, i] = raw[p, i]
            continue
        several, stays = 1 / squares, 1 - left_of(before, gained * squares, floor)
        farther = (1 - left_of(before, gained, floor)) / stays if stays > 1e-12 else several
        step = several**power
        raw[0, i], means[0, i] = 1 - step, 1 - farther
        for p in range(1, models):
            means[p, i] = farther * raw[p, i]
            raw[p, i] *= step


@entry
def add_rows(raw: Array, means: Array, values: Array, out: Array) -> None:
    """Add a model's rows as far as each counts: the first half raw steps, the second their means.

    ``means`` is of no size where rows have no second half.
    """
    half = values.shape[1] // 2 if means.size > 0 else values.shape[1]
    for i in range(values.shape[0]):
        own = np.float32(raw[i])
        if own != 0:
            for u in range(half):
                out[i, u] += own * values[i, u]
        if means.size > 0 and means[i] != 0:
            own = np.float32(means[i])
            for u in range(half, values.shape[1]):
                out[i, u] += own * values[i, u]
