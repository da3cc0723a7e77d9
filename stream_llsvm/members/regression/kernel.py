"""LL-SVM for numbers: the anchors' machines, learned by a regression's loss.

    H(x) = sum_j gamma_j(x) (W_j . x + b_j),    W_j += eta push gamma_j x,    LL(8), LL(11), LL(12)

where push = -d loss / d H. Codes, machines, and how anchors follow the records are those of
``members/anchors/kernel.py``. A step is never longer than what makes the record's own loss least,
so that no record can throw a machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, member_kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.losses import EPSILON_INSENSITIVE, curvature_of, residual_push
from stream_llsvm.kernels.run_numbers import NumbersState
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.views import flat
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


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn its number if it has one."""
    m = views(AnchorState, state, scratch, plan, member)
    numbers = views(NumbersState, state, scratch, plan, plan.shape[0] - 1)
    epsilon, farthest = numbers.epsilon[0], float(numbers.farthest)
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        norm = np.float32(0)
        for i in range(x.size):
            norm += x[i] * x[i]
        score(m, x, at, norm, out)
        if chunk.labels[q] >= 0:
            y, importance = chunk.targets[q], chunk.importance[q]
            learn(m, Example(x, at, norm, y, importance, epsilon, farthest), out)


class Example(NamedTuple):
    """A scaled record, its squared norm, and what is to be learned from it."""

    x: Array
    at: Array
    norm: Real
    y: Real
    importance: Real
    epsilon: Real
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
def learn(m: AnchorState, e: Example, out: Array) -> None:
    """One step: a new anchor if there is room, online k-means, then the machines."""
    running, facts, settings = m.running, m.facts, m.settings
    distance, along, code = m.shares[DISTANCE], m.shares[ALONG], m.shares[CODE]
    push, etas, machines = m.sums[PUSH], m.sums[ETA], machines_of(m)
    running[SEEN] += 1
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
            push[r] = residual_push(m.loss, rest, e.epsilon)
            eta = e.importance * settings[STEPS + r] / usual
            etas[r] = pace_of(m.loss, eta, energy, rest, push[r], e.epsilon)
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
def pace_of(loss: int, eta: Real, energy: Real, rest: Real, push: Real, epsilon: Real) -> Real:
    """Return eta, or what mends the record's own loss where that is less."""
    curvature = curvature_of(loss)
    if curvature > 0:
        return min(eta, 1 / (curvature * energy))
    if loss == EPSILON_INSENSITIVE and push != 0:
        return min(eta, (abs(rest) - epsilon) / (abs(push) * energy))
    return eta
