"""Local coding: which anchors answer a record, and with what share.

``nearest`` finds the k nearest anchors, ``softmax`` and ``inverse_distance`` turn their distances
into codes that sum to one, LL(1), SAPL(1), SAPL(2). A smooth function is then nearly the blend of
its values at the anchors, LL(2), SAPL(7), which is why a machine per anchor is enough. A coding
also says how strongly an anchor's code reacts to a move of the anchor: ``pull[j]`` is such that

    dH/dv_j = pull_j (h_j - H) (x - v_j)

which for softmax codes is 2 beta gamma_j, SAPL(13), SAPL(14), SAPL(15) summed up: the derivative of
a code of its own is s (1 - gamma_j), of the others -s gamma_h, and the h's blend to H. A further
coding is a function here that fills ``code`` and ``pull``, and a line in ``encode``. Reconstruction
codes need more than distances, and their derivative has another direction: see
``reconstruction.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, steady_kernel
from stream_llsvm.kernels.search import smallest

SOFTMAX, INVERSE_DISTANCE, RECONSTRUCTION = range(3)
CODINGS = {
    "softmax": SOFTMAX,
    "inverse_distance": INVERSE_DISTANCE,
    "reconstruction": RECONSTRUCTION,
}


@kernel
def nearest(
    products: Array,
    facts: Array,
    n_anchors: int,
    x_norm: Real,
    near: Array,
    distance: Array,
    along: Array,
) -> None:
    """Find the k anchors nearest to x, nearest first, given each anchor's unscaled product with x.

    ``facts`` holds each anchor's zoom and squared norm in its first two rows. Fills near (which),
    distance (squared) and along (x . v).
    """
    k = near.size
    for j in range(k):
        distance[j] = np.float32(np.inf)
        near[j] = -1
    worst = distance[k - 1]
    for j in range(n_anchors):
        product = facts[0, j] * products[j]
        d = x_norm + facts[1, j] - 2 * product
        if d < worst:
            p = k - 1
            while p > 0 and distance[p - 1] > d:
                distance[p] = distance[p - 1]
                near[p] = near[p - 1]
                along[p] = along[p - 1]
                p -= 1
            distance[p] = d
            near[p] = j
            along[p] = product
            worst = distance[k - 1]
    for j in range(k):
        distance[j] = max(distance[j], np.float32(0))


class Search(NamedTuple):
    """What is known of each anchor, and scratch for the search."""

    facts: Array
    distances: Array
    least: Array
    some: Array


@inlined
def search_of(m: Any) -> Search:
    """Return what ``nearest_of_many`` sees of a member's state."""
    return Search(m.facts, m.distances, m.least, m.some)


@steady_kernel
def nearest_of_many(
    m: Search, products: Array, n_anchors: int, x_norm: Real, near: Array, distance: Array,
    along: Array,
) -> None:  # fmt: skip
    """Do what ``nearest`` does, for so many anchors that sorting as they come is slow."""
    distances_of(products, m.facts, n_anchors, x_norm, m.distances)
    smallest(m.distances[:n_anchors], m.least, m.some, near, distance[: near.size])
    zooms = m.facts[0, :n_anchors]
    for j in range(near.size):
        along[j] = zooms[near[j]] * products[near[j]]


@steady_kernel
def distances_of(
    products: Array, facts: Array, n_anchors: int, x_norm: Real, distances: Array
) -> None:
    """Fill the squared distance of each anchor, given its unscaled product with x."""
    zooms, norms = facts[0, :n_anchors], facts[1, :n_anchors]
    for j in range(n_anchors):
        d = x_norm + norms[j] - 2 * zooms[j] * products[j]
        distances[j] = max(d, np.float32(0))


@steady_kernel
def softmax(distance: Array, beta: Real, code: Array, pull: Array) -> None:
    """SAPL(2), over the k nearest; shifted by the smallest distance so that nothing underflows."""
    total = np.float32(0)
    for j in range(code.size):
        code[j] = math.exp(-beta * (distance[j] - distance[0]))
        total += code[j]
    for j in range(code.size):
        code[j] /= total
        pull[j] = 2 * beta * code[j]


@steady_kernel
def inverse_distance(distance: Array, spread: Real, code: Array, pull: Array) -> None:
    """Van Gemert's weighting as LL section 4 uses it: shares in proportion to 1 / distance."""
    floor = np.float32(1e-3) * math.sqrt(spread) + np.float32(1e-12)
    total = np.float32(0)
    for j in range(code.size):
        code[j] = 1 / (math.sqrt(distance[j]) + floor)
        total += code[j]
    for j in range(code.size):
        root = math.sqrt(distance[j]) + floor
        code[j] /= total
        pull[j] = code[j] / (root * root)


@steady_kernel
def encode(
    coding: int, distance: Array, sharpness: Real, spread: Real, code: Array, pull: Array
) -> None:
    """Codes of the neighbours whose distances are given; they sum to one."""
    spread = np.float32(spread)
    if coding == INVERSE_DISTANCE:
        inverse_distance(distance, spread, code, pull)
    else:
        softmax(distance, np.float32(sharpness) / (spread + np.float32(1e-12)), code, pull)
