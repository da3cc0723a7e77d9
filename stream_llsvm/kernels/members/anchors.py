"""Anchors: one linear machine per anchor, blended by local codes. LL-SVM, LLC-SAPL, LCC, linear.

    H(x) = sum_j gamma_j(x) (W_j . x + b_j)   over the k nearest anchors, LL(8), SAPL(10), SAPL(11)

With one anchor it is the linear SVM, LL(3), SAPL(5); with all machines alike, too, LL(14); without
weights it is a linear SVM on the codes, LL(15). A record's step is that of LL Algorithm 1 or, if
the anchors move, of SAPL Algorithm 1.

Beside the anchors' machines there may be one more, the common machine, which answers every record
with a small fixed share: what all regions have in common is then learned once.

With a feature map phi, the machines see phi(x) and the codes x, LL(16): some columns are for the
codes and the others, the mapped ones, for the machines. Without one all are for both.

But for the papers' own schedule, a machine learns from the record as its anchor sees it, x - v_j,
and the bias that it has there: around their anchor records lie on all sides, seen from the origin
all on one, and then the steps of weights and bias undo each other. What is kept is W_j and b_j as
above. A wide record that names few columns (a text) is learned as it is: x - v over these columns
alone is a view from nowhere, with which steps may grow without end, and over all columns it would
cost the width.

An anchor lies at zoom_j q_j: moving towards x shrinks zoom_j and adds x to q_j, so that a move
costs only what the record names.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.coding import RECONSTRUCTION, encode, nearest_of_many
from stream_llsvm.kernels.jit import Array, member_kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.members.anchor_state import (
    ANCHOR_STEP,
    ANCHORS,
    AVERAGE_FLOOR,
    BIAS_STEP,
    CLUSTER_FLOOR,
    CLUSTERING,
    CODING,
    COMMON_SHARE,
    ENERGY,
    FLAT,
    L2,
    LADDER,
    LAYOUT,
    MACHINES,
    MAPPED,
    MASS,
    MOVES,
    N_ANCHORS,
    NEIGHBORS,
    NORM,
    PAPER_LLSVM,
    PAPER_SAPL,
    PATIENCE,
    PLACED,
    REACH,
    SCHEDULE,
    SEEN,
    SHARPNESS,
    SKIP,
    SPREAD,
    STEPS,
    SUPERVISED,
    T0,
    TILT,
    VISITS,
    ZOOM,
)
from stream_llsvm.kernels.members.anchor_steps import (
    best_expert,
    brace,
    energy_of,
    from_anchor,
    has_a_view,
    mean_of,
    measure,
    place,
    shift,
    slope_of,
    tilt_of,
    weaken,
)
from stream_llsvm.kernels.members.machines import average, descend, heights_of, inherit
from stream_llsvm.kernels.members.mapped import take_apart
from stream_llsvm.kernels.pieces import pieces_of, row_of
from stream_llsvm.kernels.reconstruction import reconstruct
from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.state import (
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    LOSS,
    MULTICLASS,
    OWN_EXPERTS,
    RUNGS,
    WIDTH,
)
from stream_llsvm.kernels.vectors import square_of
from stream_llsvm.kernels.views import doubles, flat, floats, integers

__all__ = [
    "ANCHOR_STEP",
    "AVERAGE_FLOOR",
    "CLUSTERING",
    "CLUSTER_FLOOR",
    "COMMON_SHARE",
    "ENERGY",
    "L2",
    "LADDER",
    "LAYOUT",
    "MASS",
    "MOVES",
    "NORM",
    "N_ANCHORS",
    "PAPER_LLSVM",
    "PAPER_SAPL",
    "PATIENCE",
    "PLACED",
    "REACH",
    "SEEN",
    "SHARPNESS",
    "SKIP",
    "SPREAD",
    "STEPS",
    "T0",
    "TILT",
    "VISITS",
    "ZOOM",
    "run",
]

LARGEST_MOVE = 0.1


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
    """Score each row, then learn from it if it has a label (a code of 0 or more).

    ``scored`` says that the last call scored the first row and nothing has changed since.
    """
    row = plan[member]
    n_all, k_all, rungs, experts = row[ANCHORS], row[NEIGHBORS], row[RUNGS], row[OWN_EXPERTS]
    machines, first = row[MACHINES], row[FIRST_EXPERT]
    width, columns = plan[0, WIDTH], plan[0, COLUMNS]
    wide, reach = experts * columns, k_all + machines - n_all
    machine_width = 0 if row[FLAT] == 1 else width
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + rungs)
    running = doubles(state, o[1], 8)
    hits = doubles(state, o[2], experts)
    raw_scale = doubles(state, o[3], rungs)
    positions = floats(state, o[4], (n_all, width))
    facts = floats(state, o[5], (4, machines))
    keep = floats(state, o[6], (machines, rungs))
    gain = floats(state, o[7], machines)
    weights = floats(state, o[8], (machines, wide, machine_width))
    biases = floats(state, o[9], (machines, wide))
    near = integers(scratch, o[10], reach)
    found = integers(scratch, o[11], 1)
    shares = floats(scratch, o[12], (4, reach))
    heights = floats(scratch, o[13], (reach, wide))
    sums = floats(scratch, o[14], (3, wide))
    products = floats(scratch, o[15], n_all)
    mapped = floats(state, o[20], row[MAPPED])
    halves = floats(scratch, o[21], (2, row[MAPPED]))
    places = integers(scratch, o[22], (2, row[MAPPED]))
    solved = k_all if row[CODING] == RECONSTRUCTION else 0
    gram = doubles(scratch, o[16], (solved, solved + 1))
    packed, begins, pieces = pieces_of(scratch, plan)
    if mapped.size > 0:  # a record is taken apart by columns
        pieces = pieces[:0]
    offset = floats(scratch, o[32], width)
    distances = floats(scratch, o[17], n_all)
    least = floats(scratch, o[18], GROUPS)
    some = integers(scratch, o[19], GROUPS)
    distance, along, code, pull = shares[0], shares[1], shares[2], shares[3]
    push, step, etas = sums[0], sums[1], sums[2]
    averaged = experts == 2 * rungs
    common = machines > n_all
    schedule = row[SCHEDULE]
    centred = schedule == LADDER and machine_width > 0 and mapped.size == 0

    for q in range(labels.size):
        x, at = row_of(q, z, at_all, starts, packed, begins, pieces)
        out = flat(scores[q, first : first + experts])
        seen, seen_at = x, at
        if mapped.size > 0:  # codes of x, machines on phi(x), LL(16)
            n_seen, n_mapped = take_apart(x, at, mapped, halves, places)
            seen, seen_at = halves[0][:n_seen], places[0][:n_seen]
            x, at = halves[1][:n_mapped], places[1][:n_mapped]
        x_norm = square_of(x)
        seen_norm = square_of(seen) if mapped.size > 0 else x_norm

        if not scored:
            born = int(running[N_ANCHORS])
            k = min(k_all, born)
            if k > 0:
                scores_of(positions[:born], seen, seen_at, products)
                nearest_of_many(
                    products, facts, born, seen_norm, distances, least, some, near[:k], distance,
                    along,
                )  # fmt: skip
                spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
                if solved > 0:
                    reconstruct(positions, facts, near[:k], along, seen_norm, gram, code[:k])
                    pull[:] = 0
                else:
                    encode(row[CODING], distance, settings[SHARPNESS], spread, code[:k], pull)
            found[0] = k
            if common:
                near[k] = n_all
                code[k] = np.float32(settings[COMMON_SHARE])
                k += 1
            heights_of(
                near[:k],
                code,
                raw_scale,
                keep,
                gain,
                weights,
                biases,
                averaged,
                x,
                at,
                heights,
                out,
            )

        label = labels[q]
        if label < 0:
            continue
        k = found[0]
        answering = near[: k + machines - n_all]
        best = best_expert(hits, out, columns, label)
        running[SEEN] += 1
        born = int(running[N_ANCHORS])
        if born < n_all and (
            k == 0 or distance[0] > np.float32(1e-5) * (seen_norm + facts[NORM, near[0]])
        ):
            place(positions[born], facts, born, seen, seen_at, seen_norm)
            inherit(born, near[:k], code, raw_scale, keep, gain, weights, biases, averaged)
            running[N_ANCHORS] += 1
        if k == 0:
            continue  # the first record only places the first anchor

        any_push = False
        for e in range(experts):
            if e >= rungs and e != best:
                continue  # averages only follow; the best expert may be one, and moves anchors
            a, b = e * columns, (e + 1) * columns
            any_push |= pushes(row[LOSS], row[MULTICLASS], out[a:b], label, push[a:b])
        sees = x_norm if machine_width > 0 else 0.0
        from_own = centred and has_a_view(x, width)
        energy = energy_of(code, distance, k, answering.size, sees, from_own)
        energy = measure(running, distance, k, energy)
        t = running[SEEN] - 1
        for r in range(rungs):
            if schedule == LADDER:
                etas[r] = importance[q] * settings[STEPS + r] / energy
            else:
                etas[r] = importance[q] / (settings[L2] * (t + settings[T0]))

        rein = settings[ANCHOR_STEP] * importance[q]
        if settings[PATIENCE] > 0:
            rein *= running[SPREAD]
        elif row[SUPERVISED] == 1:  # in passes over history: relative to the gradient's mean square
            tilt = tilt_of(best, columns, k, pull, distance, heights, out)
            rein *= settings[STEPS + best % rungs] * brace(running, tilt)
        for j in range(k):
            a = near[j]
            move = 0.0
            if row[SUPERVISED] == 1:
                if schedule == LADDER:
                    slope = slope_of(best, columns, push, heights[j], out)
                    move = rein * pull[j] * slope
                    if settings[PATIENCE] > 0:
                        move /= 1 + facts[MASS, a] / settings[PATIENCE]
                    move = min(max(move, -LARGEST_MOVE), LARGEST_MOVE)
                    if move < 0 and settings[PATIENCE] == 0 and facts[NORM, a] > running[REACH]:
                        move = 0.0  # it lies far out already
                else:
                    move = etas[0] * pull[j] * slope_of(0, columns, push, heights[j], out)
            if j == 0 and settings[CLUSTERING] > 0:
                facts[VISITS, a] += 1
                pace = max(settings[CLUSTER_FLOOR], 1 / facts[VISITS, a]) * min(1.0, importance[q])
                move = 1 - (1 - pace) * (1 - move)
            if move != 0:
                shift(positions[a], facts, a, move, seen, seen_at, along[j], seen_norm)
                running[MOVES] += 1

        for j in range(answering.size):
            a = answering[j]
            weight = importance[q] * abs(code[j])  # codes that reconstruct may be negative
            facts[MASS, a] += weight
            if averaged:
                pace = weight * max(settings[AVERAGE_FLOOR], 1 / (1 + facts[MASS, a]))
                average(a, np.float32(min(1.0, pace)), raw_scale, keep, gain, weights, biases)
            if any_push:
                view, bias_step = x, settings[BIAS_STEP]
                if from_own and a < n_all:
                    view = offset[: x.size]
                    bias_step -= from_anchor(positions[a], facts[ZOOM, a], x, at, view)
                descend(
                    a,
                    code[j],
                    etas,
                    push,
                    raw_scale,
                    keep,
                    gain,
                    weights,
                    biases,
                    averaged,
                    view,
                    at,
                    step,
                    bias_step,
                )
        weaken(
            schedule, t, settings, etas, raw_scale, keep, gain, weights, biases, columns, averaged
        )
