"""The projection on landmarks, mu_L(x) of L3 section 2.1, and the landmarks that it needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import add_scaled, scores_of
from stream_llsvm.kernels.random import below

LINEAR, RBF = range(2)
RANDOM, PRINCIPAL = range(2)


@kernel
def project(m: Any, n: int, x: Array, at: Array, x_norm: Real, bell: Real, spread: Real) -> Real:
    """Fill shares with mu(x, l_p); returns the mean squared distance to the landmarks.

    Linear: x . l / |l|, so that a long landmark counts no more than a short one. RBF:
    exp(-|x - l|^2 / (bell spread)), with the mean squared distance that was usual so far.
    """
    norms, shares = m.norms, m.shares[:n]
    scores_of(m.landmarks[:n], x, at, shares)
    if m.projection == LINEAR:
        for p in range(shares.size):
            shares[p] *= np.float32(1 / math.sqrt(norms[p])) if norms[p] > 0 else np.float32(0)
        return 0.0
    total = 0.0
    for p in range(shares.size):
        distance = max(0.0, x_norm + norms[p] - 2 * shares[p])
        total += distance
        shares[p] = distance
    mean = total / max(1, shares.size)
    usual = spread if spread > 0 else mean
    factor = -1 / (bell * usual) if usual > 0 else 0.0
    for p in range(shares.size):
        shares[p] = math.exp(factor * shares[p])
    return mean


@kernel
def place_in_sample(most: int, held: int, offered: Real, source: Array) -> int:
    """Return which landmark a record becomes so that they are a fair sample; -1 for none."""
    if held < most:
        return held
    p = below(source, int(offered))
    return p if p < most else -1


@kernel
def overlap(projection: int, share: Real, x_norm: Real) -> Real:
    """Return mu of a landmark and the record x that takes its place, given mu(x, landmark)."""
    if projection == RBF:
        return share
    return share / math.sqrt(x_norm)


@kernel
def hand_over(weights: Array, p: int, kept: Real) -> None:
    """Give a new landmark what it can say of its predecessor's weights: theta mu(old, new).

    That is the best that one similarity can do for another, and with it the score changes as
    little as it can.
    """
    for k in range(weights.shape[0]):
        w = weights[k, p]
        for u in range(w.size):
            w[u] *= kept


@kernel
def become(landmark: Array, x: Array, at: Array) -> None:
    """Let a landmark be this record."""
    landmark[:] = 0
    add_scaled(landmark, x, at, np.float32(1))
