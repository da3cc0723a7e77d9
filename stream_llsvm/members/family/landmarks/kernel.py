"""The landmarks member: a linear machine for each cluster, over similarities to landmarks.

    f(x, k) = sum_p theta_kp mu(x, l_p) + b     L3 section 2.1

x belongs to the cluster k whose centre is nearest, and to no other. The landmarks l_p are common to
all clusters, and so is the bias b (one a class). Clusters are found by online k-means among the
records as they are, landmarks are a fair sample of them or their principal components.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.cells import AVERAGE_FLOOR, STEPS, find_pace, follow, score_cells
from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to, scores_of
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.anchors.codes import nearest
from stream_llsvm.members.anchors.state import MASS, NORM, VISITS
from stream_llsvm.members.anchors.steps import place, shift
from stream_llsvm.members.family.landmarks.principal import follow_components, orthonormal, turn_to
from stream_llsvm.members.family.landmarks.projection import (
    PRINCIPAL,
    become,
    hand_over,
    overlap,
    place_in_sample,
    project,
)

# The RBF's width, and the penalty on weights.
BELL, L2 = range(2)
# Records learned, clusters, landmarks, the usual squared distance, records that landmarks stand
# for, whether clusters and landmarks rest, components found, and when they are next made landmarks.
SEEN, BORN, HELD, SPREAD, OFFERED, RESTING, FOUND, NEXT = range(8)

#: Until then records lay where the first few guesses of the scales had put them.
YOUNG = 20
CLUSTER_FLOOR = 0.01
SLOWEST = 0.001
#: Records between two times that components become landmarks: half of all so far, at most so many.
LONGEST = 8_192


class LandmarksState(NamedTuple):
    """What a landmarks member keeps, by name."""

    columns: int
    first_expert: int
    experts: int
    rungs: int
    loss: int
    multiclass: int
    n_landmarks: int
    directions: int
    projection: int
    choice: int
    pause: int
    settings: Annotated[Array, state("f8", "settings")]
    form: Annotated[Array, state("f8", 2)]
    running: Annotated[Array, state("f8", 8)]
    source: Annotated[Array, state("i8", 1)]
    #: The clusters' centres, and what is known of each, as of an anchor.
    positions: Annotated[Array, state("f4", "clusters", "width")]
    facts: Annotated[Array, state("f4", 4, "clusters")]
    landmarks: Annotated[Array, state("f4", "n_landmarks", "width")]
    norms: Annotated[Array, state("f8", "n_landmarks")]
    components: Annotated[Array, state("f4", "directions", "width")]
    bias: Annotated[Array, state("f4", ("copies", "rungs", "columns"))]
    weights: Annotated[
        Array, state("f4", "clusters", "n_landmarks", ("copies", "rungs", "columns"))
    ]
    #: The record's cluster, and how many landmarks it was compared with.
    found: Annotated[Array, scratch("i8", 2)]
    nearest: Annotated[Array, scratch("f4", 2)]
    products: Annotated[Array, scratch("f4", "clusters")]
    shares: Annotated[Array, scratch("f4", "n_landmarks")]
    cells: Annotated[Array, scratch("i8", "n_landmarks")]
    sums: Annotated[Array, scratch("f4", 2, ("experts", "columns"))]
    rest: Annotated[Array, scratch("f4", "width")]
    basis: Annotated[Array, scratch("f4", "directions", "width")]
    turn: Annotated[Array, scratch("f4", "directions", "directions")]
    turned: Annotated[Array, scratch("f4", "directions", ("experts", "columns"))]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, in any case anew, then learn from it if it has a label."""
    m = views(LandmarksState, state, scratch, plan, member)
    running, near, distance, along = m.running, m.found[:1], m.nearest[:1], m.nearest[1:]
    for p in range(m.n_landmarks):
        m.cells[p] = p
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        label, importance = chunk.labels[q], chunk.importance[q]
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        x_norm = np.float32(0)
        for i in range(x.size):
            x_norm += x[i] * x[i]
        born, held = int(running[BORN]), int(running[HELD])
        scores_of(m.positions[:born], x, at, m.products)
        nearest(m.products, m.facts, born, x_norm, near, distance, along)
        k, n = max(0, near[0]), held if born > 0 else 0
        m.found[1] = n
        apart = project(m, n, x, at, x_norm, m.form[BELL], running[SPREAD])
        score_cells(m.weights[k], m.bias, m.cells[:n], m.shares, out)
        if label < 0:
            continue
        running[SEEN] += 1
        step(m, k, n, label, importance, out)
        if running[RESTING] > 0:
            continue
        running[OFFERED] += 1
        if running[OFFERED] == YOUNG:
            begin_anew(m)
            born, held = 0, int(running[HELD])
        if n > 0:
            pace = max(SLOWEST, 1 / running[OFFERED])
            running[SPREAD] += pace * (apart - running[SPREAD])
        cluster(m, born, k, x, at, x_norm, importance)
        if m.choice != PRINCIPAL:
            sample_landmark(m, held, x, at, x_norm)
        elif m.directions > 0 and x_norm > 0:
            follow_directions(m, held, x, at)


@kernel
def sample_landmark(m: LandmarksState, held: int, x: Array, at: Array, x_norm: Real) -> None:
    """Let a record become a landmark, if the fair sample has a place for it."""
    p = place_in_sample(m.n_landmarks, held, m.running[OFFERED], m.source)
    if p >= 0 and x_norm > 0:
        if p < held:
            hand_over(m.weights, p, overlap(m.projection, m.shares[p], x_norm))
        become(m.landmarks[p], x, at)
        m.norms[p] = x_norm
        m.running[HELD] = max(held, p + 1)


@kernel
def follow_directions(m: LandmarksState, held: int, x: Array, at: Array) -> None:
    """Follow the principal components, which become the landmarks now and then."""
    running = m.running
    lessons = running[OFFERED] // m.pause
    if running[OFFERED] < YOUNG or running[OFFERED] % m.pause == 0:
        become(m.rest, x, at)
        running[FOUND] = follow_components(
            m.components, int(running[FOUND]), max(1.0, lessons), m.rest
        )
    if running[OFFERED] >= running[NEXT]:
        new = orthonormal(m.components, int(running[FOUND]), m.basis)
        turn_to(m, new, held, int(running[BORN]))
        m.norms[:new] = 1
        running[HELD] = new
        running[NEXT] = running[OFFERED] + min(LONGEST, running[OFFERED] // 2)


@kernel
def begin_anew(m: LandmarksState) -> None:
    """Forget clusters and landmarks, and what was learned over them."""
    running = m.running
    running[BORN] = 0
    running[SPREAD] = 0
    m.weights[:] = 0
    if m.choice != PRINCIPAL or m.directions > 0:  # else they are the axes, and stay
        running[HELD] = 0
        running[FOUND] = 0
        running[NEXT] = 0


@kernel
def cluster(
    m: LandmarksState, born: int, k: int, x: Array, at: Array, x_norm: Real, importance: Real
) -> None:
    """Take a step of online k-means; a new cluster begins with the machine of the nearest."""
    positions, facts, weights = m.positions, m.facts, m.weights
    distance, along = m.nearest[:1], m.nearest[1:]
    apart = born == 0 or distance[0] > np.float32(1e-5) * (x_norm + facts[NORM, k])
    if born < positions.shape[0] and apart:
        place(positions[born], facts, born, x, at, x_norm)
        if born > 0:
            for p in range(weights.shape[1]):
                copy_to(weights[born, p], weights[k, p])
        m.running[BORN] = born + 1
        return
    facts[VISITS, k] += 1
    pace = max(CLUSTER_FLOOR, 1 / facts[VISITS, k]) * min(1.0, importance)
    shift(positions[k], facts, k, pace, x, at, along[0], x_norm)


@kernel
def step(m: LandmarksState, k: int, n: int, label: int, importance: Real, out: Array) -> None:
    """One step on the cluster's machine and the common bias, then on their averages.

    Of theta only the cluster's own row moves, by mu: at its optimum it is a sum of such steps over
    the cluster's records, L3(7), of lengths from 0 to c / m, L3(9), which cancel for the bias that
    all clusters share, L3(8). As in ``kernels/cells.py`` it is divided by the record's own energy,
    1 + sum_p mu_p^2.
    """
    rungs, columns, settings, facts = m.rungs, m.columns, m.settings, m.facts
    weights, shares, l2 = m.weights[k], m.shares[:n], m.form[L2]
    pace, half, averaged = m.sums[1], rungs * columns, m.experts == 2 * rungs
    energy = find_pace(m, shares, label, importance, out)
    slowest, seen = settings[AVERAGE_FLOOR], m.running[SEEN]
    follow(m.bias, pace, 1.0, min(1.0, importance * max(slowest, 1 / seen)), half, averaged)
    if shares.size == 0:
        return
    facts[MASS, k] += importance
    rate = min(1.0, importance * max(slowest, 1 / (1 + facts[MASS, k])))
    if l2 > 0:
        for r in range(rungs):
            eta = importance * settings[STEPS + r] / energy
            kept = np.float32(1 - min(0.5, eta * l2))
            for p in range(shares.size):
                for u in range(r * columns, (r + 1) * columns):
                    weights[p, u] *= kept
    for p in range(shares.size):
        follow(weights[p], pace, shares[p], rate, half, averaged)
