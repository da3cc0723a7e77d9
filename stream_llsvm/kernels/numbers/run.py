"""LL-SVM for numbers: the anchors' machines, learned by a regression's loss.

    H(x) = sum_j gamma_j(x) (W_j . x + b_j),    W_j += eta push gamma_j x,    LL(8), LL(11), LL(12)

where push = -d loss / d H. Codes, machines, and how anchors follow the records are those of
``members/anchors.py``. The target is brought to mean 0 and variance 1 as the features are. A step
is never longer than what makes the record's own loss least, so that no record can throw a machine.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.coding import encode, nearest
from stream_llsvm.kernels.jit import Array, Real, entry, kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.members.anchor_state import (
    ANCHORS,
    AVERAGE_FLOOR,
    CLUSTER_FLOOR,
    CLUSTERING,
    CODING,
    COMMON_SHARE,
    LADDER,
    MACHINES,
    MASS,
    MOVES,
    N_ANCHORS,
    NEIGHBORS,
    NORM,
    SEEN,
    SHARPNESS,
    SPREAD,
    STEPS,
    VISITS,
    ZOOM,
)
from stream_llsvm.kernels.members.anchor_steps import (
    energy_of,
    from_anchor,
    has_a_view,
    mean_of,
    measure,
    place,
    shift,
    weaken,
)
from stream_llsvm.kernels.members.machines import average, descend, heights_of, inherit
from stream_llsvm.kernels.numbers.blend import blend, follow_losses
from stream_llsvm.kernels.pegasos.losses import EPSILON_INSENSITIVE, curvature_of, push_of
from stream_llsvm.kernels.run import MODEL_LAYOUT
from stream_llsvm.kernels.run import SEEN as RECORDS
from stream_llsvm.kernels.scaling import (
    CENTRE,
    COUNT,
    INVERSE,
    RAW_CLIP,
    STATISTICS,
    is_due,
    observe,
    observe_row,
    put_side_by_side,
    scale_row,
    scale_settled,
)
from stream_llsvm.kernels.state import (
    FIRST_SECTION,
    LOSS,
    OWN_EXPERTS,
    RUNGS,
    STANDARDIZE,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, floats, integers

NUMBERS_KIND = 200
#: In standard deviations of the target: no answer, and no error, is greater.
FARTHEST = 8.0
# The rows of the plan: the model, its anchors, and what is known of the target and the experts.
_MODEL, _ANCHORS, _NUMBERS = range(3)
# Of row 0's sections.
_COUNTERS, _STATISTICS, _Z, _SCALES = 0, 1, 7, 20
assert (MODEL_LAYOUT[_Z][0], MODEL_LAYOUT[_SCALES][0]) == ("z", "scales")

LAYOUT = (
    ("epsilon", "f8", (1,), "state"),
    ("target", "f8", (1, STATISTICS), "state"),
    ("losses", "f8", ("all_experts",), "state"),
    ("blend", "f8", ("all_experts",), "scratch"),
    ("told", "f4", ("all_experts",), "scratch"),
)


@entry
def run_numbers(
    state: Array,
    scratch: Array,
    plan: Array,
    values: Array,
    at_all: Array,
    starts: Array,
    targets: Array,
    importance: Array,
    answers: Array,
) -> None:
    """Answer each row, then learn from it if it has a target (not NaN).

    ``values``, ``at_all`` and ``starts`` are rows as ``kernels.run.run`` takes them.
    """
    row, width = plan[_ANCHORS], plan[_MODEL, WIDTH]
    n_all, k_all, rungs, experts = row[ANCHORS], row[NEIGHBORS], row[RUNGS], row[OWN_EXPERTS]
    machines, loss = row[MACHINES], plan[_NUMBERS, LOSS]
    reach = k_all + machines - n_all
    o = plan[_MODEL, FIRST_SECTION:]
    counters = doubles(state, o[_COUNTERS], 4)
    statistics = doubles(state, o[_STATISTICS], (width, STATISTICS))
    scaled_row = floats(scratch, o[_Z], width)
    scales = doubles(scratch, o[_SCALES], (2, width))
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + rungs)
    running = doubles(state, o[1], 8)
    raw_scale = doubles(state, o[3], rungs)
    positions = floats(state, o[4], (n_all, width))
    facts = floats(state, o[5], (4, machines))
    keep = floats(state, o[6], (machines, rungs))
    gain = floats(state, o[7], machines)
    weights = floats(state, o[8], (machines, experts, width))
    biases = floats(state, o[9], (machines, experts))
    near = integers(scratch, o[10], reach)
    found = integers(scratch, o[11], 1)
    shares = floats(scratch, o[12], (4, reach))
    heights = floats(scratch, o[13], (reach, experts))
    sums = floats(scratch, o[14], (3, experts))
    products = floats(scratch, o[15], n_all)
    offset = floats(scratch, o[32], width)
    o = plan[_NUMBERS, FIRST_SECTION:]
    epsilon = doubles(state, o[0], 1)[0]
    target = doubles(state, o[1], (1, STATISTICS))
    losses = doubles(state, o[2], experts)
    trusts = doubles(scratch, o[3], experts)
    out = floats(scratch, o[4], experts)
    distance, along, code, pull = shares[0], shares[1], shares[2], shares[3]
    push, step, etas = sums[0], sums[1], sums[2]
    averaged, common = experts == 2 * rungs, machines > n_all
    scaling, sparse = plan[_MODEL, STANDARDIZE] == 1, starts.size > 0
    dense = not sparse and at_all.size == 0
    laid_out = settled = False
    farthest = FARTHEST if scaling else RAW_CLIP
    d = 0 if sparse or targets.size == 0 else values.size // targets.size
    for q in range(targets.size):
        begin, end = (starts[q], starts[q + 1]) if sparse else (q * d, (q + 1) * d)
        raw, at = values[begin:end], at_all[begin:end] if sparse else at_all
        x = scaled_row[: raw.size]
        if dense and scaling and not laid_out:
            settled = put_side_by_side(statistics[: raw.size], scales)
            laid_out = True
        if settled:
            scale_settled(scales, scaling, raw, x)
        else:
            scale_row(statistics, scaling, raw, at, x)
        x_norm = np.float32(0)
        for i in range(x.size):
            x_norm += x[i] * x[i]
        born = int(running[N_ANCHORS])
        k = min(k_all, born)
        if k > 0:
            scores_of(positions[:born], x, at, products)
            nearest(products, facts, born, x_norm, near[:k], distance, along)
            spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
            encode(row[CODING], distance, settings[SHARPNESS], spread, code[:k], pull)
        found[0] = k
        answering = near[: k + machines - n_all]
        if common:
            near[k] = n_all
            code[k] = np.float32(settings[COMMON_SHARE])
        heights_of(
            answering, code, raw_scale, keep, gain, weights, biases, averaged, x, at, heights, out
        )
        told = blend(losses, out, farthest, trusts)
        answers[q, 0] = in_units(target, scaling, told)
        if math.isnan(targets[q]):
            continue

        counters[RECORDS] += 1
        running[SEEN] += 1
        if scaling:
            due = is_due(counters[RECORDS], width)
            if due or not settled:
                observe_row(statistics, counters[RECORDS], raw, at)
                laid_out = False
            observe(target, 0, targets[q], counters[RECORDS], True, due)
        y = standing(target, scaling, targets[q])
        follow_losses(losses, running[SEEN], out, y, farthest, importance[q])
        if born < n_all and (
            k == 0 or distance[0] > np.float32(1e-5) * (x_norm + facts[NORM, near[0]])
        ):
            place(positions[born], facts, born, x, at, x_norm)
            inherit(born, answering, code, raw_scale, keep, gain, weights, biases, averaged)
            running[N_ANCHORS] += 1
        if k == 0:
            continue  # the first record only places the first anchor

        from_own = has_a_view(x, width)
        energy = energy_of(code, distance, k, answering.size, x_norm, from_own)
        usual = measure(running, distance, k, energy)
        any_push = False
        for r in range(rungs):
            rest = min(max(y - out[r], -farthest), farthest)
            push[r] = push_of(loss, 0.0, rest, epsilon)
            etas[r] = pace_of(loss, importance[q] * settings[STEPS + r] / usual, energy, rest,
                              push[r], epsilon)  # fmt: skip
            any_push |= push[r] != 0
        if averaged:
            push[rungs:] = 0  # averages only follow

        if settings[CLUSTERING] > 0:
            a = near[0]
            facts[VISITS, a] += 1
            move = max(settings[CLUSTER_FLOOR], 1 / facts[VISITS, a]) * min(1.0, importance[q])
            shift(positions[a], facts, a, move, x, at, along[0], x_norm)
            running[MOVES] += 1
        for j in range(answering.size):
            a = answering[j]
            weight = importance[q] * code[j]
            facts[MASS, a] += weight
            if averaged:
                pace = weight * max(settings[AVERAGE_FLOOR], 1 / (1 + facts[MASS, a]))
                average(a, np.float32(min(1.0, pace)), raw_scale, keep, gain, weights, biases)
            if any_push:
                view, bias_step = x, 1.0
                if from_own and a < n_all:
                    view = offset[: x.size]
                    bias_step -= from_anchor(positions[a], facts[ZOOM, a], x, at, view)
                descend(
                    a, code[j], etas, push, raw_scale, keep, gain, weights, biases, averaged, view,
                    at, step, bias_step,
                )  # fmt: skip
        t = running[SEEN] - 1
        weaken(LADDER, t, settings, etas, raw_scale, keep, gain, weights, biases, 1, averaged)


@kernel
def standing(target: Array, scaling: bool, y: Real) -> Real:
    """Return where a number stands among those seen, in standard deviations, as far as it counts.

    Without standardising, the number itself.
    """
    if not scaling:
        return min(max(y, -RAW_CLIP), RAW_CLIP)
    y = (y - target[0, CENTRE]) * target[0, INVERSE]
    return min(max(y, -FARTHEST), FARTHEST)


@kernel
def in_units(target: Array, scaling: bool, told: Real) -> Real:
    """Return an answer in the user's units."""
    if not scaling or target[0, COUNT] == 0:
        return told
    spread = 1 / target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
    return target[0, CENTRE] + spread * told


@kernel
def pace_of(loss: int, eta: Real, energy: Real, rest: Real, push: Real, epsilon: Real) -> Real:
    """Return eta, or what mends the record's own loss where that is less."""
    curvature = curvature_of(loss)
    if curvature > 0:
        return min(eta, 1 / (curvature * energy))
    if loss == EPSILON_INSENSITIVE and push != 0:
        return min(eta, (abs(rest) - epsilon) / (abs(push) * energy))
    return eta
