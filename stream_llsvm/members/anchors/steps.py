"""The single steps of an anchors member: placing and moving anchors, pace, penalty."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel, outlined, steady_kernel
from stream_llsvm.kernels.linear import add_scaled
from stream_llsvm.kernels.piece_loops import offset_of_pieces
from stream_llsvm.members.anchors.machines import Machines, shrink
from stream_llsvm.members.anchors.state import (
    ENERGY,
    ETA,
    L2,
    LADDER,
    MASS,
    NORM,
    PAPER_SAPL,
    SEEN,
    SKIP,
    SPREAD,
    T0,
    TILT,
    VISITS,
    ZOOM,
)

SMALLEST_ZOOM, LARGEST_ZOOM = 1e-4, 2.0
FARTHEST = 1e18
LARGEST_JUMP = 1e4
SLOWEST = 0.001
LARGEST_RISE = 10.0
LEAST_TILT = 5.0
# Of more columns than this a record that says something in less than a quarter is a sparse one.
WIDE, SPARSE = 512, 4
FADE = 0.999


@steady_kernel
def mean_of(values: Array, n: int) -> Real:
    """Return the mean of the first n values."""
    total = 0.0
    for j in range(n):
        total += values[j]
    return total / n


@kernel
def best_expert(hits: Array, out: Array, columns: int, label: int) -> int:
    """Count, fading, how often each expert was right; returns the one that was most often."""
    best = 0
    for e in range(hits.size):
        top = 0
        for c in range(1, columns):
            if out[e * columns + c] > out[e * columns + top]:
                top = c
        if columns == 1:
            top = 1 if out[e] > 0 else 0
        hits[e] = FADE * hits[e] + (1.0 if top == label else 0.0)
        if hits[e] > hits[best]:
            best = e
    return best


@kernel
def place(position: Array, facts: Array, a: int, x: Array, at: Array, x_norm: Real) -> None:
    """Anchor a is born at x."""
    position[:] = 0
    add_scaled(position, x, at, np.float32(1))
    facts[ZOOM, a] = 1
    facts[NORM, a] = x_norm
    facts[VISITS, a] = 1
    facts[MASS, a] = 0


@kernel
def shift(
    position: Array,
    facts: Array,
    a: int,
    move: Real,
    x: Array,
    at: Array,
    along: Real,
    x_norm: Real,
) -> None:
    """Let v += move (x - v); an anchor that would leave for infinity stays where it is.

    Who is driven away multiplies the errors in its position and its norm: both are set right
    before they have grown.
    """
    stay = 1 - move
    norm = stay * stay * facts[NORM, a] + 2 * stay * move * along + move * move * x_norm
    zoom = stay * facts[ZOOM, a]
    if not norm < FARTHEST or abs(move) > LARGEST_JUMP:
        return
    folds = not SMALLEST_ZOOM < abs(zoom) < LARGEST_ZOOM
    if folds:
        for i in range(position.size):
            position[i] *= np.float32(zoom)
        zoom = 1.0
    add_scaled(position, x, at, np.float32(move / zoom))
    if folds:
        norm = 0.0
        for i in range(position.size):
            norm += position[i] * position[i]
    facts[ZOOM, a] = zoom
    facts[NORM, a] = max(norm, 0.0)


@kernel
def slope_of(expert: int, columns: int, push: Array, height: Array, out: Array) -> Real:
    """sum_c push_c (h_jc - H_c): how the loss falls as anchor j's code grows, SAPL(16), (21)."""
    begin, end = expert * columns, (expert + 1) * columns
    own, high, blend = push[begin:end], height[begin:end], out[begin:end]
    total = np.float32(0)
    for c in range(columns):
        total += own[c] * (high[c] - blend[c])
    return total


@kernel
def anchor_gradient_sq(
    expert: int, columns: int, k: int, pull: Array, distance: Array, heights: Array, out: Array
) -> Real:
    """sum_jc |dH_c/dv_j|^2: how strongly an expert's scores react to where the anchors are."""
    begin = expert * columns
    total = 0.0
    for j in range(k):
        squares = np.float32(0)
        for c in range(begin, begin + columns):
            squares += (heights[j, c] - out[c]) * (heights[j, c] - out[c])
        total += pull[j] * pull[j] * distance[j] * squares
    return total


@kernel
def gradient_scale(running: Array, grad_sq: Real) -> Real:
    """Follow the mean square of the scores' gradient by the anchors.

    Returns what a supervised step is multiplied by to be relative to that mean, as steps on weights
    are relative to theirs. Where machines are still alike it would be a leap: no mean counts as
    smaller than ``LEAST_TILT`` over the neighbours' mean distance.
    """
    running[TILT] = followed(running[TILT], grad_sq, max(SLOWEST, 1 / running[SEEN]))
    spread = running[SPREAD]
    return spread / max(LEAST_TILT, spread * max(running[TILT], 0.25 * grad_sq))


@kernel
def measure(running: Array, distance: Array, k: int, energy: Real) -> Real:
    """Follow the neighbours' mean distance and the coded record's mean square.

    Returns what a step is divided by. A record may raise a mean only tenfold, and is itself
    divided by at least a quarter of its own square: no single record can break the scale.
    """
    pace = max(SLOWEST, 1 / running[SEEN])
    running[ENERGY] = followed(running[ENERGY], energy, pace)
    if k > 0:
        running[SPREAD] = followed(running[SPREAD], mean_of(distance, k), pace)
    return max(running[ENERGY], 0.25 * energy)


@kernel
def energy_of(
    code: Array, distance: Array, k: int, answering: int, x_norm: Real, centred: bool
) -> Real:
    """Return the square of the coded record: by how much a step of 1 changes its score.

    sum (gamma x)^2, with a 1 beside x for the bias; if the anchors' machines learn from x - v, its
    square is a distance.
    """
    total = 0.0
    for j in range(answering):
        square = distance[j] if centred and j < k else x_norm
        total += code[j] * code[j] * (1.0 + square)
    return total


@kernel
def from_anchor(position: Array, zoom: Real, x: Array, at: Array, view: Array) -> Real:
    """Fill in x - v where x says something, and 0 elsewhere; returns (x - v) . v."""
    if x.size > at.size > 0:
        return offset_of_pieces(position, zoom, x, at, view)
    zoom = np.float32(zoom)
    along = np.float32(0)
    if at.size == 0:
        for i in range(x.size):
            v = zoom * position[i]
            view[i] = x[i] - v if x[i] != 0 else np.float32(0)
            along += view[i] * v
    else:
        for i in range(x.size):
            v = zoom * position[at[i]]
            view[i] = x[i] - v if x[i] != 0 else np.float32(0)
            along += view[i] * v
    return along


@kernel
def has_a_view(x: Array, width: int) -> bool:
    """Whether a record can be seen from an anchor: not if it is wide and most of it is empty."""
    if width <= WIDE:
        return True
    named = 0
    for i in range(x.size):
        named += 1 if x[i] != 0 else 0
    return SPARSE * named >= width


@kernel
def followed(mean: Real, value: Real, pace: Real) -> Real:
    """Return a running mean after one more value, which may raise it only tenfold."""
    if mean > 0:
        return mean + pace * (min(value, LARGEST_RISE * mean) - mean)
    return value


@outlined
def weaken(m: Machines, schedule: int, settings: Array, t: Real) -> None:
    """Apply the l2 penalty. Papers: every ``skip`` steps by skip / (t + t0), LL(13), SAPL(19)."""
    columns, flat = m.columns, m.weights.shape[2] == 0
    if settings[L2] == 0:
        return
    if schedule == LADDER:
        for r in range(m.rungs):
            factor = 1 - min(0.5, m.sums[ETA, r] * settings[L2])
            shrink(m, r, factor)
            if flat:
                shrink_biases(m.biases, r * columns, (r + 1) * columns, factor)
        return
    # LL's Algorithm 1 counts down from skip, SAPL's asks for t mod skip == 0.
    due = t % settings[SKIP] == (0 if schedule == PAPER_SAPL else settings[SKIP] - 1)
    if due:
        factor = max(1 - settings[SKIP] / (t + settings[T0]), 0.0)
        shrink(m, 0, factor)
        if flat:
            shrink_biases(m.biases, 0, columns, factor)


@kernel
def shrink_biases(biases: Array, first: int, end: int, factor: Real) -> None:
    """Shrink what LCC has in place of weights, SAPL section 3.3."""
    for a in range(biases.shape[0]):
        for c in range(first, end):
            biases[a, c] *= np.float32(factor)
