"""Linear machines, one per anchor: raw and averaged weights side by side, at a linear price.

The averaged weights of a machine follow its raw ones on every record it answers; done plainly that
is a pass over all of them. Here both are kept in two parts, u and p (the two halves of a machine's
rows in ``weights``), and three scales:

    raw       W = raw_scale u             raw_scale: one per rung, for all machines
    averaged  A = keep u + gain p         keep: one per machine and rung; gain: one per machine

    A += r (W - A)     keep += r (raw_scale - keep), gain *= 1 - r
    W += s x           u += (s / raw_scale) x, and p -= keep / gain (s / raw_scale) x leaves A alone
    W *= 1 - l         raw_scale *= 1 - l, LL(13)

so averaging and shrinking cost a few numbers, and a step touches only the features a record names.
A scale that has become small is folded into what it scales, which is rare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, outlined, steady_kernel
from stream_llsvm.kernels.linear import add_outer, scores_of
from stream_llsvm.members.anchors.state import ETA, PUSH, STEP, AnchorState

SMALL = np.float32(1e-4)
# Averaged weights are a difference of two numbers that grow as raw_scale falls.
SMALL_RAW = 1e-2


class Machines(NamedTuple):
    """What these functions see of an ``AnchorState``; a tuple of few arrays compiles fast."""

    columns: int
    rungs: int
    #: Whether machines have averaged weights beside their raw ones.
    averaged: bool
    raw_scale: Array
    keep: Array
    gain: Array
    weights: Array
    biases: Array
    #: Pushes, steps, and step sizes.
    sums: Array


@inlined
def machines_of(m: AnchorState) -> Machines:
    """Return the machines of a member's state."""
    averaged = m.experts == 2 * m.rungs
    return Machines(
        m.columns, m.rungs, averaged, m.raw_scale, m.keep, m.gain, m.weights, m.biases, m.sums
    )


@steady_kernel
def heights_of(
    m: Machines, near: Array, code: Array, x: Array | None, at: Array | None, heights: Array,
    out: Array,
) -> None:  # fmt: skip
    """h_j = W_j . x + b_j of the near machines, and their blend H = sum_j code_j h_j, LL(8).

    Without an x, ``heights`` holds each W_j . x already, as ``scores_of`` leaves it.
    """
    raw_scale, keep, gain, weights = m.raw_scale, m.keep, m.gain, m.weights
    averaged, columns = m.averaged, m.columns
    half = m.rungs * columns
    out[:] = 0
    for j in range(near.size):
        a = near[j]
        h, bias = heights[j], m.biases[a]
        if weights.shape[2] == 0:
            h[:] = 0
        elif x is not None:
            scores_of(weights[a], x, at, h)
        # Slices, whose places are known not to be negative, become vector instructions.
        for r in range(raw_scale.size):
            scale = np.float32(raw_scale[r])
            begin, end = r * columns, (r + 1) * columns
            raw, raw_bias = h[begin:end], bias[begin:end]
            if averaged:
                mean, mean_bias = h[half + begin : half + end], bias[half + begin : half + end]
                for c in range(columns):
                    mean[c] = keep[a, r] * raw[c] + gain[a] * mean[c] + mean_bias[c]
            for c in range(columns):
                raw[c] = scale * raw[c] + raw_bias[c]
        share = code[j]
        for u in range(h.size):
            out[u] += share * h[u]


@outlined
def inherit(m: Machines, a: int, near: Array, code: Array) -> None:
    """Give the new machine a the blend of the near ones, so that no prediction jumps."""
    raw_scale, keep, gain, weights, biases = m.raw_scale, m.keep, m.gain, m.weights, m.biases
    rungs, columns, averaged, width = m.rungs, m.columns, m.averaged, m.weights.shape[2]
    half = rungs * columns
    gain[a] = 1
    for r in range(rungs):
        keep[a, r] = np.float32(raw_scale[r])
    for j in range(near.size):
        b = near[j]
        for c in range(biases.shape[1]):
            biases[a, c] += code[j] * biases[b, c]
        for u in range(half if width > 0 else 0):
            r = u // columns
            for i in range(width):
                weights[a, u, i] += code[j] * weights[b, u, i]
            if averaged:
                # Averaged minus raw: with keep = raw_scale and gain = 1 that is what p means.
                lag = code[j] * (keep[b, r] - np.float32(raw_scale[r]))
                rest = code[j] * gain[b]
                p = half + u
                for i in range(width):
                    weights[a, p, i] += lag * weights[b, u, i] + rest * weights[b, p, i]


@kernel
def average(m: Machines, a: int, rate: Real) -> None:
    """Draw machine a's averaged weights towards its raw ones."""
    raw_scale, keep, gain, weights, biases = m.raw_scale, m.keep, m.gain, m.weights, m.biases
    half = m.rungs * m.columns
    gain[a] *= 1 - rate
    if gain[a] < SMALL:
        for p in range(half, weights.shape[1]):
            for i in range(weights.shape[2]):
                weights[a, p, i] *= gain[a]
        gain[a] = 1
    for r in range(raw_scale.size):
        keep[a, r] += rate * (np.float32(raw_scale[r]) - keep[a, r])
    raw, mean = biases[a, :half], biases[a, half:]
    for u in range(half):
        mean[u] += rate * (raw[u] - mean[u])


@kernel
def descend(m: Machines, a: int, share: Real, x: Array, at: Array, bias_step: Real) -> None:
    """W_a += eta push share x, b_a += eta push share: LL(11), LL(12), SAPL(17), SAPL(18).

    A bias may be asked to go ``bias_step`` times as far; the papers' is 1.
    """
    push, step, etas = m.sums[PUSH], m.sums[STEP], m.sums[ETA]
    averaged, columns = m.averaged, m.columns
    half = m.rungs * columns
    for r in range(m.rungs):
        eta = etas[r] * share
        per_u = 1 / np.float32(m.raw_scale[r])
        per_p = -m.keep[a, r] / m.gain[a] if averaged else np.float32(0)
        begin, end = r * columns, (r + 1) * columns
        own, bias, raw = push[begin:end], m.biases[a, begin:end], step[begin:end]
        for c in range(columns):
            s = eta * own[c]
            bias[c] += s * np.float32(bias_step)
            raw[c] = s * per_u
        if averaged:
            mean = step[half + begin : half + end]
            for c in range(columns):
                mean[c] = raw[c] * per_p
    if m.weights.shape[2] > 0:
        add_outer(m.weights[a], step, x, at)


@kernel
def shrink(m: Machines, r: int, factor: Real) -> None:
    """W *= factor for the rung's raw weights, LL(13), SAPL(19)."""
    raw_scale, keep, gain, weights = m.raw_scale, m.keep, m.gain, m.weights
    averaged, columns = m.averaged, m.columns
    raw_scale[r] *= factor
    if raw_scale[r] >= SMALL_RAW:
        return
    scale = np.float32(raw_scale[r])
    raw_scale[r] = 1
    shift = weights.shape[1] // 2
    for a in range(weights.shape[0]):
        for u in range(r * columns, (r + 1) * columns):
            for i in range(weights.shape[2]):
                folded = scale * weights[a, u, i]
                if averaged and gain[a] > 0:
                    # keep becomes 1: p takes over what then is missing of the average.
                    rest = (keep[a, r] * weights[a, u, i] - folded) / gain[a]
                    weights[a, shift + u, i] += rest
                weights[a, u, i] = folded
        keep[a, r] = 1
