"""The landmarks member: a linear machine for each cluster, over similarities to landmarks.

    f(x, k) = sum_p theta_kp mu(x, l_p) + b     L3 section 2.1

x belongs to the cluster k whose centre is nearest, and to no other. The landmarks l_p are common to
all clusters, and so is the bias b (one a class). Clusters are found by online k-means among the
records as they are, landmarks are a fair sample of them or their principal components.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.coding import nearest
from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.landmarks.principal import follow_components, orthonormal, turn_to
from stream_llsvm.kernels.landmarks.projection import (
    PRINCIPAL,
    become,
    hand_over,
    overlap,
    place_in_sample,
    project,
)
from stream_llsvm.kernels.linear import copy_to, scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.members.anchor_state import MASS, NORM, VISITS
from stream_llsvm.kernels.members.anchor_steps import place, shift
from stream_llsvm.kernels.members.cells import AVERAGE_FLOOR, STEPS, follow, score_cells
from stream_llsvm.kernels.state import (
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    LOSS,
    MULTICLASS,
    OWN,
    OWN_EXPERTS,
    RUNGS,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, flat, floats, integers

CLUSTERS, LANDMARKS, DIRECTIONS, PROJECTION, CHOICE, PAUSE = range(OWN, OWN + 6)
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

LAYOUT = (
    ("settings", "f8", ("settings",), "state"),
    ("form", "f8", (2,), "state"),
    ("running", "f8", (8,), "state"),
    ("source", "i8", (1,), "state"),
    ("positions", "f4", ("clusters", "width"), "state"),
    ("facts", "f4", (4, "clusters"), "state"),
    ("landmarks", "f4", ("landmarks", "width"), "state"),
    ("norms", "f8", ("landmarks",), "state"),
    ("components", "f4", ("directions", "width"), "state"),
    ("bias", "f4", ("copies", "rungs", "columns"), "state"),
    ("weights", "f4", ("clusters", "landmarks", "copies", "rungs", "columns"), "state"),
    ("found", "i8", (2,), "scratch"),
    ("nearest", "f4", (2,), "scratch"),
    ("products", "f4", ("clusters",), "scratch"),
    ("shares", "f4", ("landmarks",), "scratch"),
    ("cells", "i8", ("landmarks",), "scratch"),
    ("sums", "f4", (2, "experts", "columns"), "scratch"),
    ("rest", "f4", ("width",), "scratch"),
    ("basis", "f4", ("directions", "width"), "scratch"),
    ("turn", "f4", ("directions", "directions"), "scratch"),
    ("turned", "f4", ("directions", "experts", "columns"), "scratch"),
)


@member_kernel
def run(
    state: Array,
    scratch: Array,
    plan: Array,
    member: int,
    z: Array,
    at_all: Array,
    starts: Array,
    labels: Array,
    importance: Array,
    scored: bool,
    scores: Array,
) -> None:
    """Score each row, in any case anew, then learn from it if it has a label."""
    row = plan[member]
    width, columns = plan[0, WIDTH], plan[0, COLUMNS]
    first, experts, rungs = row[FIRST_EXPERT], row[OWN_EXPERTS], row[RUNGS]
    clusters, most, directions = row[CLUSTERS], row[LANDMARKS], row[DIRECTIONS]
    wide = experts * columns
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + rungs)
    form = doubles(state, o[1], 2)
    running = doubles(state, o[2], 8)
    source = integers(state, o[3], 1)
    positions = floats(state, o[4], (clusters, width))
    facts = floats(state, o[5], (4, clusters))
    landmarks = floats(state, o[6], (most, width))
    norms = doubles(state, o[7], most)
    components = floats(state, o[8], (directions, width))
    bias = floats(state, o[9], wide)
    weights = floats(state, o[10], (clusters, most, wide))
    found = integers(scratch, o[11], 2)
    near_by = floats(scratch, o[12], 2)
    products = floats(scratch, o[13], clusters)
    shares = floats(scratch, o[14], most)
    cells = integers(scratch, o[15], most)
    sums = floats(scratch, o[16], (2, wide))
    rest = floats(scratch, o[17], width)
    basis = floats(scratch, o[18], (directions, width))
    turn = floats(scratch, o[19], (directions, directions))
    turned = floats(scratch, o[20], (directions, wide))
    near, distance, along = found[:1], near_by[:1], near_by[1:]
    for p in range(most):
        cells[p] = p
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        out = flat(scores[q, first : first + experts])
        x_norm = np.float32(0)
        for i in range(x.size):
            x_norm += x[i] * x[i]
        born, held = int(running[BORN]), int(running[HELD])
        scores_of(positions[:born], x, at, products)
        nearest(products, facts, born, x_norm, near, distance, along)
        k, n = max(0, near[0]), held if born > 0 else 0
        found[1] = n
        apart = project(
            row[PROJECTION], landmarks[:n], norms, x, at, x_norm, form[BELL], running[SPREAD],
            shares[:n],
        )  # fmt: skip
        score_cells(weights[k], bias, cells[:n], shares, out)
        if labels[q] < 0:
            continue
        running[SEEN] += 1
        step(
            row, columns, settings, bias, weights[k], facts, k, shares[:n], running[SEEN],
            labels[q], importance[q], form[L2], out, sums[0], sums[1],
        )  # fmt: skip
        if running[RESTING] > 0:
            continue
        running[OFFERED] += 1
        if running[OFFERED] == YOUNG:
            begin_anew(row, running, landmarks, norms, weights)
            born, held = 0, int(running[HELD])
        if n > 0:
            pace = max(SLOWEST, 1 / running[OFFERED])
            running[SPREAD] += pace * (apart - running[SPREAD])
        cluster(running, positions, facts, weights, born, k, x, at, x_norm, distance, along,
                importance[q])  # fmt: skip
        if row[CHOICE] != PRINCIPAL:
            p = place_in_sample(most, held, running[OFFERED], source)
            if p >= 0 and x_norm > 0:
                if p < held:
                    hand_over(weights, p, overlap(row[PROJECTION], shares[p], x_norm))
                become(landmarks[p], x, at)
                norms[p] = x_norm
                running[HELD] = max(held, p + 1)
        elif directions > 0 and x_norm > 0:
            lessons = running[OFFERED] // row[PAUSE]
            if running[OFFERED] < YOUNG or running[OFFERED] % row[PAUSE] == 0:
                become(rest, x, at)
                running[FOUND] = follow_components(
                    components, int(running[FOUND]), max(1.0, lessons), rest
                )
            if running[OFFERED] >= running[NEXT]:
                new = orthonormal(components, int(running[FOUND]), basis)
                turn_to(basis, new, landmarks, held, weights, int(running[BORN]), turn, turned)
                norms[:new] = 1
                running[HELD] = new
                running[NEXT] = running[OFFERED] + min(LONGEST, running[OFFERED] // 2)


@kernel
def begin_anew(
    row: Array, running: Array, landmarks: Array, norms: Array, weights: Array
) -> None:  # fmt: skip
    """Forget clusters and landmarks, and what was learned over them."""
    running[BORN] = 0
    running[SPREAD] = 0
    weights[:] = 0
    if row[CHOICE] != PRINCIPAL or row[DIRECTIONS] > 0:  # else they are the axes, and stay
        running[HELD] = 0
        running[FOUND] = 0
        running[NEXT] = 0


@kernel
def cluster(
    running: Array, positions: Array, facts: Array, weights: Array, born: int, k: int, x: Array,
    at: Array, x_norm: Real, distance: Array, along: Array, importance: Real,
) -> None:  # fmt: skip
    """Take a step of online k-means; a new cluster begins with the machine of the nearest."""
    apart = born == 0 or distance[0] > np.float32(1e-5) * (x_norm + facts[NORM, k])
    if born < positions.shape[0] and apart:
        place(positions[born], facts, born, x, at, x_norm)
        if born > 0:
            for p in range(weights.shape[1]):
                copy_to(weights[born, p], weights[k, p])
        running[BORN] = born + 1
        return
    facts[VISITS, k] += 1
    pace = max(CLUSTER_FLOOR, 1 / facts[VISITS, k]) * min(1.0, importance)
    shift(positions[k], facts, k, pace, x, at, along[0], x_norm)


@kernel
def step(
    row: Array, columns: int, settings: Array, bias: Array, weights: Array, facts: Array, k: int,
    shares: Array, seen: Real, label: int, importance: Real, l2: Real, out: Array, push: Array,
    pace: Array,
) -> None:  # fmt: skip
    """One step on the cluster's machine and the common bias, then on their averages.

    Of theta only the cluster's own row moves, by mu: at its optimum it is a sum of such steps over
    the cluster's records, L3(7), of lengths from 0 to c / m, L3(9), which cancel for the bias that
    all clusters share, L3(8). As in ``members/cells.py`` it is divided by the record's own energy,
    1 + sum_p mu_p^2.
    """
    rungs = row[RUNGS]
    half, averaged = rungs * columns, row[OWN_EXPERTS] == 2 * rungs
    for e in range(rungs):  # the averages only follow: nothing pushes them
        a, b = e * columns, (e + 1) * columns
        pushes(row[LOSS], row[MULTICLASS], out[a:b], label, push[a:b])
    energy = 1.0
    for p in range(shares.size):
        energy += shares[p] * shares[p]
    for r in range(rungs):
        eta = importance * settings[STEPS + r] / energy
        for u in range(r * columns, (r + 1) * columns):
            pace[u] = eta * push[u]
    slowest = settings[AVERAGE_FLOOR]
    follow(bias, pace, 1.0, min(1.0, importance * max(slowest, 1 / seen)), half, averaged)
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
