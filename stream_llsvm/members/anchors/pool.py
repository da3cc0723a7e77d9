"""Adding up machines of several models, each brought to the merged model's scales and units."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, entry, kernel


@entry
def add_machines(
    weights: Array, biases: Array, raw_scale: Array, keep: Array, gain: Array, factor: Array,
    offset: Array, units: Array, anchors: int, averaged: bool, shares: Array, out: Array,
    out_biases: Array,
) -> None:  # fmt: skip
    """Add a model's plain weights and biases, as far as each of its machines counts.

    ``shares`` has two rows: of raw weights and of averaged ones. With ``z_old = factor z + offset``
    a weight w becomes factor w, and w offset is the bias's. ``units`` are a factor and an offset of
    the answer; the latter belongs to the anchors, of which those that answer share one.
    """
    half = weights.shape[1] // 2 if averaged else weights.shape[1]
    columns = half // raw_scale.size
    unit = np.float32(units[0])
    for a in range(weights.shape[0]):
        share, mean_share = np.float32(shares[0, a]), np.float32(shares[1, a])
        shift = np.float32(units[1]) if a < anchors else np.float32(0)
        for u in range(half):
            own = weights[a, u]
            if share != 0:
                scale = np.float32(raw_scale[u // columns])
                lean = add_plain(own, own, scale, np.float32(0), factor, offset, share * unit,
                                 out[a, u])  # fmt: skip
                out_biases[a, u] += share * (unit * (biases[a, u] + lean) + shift)
            if averaged and mean_share != 0:
                p = half + u
                lean = add_plain(own, weights[a, p], keep[a, u // columns], gain[a], factor, offset,
                                 mean_share * unit, out[a, p])  # fmt: skip
                out_biases[a, p] += mean_share * (unit * (biases[a, p] + lean) + shift)


@kernel
def add_plain(
    u: Array, p: Array, keep: Real, gain: Real, factor: Array, offset: Array, share: Real,
    out: Array,
) -> Real:  # fmt: skip
    """Add ``share`` times the weights keep u + gain p, rescaled; returns what is the bias's."""
    lean = np.float32(0)
    for i in range(u.size):
        w = keep * u[i] + gain * p[i]
        lean += w * offset[i]
        out[i] += share * factor[i] * w
    return lean


@entry
def find_gaps(points: Array, gaps: Array) -> None:
    """Find the squared distance from each point to the nearest other one."""
    gaps[:] = np.inf
    for a in range(points.shape[0]):
        for b in range(a):
            distance = square_between(points[a], points[b])
            gaps[a], gaps[b] = min(gaps[a], distance), min(gaps[b], distance)


@entry
def find_own(points: Array, ours: Array, gaps: Array, own: Array) -> None:
    """Say of each point whether none of ours is nearer than the one of the same number.

    That is so of all that lie within half of its gap; only of others it has to be looked for.
    """
    for a in range(points.shape[0]):
        distance, nearer = square_between(points[a], ours[a]), False
        if 4 * distance > gaps[a]:
            for b in range(ours.shape[0]):
                if b != a and square_between(points[a], ours[b]) < distance:
                    nearer = True
                    break
        own[a] = 0 if nearer else 1


@kernel
def square_between(a: Array, b: Array) -> Real:
    """Return the squared distance of two points."""
    total = np.float32(0)
    for i in range(a.size):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total
