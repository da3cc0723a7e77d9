"""A linear machine over a table of cells, of which a record touches a few.

    H(x) = b + sum_i share_i(x) W[cell_i(x)]

That is a linear machine over a sparse code whose entries are known by number. Which cells a record
touches, and with what share, is what tells the additive member from the ferns. Each cell keeps raw
weights and, beside them, their average over the records that touched it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, inlined, kernel
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.vectors import add_multiple, step_and_follow

#: State of a member with such a table: ``settings``, ``bias``, ``mass``, ``weights`` and ``sums``.
Table = Any

# Of its running figures: how many records it has learned.
SEEN = 0
# Settings, one number each; the rungs' step sizes follow.
AVERAGE_FLOOR, STEPS = range(2)


@kernel
def score_cells(weights: Array, bias: Array, cells: Array, shares: Array, out: Array) -> None:
    """Blend the cells' weights, one number an expert and column."""
    for u in range(out.size):
        out[u] = bias[u]
    for i in range(cells.size):
        w = weights[cells[i]]
        share = shares[i]
        for u in range(out.size):
            out[u] += share * w[u]


@kernel
def learn_cells(
    m: Table, cells: Array, shares: Array, seen: Real, label: int, importance: Real, out: Array
) -> None:
    """One step on the cells that the record touches, then on their averages.

    A step is divided by the record's own energy, 1 + sum_i share_i^2, so that a step of 1 mends a
    record's score by as much as the loss pushes it, however many cells it touches.
    """
    settings, mass, pace = m.settings, m.mass, m.sums[1]
    half, averaged = m.rungs * m.columns, m.experts == 2 * m.rungs
    find_pace(m, shares[: cells.size], label, importance, out)
    # In 4-byte floats throughout: a division of 8-byte ones is as dear as the step.
    one, weight = np.float32(1), np.float32(importance)
    slowest = np.float32(settings[AVERAGE_FLOOR])
    first = min(one, weight * max(slowest, one / np.float32(seen)))
    follow(m.bias, pace, one, first, half, averaged)
    for i in range(cells.size):
        cell, share = cells[i], shares[i]
        touched = weight * share
        mass[cell] += touched
        rate = min(one, touched * max(slowest, one / (one + mass[cell])))
        follow(m.weights[cell], pace, share, rate, half, averaged)


@inlined
def find_pace(m: Table, shares: Array, label: int, importance: Real, out: Array) -> Real:
    """Fill ``sums`` with where the loss pushes each raw expert, and with the step that is taken.

    Returns the record's energy, by which the step is divided.
    """
    rungs, columns, settings = m.rungs, m.columns, m.settings
    push, pace = m.sums[0], m.sums[1]
    for e in range(rungs):  # the averages only follow: nothing pushes them
        a, b = e * columns, (e + 1) * columns
        pushes(m.loss, m.multiclass, out[a:b], label, push[a:b])
    energy = 1.0
    for i in range(shares.size):
        energy += shares[i] * shares[i]
    for r in range(rungs):
        eta = importance * settings[STEPS + r] / energy
        for u in range(r * columns, (r + 1) * columns):
            pace[u] = eta * push[u]
    return energy


@kernel
def follow(w: Array, pace: Array, share: Real, rate: Real, half: int, averaged: bool) -> None:
    """Step the raw weights, and draw their averages towards them."""
    if averaged:
        step_and_follow(w, w[half:], pace, share, rate)
    else:
        add_multiple(w, pace[:half], share)
