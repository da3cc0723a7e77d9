"""LL-SVM for numbers: the anchors' machines, learned by a regression's loss.

    H(x) = sum_j gamma_j(x) (W_j . x + b_j),    W_j += eta push gamma_j x,    LL(8), LL(11), LL(12)

where push = -d loss / d H. Codes, machines, and how anchors follow the records are those of
``members/anchors/kernel.py``. The target is brought to mean 0 and variance 1 as features are. A
step is never longer than what makes the record's own loss least, so that no record can throw a
machine.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, entry, inlined, kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.losses import EPSILON_INSENSITIVE, curvature_of, residual_push
from stream_llsvm.kernels.run import SEEN as RECORDS
from stream_llsvm.kernels.run import SharedState
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
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.members.anchors.codes import encode, nearest
from stream_llsvm.members.anchors.machines import (
    average,
    descend,
    heights_of,
    inherit,
    machines_of,
)
from stream_llsvm.members.anchors.state import (
    ALONG,
    AVERAGE_FLOOR,
    CLUSTER_FLOOR,
    CLUSTERING,
    CODE,
    COMMON_SHARE,
    DISTANCE,
    ETA,
    MASS,
    MOVES,
    N_ANCHORS,
    NORM,
    PULL,
    PUSH,
    SEEN,
    SHARPNESS,
    SPREAD,
    STEPS,
    VISITS,
    ZOOM,
    AnchorState,
)
from stream_llsvm.members.anchors.steps import (
    energy_of,
    from_anchor,
    has_a_view,
    mean_of,
    measure,
    place,
    shift,
    weaken,
)
from stream_llsvm.members.regression.blend import blend, follow_losses

#: In standard deviations of the target: no answer, and no error, is greater.
FARTHEST = 8.0
# The rows of the plan: the model, its anchors, and what is known of the target and the experts.
_MODEL, _ANCHORS, _NUMBERS = range(3)


class NumbersState(NamedTuple):
    """What a model of numbers keeps beside its anchors, by name."""

    loss: int
    epsilon: Annotated[Array, state("f8", 1)]
    target: Annotated[Array, state("f8", 1, STATISTICS)]
    losses: Annotated[Array, state("f8", "all_experts")]
    blend: Annotated[Array, scratch("f8", "all_experts")]
    told: Annotated[Array, scratch("f4", "all_experts")]


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
    model = views(SharedState, state, scratch, plan, _MODEL)
    m = views(AnchorState, state, scratch, plan, _ANCHORS)
    numbers = views(NumbersState, state, scratch, plan, _NUMBERS)
    counters, statistics, scales = model.counters, model.statistics, model.scales
    target, out = numbers.target, numbers.told
    scaling, sparse = model.standardize == 1, starts.size > 0
    dense = not sparse and at_all.size == 0
    laid_out = settled = False
    farthest = FARTHEST if scaling else RAW_CLIP
    d = 0 if sparse or targets.size == 0 else values.size // targets.size
    for q in range(targets.size):
        begin, end = (starts[q], starts[q + 1]) if sparse else (q * d, (q + 1) * d)
        raw, at = values[begin:end], at_all[begin:end] if sparse else at_all
        x = model.z[0][: raw.size]
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
        score(m, x, at, x_norm, out)
        answers[q, 0] = in_units(
            target, scaling, blend(numbers.losses, out, farthest, numbers.blend)
        )
        if math.isnan(targets[q]):
            continue
        counters[RECORDS] += 1
        m.running[SEEN] += 1
        if scaling:
            due = is_due(counters[RECORDS], model.width)
            if due or not settled:
                observe_row(statistics, counters[RECORDS], raw, at)
                laid_out = False
            observe(target, 0, targets[q], counters[RECORDS], True, due)
        y = standing(target, scaling, targets[q])
        follow_losses(numbers.losses, m.running[SEEN], out, y, farthest, importance[q])
        learn(m, numbers, Example(x, at, x_norm, y, importance[q], farthest))


class Example(NamedTuple):
    """A scaled record, its squared norm, and what is to be learned from it."""

    x: Array
    at: Array
    norm: Real
    y: Real
    importance: Real
    farthest: Real


@inlined
def score(m: AnchorState, x: Array, at: Array, x_norm: Real, out: Array) -> None:
    """Find the anchors that answer, code the record by them, and blend their machines."""
    near, running, settings, code = m.near, m.running, m.settings, m.shares[CODE]
    distance, along, pull = m.shares[DISTANCE], m.shares[ALONG], m.shares[PULL]
    born = int(running[N_ANCHORS])
    k = min(m.neighbours, born)
    if k > 0:
        scores_of(m.positions[:born], x, at, m.products)
        nearest(m.products, m.facts, born, x_norm, near[:k], distance, along)
        spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
        encode(m.coding, distance, settings[SHARPNESS], spread, code[:k], pull)
    m.found[0] = k
    answering = near[: k + m.machines - m.anchors]
    if m.machines > m.anchors:
        near[k] = m.anchors
        code[k] = np.float32(settings[COMMON_SHARE])
    heights_of(machines_of(m), answering, code, x, at, m.heights, out)


@inlined
def learn(m: AnchorState, numbers: NumbersState, e: Example) -> None:
    """One step: a new anchor if there is room, online k-means, then the machines."""
    running, facts, settings = m.running, m.facts, m.settings
    distance, along, code = m.shares[DISTANCE], m.shares[ALONG], m.shares[CODE]
    push, etas, out, loss = m.sums[PUSH], m.sums[ETA], numbers.told, numbers.loss
    machines, epsilon = machines_of(m), numbers.epsilon[0]
    k, born = m.found[0], int(running[N_ANCHORS])
    answering = m.near[: k + m.machines - m.anchors]
    if born < m.anchors and (
        k == 0 or distance[0] > np.float32(1e-5) * (e.norm + facts[NORM, m.near[0]])
    ):
        place(m.positions[born], facts, born, e.x, e.at, e.norm)
        inherit(machines, born, answering, code)
        running[N_ANCHORS] += 1
    if k > 0:  # else the first record only places the first anchor
        centred = has_a_view(e.x, m.width)
        energy = energy_of(code, distance, k, answering.size, e.norm, centred)
        usual = measure(running, distance, k, energy)
        any_push = False
        for r in range(m.rungs):
            rest = min(max(e.y - out[r], -e.farthest), e.farthest)
            push[r] = residual_push(loss, rest, epsilon)
            eta = e.importance * settings[STEPS + r] / usual
            etas[r] = pace_of(loss, eta, energy, rest, push[r], epsilon)
            any_push |= push[r] != 0
        if machines.averaged:
            push[m.rungs :] = 0  # averages only follow

        if settings[CLUSTERING] > 0:
            a = m.near[0]
            facts[VISITS, a] += 1
            move = max(settings[CLUSTER_FLOOR], 1 / facts[VISITS, a]) * min(1.0, e.importance)
            shift(m.positions[a], facts, a, move, e.x, e.at, along[0], e.norm)
            running[MOVES] += 1
        for j in range(answering.size):
            a = answering[j]
            weight = e.importance * code[j]
            facts[MASS, a] += weight
            if machines.averaged:
                pace = weight * max(settings[AVERAGE_FLOOR], 1 / (1 + facts[MASS, a]))
                average(machines, a, np.float32(min(1.0, pace)))
            if any_push:
                view, bias_step = e.x, 1.0
                if centred and a < m.anchors:
                    view = m.offset[: e.x.size]
                    bias_step -= from_anchor(m.positions[a], facts[ZOOM, a], e.x, e.at, view)
                descend(machines, a, code[j], view, e.at, bias_step)
        weaken(machines, m.schedule, settings, running[SEEN] - 1)


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
