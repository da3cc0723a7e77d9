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

from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of, row_or_pieces
from stream_llsvm.kernels.compile import Array, Real, inlined, member_kernel
from stream_llsvm.kernels.linear import scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.vectors import square_of
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.anchors.codes import RECONSTRUCTION, encode, nearest_of_many, search_of
from stream_llsvm.members.anchors.machines import (
    average,
    descend,
    heights_of,
    inherit,
    machines_of,
)
from stream_llsvm.members.anchors.mapped import take_apart
from stream_llsvm.members.anchors.reconstruction import reconstruct
from stream_llsvm.members.anchors.state import (
    ALONG,
    ANCHOR_STEP,
    AVERAGE_FLOOR,
    BIAS_STEP,
    CLUSTER_FLOOR,
    CLUSTERING,
    CODE,
    COMMON_SHARE,
    DISTANCE,
    ETA,
    L2,
    LADDER,
    LARGEST_MOVE,
    MASS,
    MOVES,
    N_ANCHORS,
    NORM,
    PATIENCE,
    PULL,
    PUSH,
    REACH,
    SEEN,
    SHARPNESS,
    SPREAD,
    STEPS,
    T0,
    VISITS,
    ZOOM,
    AnchorState,
)
from stream_llsvm.members.anchors.steps import (
    anchor_gradient_sq,
    best_expert,
    energy_of,
    from_anchor,
    gradient_scale,
    has_a_view,
    mean_of,
    measure,
    place,
    shift,
    slope_of,
    weaken,
)


class Record(NamedTuple):
    """A record as the machines see it and as the codes see it, each with its squared norm."""

    x: Array
    at: Array
    norm: Real
    seen: Array
    seen_at: Array
    seen_norm: Real


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label (a code of 0 or more).

    ``scored`` says that the last call scored the first row and nothing has changed since.
    """
    m = views(AnchorState, state, scratch, plan, member)
    mapped = m.mapped.size > 0
    for q in range(chunk.labels.size):
        # A record with a feature map is taken apart by columns.
        x, at = row_of(chunk, q) if mapped else row_or_pieces(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        seen, seen_at = x, at
        if mapped:  # codes of x, machines on phi(x), LL(16)
            n_seen, n_mapped = take_apart(x, at, m.mapped, m.halves, m.places)
            seen, seen_at = m.halves[0][:n_seen], m.places[0][:n_seen]
            x, at = m.halves[1][:n_mapped], m.places[1][:n_mapped]
        norm = square_of(x)
        record = Record(x, at, norm, seen, seen_at, square_of(seen) if mapped else norm)
        if not chunk.scored:
            score(m, record, out)
        label = chunk.labels[q]
        if label >= 0:
            learn(m, record, label, chunk.importance[q], out)


@inlined
def score(m: AnchorState, record: Record, out: Array) -> None:
    """Find the anchors that answer, code the record by them, and blend their machines."""
    near, running, settings, code = m.near, m.running, m.settings, m.shares[CODE]
    distance, along, pull = m.shares[DISTANCE], m.shares[ALONG], m.shares[PULL]
    born = int(running[N_ANCHORS])
    k = min(m.neighbours, born)
    if k > 0:
        scores_of(m.positions[:born], record.seen, record.seen_at, m.products)
        nearest_of_many(search_of(m), m.products, born, record.seen_norm, near[:k], distance, along)
        spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
        if m.coding == RECONSTRUCTION:
            reconstruct(m.positions, m.facts, near[:k], along, record.seen_norm, m.gram, code[:k])
            pull[:] = 0
        else:
            encode(m.coding, distance, settings[SHARPNESS], spread, code[:k], pull)
    m.found[0] = k
    if m.machines > m.anchors:  # the common machine
        near[k] = m.anchors
        code[k] = np.float32(settings[COMMON_SHARE])
        k += 1
    heights_of(machines_of(m), near[:k], code, record.x, record.at, m.heights, out)


@inlined
def learn(m: AnchorState, record: Record, label: int, importance: Real, out: Array) -> None:
    """One step: a new anchor if there is room, then the anchors' moves, then the machines."""
    running, facts, columns = m.running, m.facts, m.columns
    distance, code = m.shares[DISTANCE], m.shares[CODE]
    k = m.found[0]
    answering = m.near[: k + m.machines - m.anchors]
    best = best_expert(m.hits, out, columns, label)
    running[SEEN] += 1
    born = int(running[N_ANCHORS])
    if born < m.anchors and (
        k == 0 or distance[0] > np.float32(1e-5) * (record.seen_norm + facts[NORM, m.near[0]])
    ):
        place(m.positions[born], facts, born, record.seen, record.seen_at, record.seen_norm)
        inherit(machines_of(m), born, m.near[:k], code)
        running[N_ANCHORS] += 1
    if k > 0:  # else the first record only places the first anchor
        push = m.sums[PUSH]
        any_push = False
        for e in range(m.experts):
            if e >= m.rungs and e != best:
                continue  # averages only follow; the best expert may be one, and moves anchors
            a, b = e * columns, (e + 1) * columns
            any_push |= pushes(m.loss, m.multiclass, out[a:b], label, push[a:b])
        centred = m.schedule == LADDER and m.machine_width > 0 and m.mapped.size == 0
        centred = centred and has_a_view(record.x, m.width)
        sees = record.norm if m.machine_width > 0 else 0.0
        energy = energy_of(code, distance, k, answering.size, sees, centred)
        energy = measure(running, distance, k, energy)
        t = running[SEEN] - 1
        for r in range(m.rungs):
            if m.schedule == LADDER:
                m.sums[ETA, r] = importance * m.settings[STEPS + r] / energy
            else:
                m.sums[ETA, r] = importance / (m.settings[L2] * (t + m.settings[T0]))
        move_anchors(m, record, k, best, importance, out)
        step_machines(m, record, answering, importance, any_push, centred)
        weaken(machines_of(m), m.schedule, m.settings, t)


@inlined
def move_anchors(
    m: AnchorState, record: Record, k: int, best: int, importance: Real, out: Array
) -> None:
    """Move the anchors that answer down the loss, SAPL(16), and the nearest towards the record."""
    running, facts, settings, columns = m.running, m.facts, m.settings, m.columns
    distance, along, pull = m.shares[DISTANCE], m.shares[ALONG], m.shares[PULL]
    push, heights = m.sums[PUSH], m.heights
    anchor_step = settings[ANCHOR_STEP] * importance
    if settings[PATIENCE] > 0:
        anchor_step *= running[SPREAD]
    elif m.supervised == 1:  # in passes over history: relative to the gradient's mean square
        grad_sq = anchor_gradient_sq(best, columns, k, pull, distance, heights, out)
        anchor_step *= settings[STEPS + best % m.rungs] * gradient_scale(running, grad_sq)
    for j in range(k):
        a = m.near[j]
        move = 0.0
        if m.supervised == 1:
            if m.schedule == LADDER:
                slope = slope_of(best, columns, push, heights[j], out)
                move = anchor_step * pull[j] * slope
                if settings[PATIENCE] > 0:
                    move /= 1 + facts[MASS, a] / settings[PATIENCE]
                move = min(max(move, -LARGEST_MOVE), LARGEST_MOVE)
                if move < 0 and settings[PATIENCE] == 0 and facts[NORM, a] > running[REACH]:
                    move = 0.0  # it lies far out already
            else:
                move = m.sums[ETA, 0] * pull[j] * slope_of(0, columns, push, heights[j], out)
        if j == 0 and settings[CLUSTERING] > 0:
            facts[VISITS, a] += 1
            pace = max(settings[CLUSTER_FLOOR], 1 / facts[VISITS, a]) * min(1.0, importance)
            move = 1 - (1 - pace) * (1 - move)
        if move != 0:
            shift(
                m.positions[a], facts, a, move, record.seen, record.seen_at, along[j],
                record.seen_norm,
            )  # fmt: skip
            running[MOVES] += 1


@inlined
def step_machines(
    m: AnchorState, record: Record, answering: Array, importance: Real, any_push: bool,
    centred: bool,
) -> None:  # fmt: skip
    """Let the averages of the machines that answered follow, then step these, LL(11), LL(12)."""
    facts, settings, code = m.facts, m.settings, m.shares[CODE]
    machines = machines_of(m)
    for j in range(answering.size):
        a = answering[j]
        weight = importance * abs(code[j])  # codes that reconstruct may be negative
        facts[MASS, a] += weight
        if machines.averaged:
            pace = weight * max(settings[AVERAGE_FLOOR], 1 / (1 + facts[MASS, a]))
            average(machines, a, np.float32(min(1.0, pace)))
        if any_push:
            view, bias_step = record.x, settings[BIAS_STEP]
            if centred and a < m.anchors:
                view = m.offset[: record.x.size]
                bias_step -= from_anchor(m.positions[a], facts[ZOOM, a], record.x, record.at, view)
            descend(machines, a, code[j], view, record.at, bias_step)
