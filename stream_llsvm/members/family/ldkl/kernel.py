"""Local deep kernel learning: machines at the nodes of a tree whose gates are learned, LDKL.

    u      = x / sqrt(S)                                 S: the running mean of |x|^2, and 1
    open_l = 1 / (1 + exp(-2 (theta_l . u + a_l)))   so far gate l sends it to the right
    I_1    = 1,  I_right = I_l open_l,  I_left = I_l (1 - open_l)
    phi_k  = I_k tanh(sharpness (v_k . u) + b_k)         the local features, one a node
    H_c    = sum_k phi_k (w_kc . x + d_kc)

Jose et al. train soft gates that sharpen, and answer with hard ones. A stream has no end at which
to harden them: here the gates that answer are those that learn, and grow as sharp as they like. One
tree serves all classes. Each step size has a tree of its own, and raw and averaged w, d.

    push_c   = where the loss drives H_c
    w_kc    += eta push_c phi_k x / (1 + (|x|^2 + 1) sum_k phi_k^2)         d_kc likewise
    slope_k  = sum_c push_c (w_kc . x + d_kc)
    v_k     += r sharpness u I_k (1 - tanh^2) slope_k / sqrt(E)             b_k likewise
    value_k  = slope_k tanh_k + (1 - open_k) value_left + open_k value_right
    theta_l += r u I_l 2 open_l (1 - open_l) (value_right - value_left) / sqrt(E)

E: the running mean of the sum of the squares of what stands before it, over the tree; r is BEND or
GATE. In history steps shrink to nothing.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import add_scaled, average_named, scores_of
from stream_llsvm.kernels.losses import pushes
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.vectors import square_of
from stream_llsvm.kernels.views import flat

SEEN, SPREAD = range(2)
#: What the running means of a tree's squared slopes are of.
OF_GATES, OF_BENDS = range(2)
#: Settings; the step sizes follow.
AVERAGE_FLOOR, LEFT, SHARPNESS, STEPS = range(4)
#: How far gates and bends go in a step whose slope is a usual one.
GATE, BEND = 0.03, 0.03
SLOWEST = 0.001
#: A usual slope is at least so great; and a slope counts as at most so many usual ones.
LEAST, FARTHEST = 1e-6, 10.0
#: Beyond this a gate is open or shut, and a bend at its end.
STEEPEST = 15.0


class LdklState(NamedTuple):
    """What an LDKL member keeps, by name."""

    columns: int
    first_expert: int
    experts: int
    rungs: int
    copies: int
    loss: int
    multiclass: int
    inner: int
    nodes: int
    settings: Annotated[Array, state("f8", "settings")]
    running: Annotated[Array, state("f8", 8)]
    efforts: Annotated[Array, state("f8", 2, "rungs")]
    mass: Annotated[Array, state("f4", ("rungs", "nodes"))]
    gates: Annotated[Array, state("f4", ("rungs", "inner"), "width")]
    gate_biases: Annotated[Array, state("f4", ("rungs", "inner"))]
    bends: Annotated[Array, state("f4", ("rungs", "nodes"), "width")]
    bend_biases: Annotated[Array, state("f4", ("rungs", "nodes"))]
    weights: Annotated[Array, state("f4", ("rungs", "nodes", "copies", "columns"), "width")]
    biases: Annotated[Array, state("f4", ("rungs", "nodes", "copies", "columns"))]
    #: How far each gate is open; each node's share of the record, its tanh, and what its machines
    #: say; where the loss pushes, and what a step along a gate or a bend would gain.
    opened: Annotated[Array, scratch("f4", ("rungs", "inner"))]
    reached: Annotated[Array, scratch("f4", ("rungs", "nodes"))]
    bent: Annotated[Array, scratch("f4", ("rungs", "nodes"))]
    heights: Annotated[Array, scratch("f4", ("rungs", "nodes", "copies", "columns"))]
    push: Annotated[Array, scratch("f4", "columns")]
    values: Annotated[Array, scratch("f4", "nodes")]
    of_gates: Annotated[Array, scratch("f4", "inner")]
    of_bends: Annotated[Array, scratch("f4", "nodes")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(LdklState, state, scratch, plan, member)
    running = m.running
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        factor = np.float32(1 / math.sqrt(running[SPREAD] + 1))
        if not chunk.scored:
            climb(m, x, at, factor)
            blend(m, out)
        if chunk.labels[q] < 0:
            continue
        running[SEEN] += 1
        square = square_of(x)
        for r in range(m.rungs):
            learn(m, r, x, at, chunk.labels[q], chunk.importance[q], out)
        running[SPREAD] += max(SLOWEST, 1 / running[SEEN]) * (square - running[SPREAD])


@kernel
def climb(m: LdklState, x: Array, at: Array, factor: Real) -> None:
    """Find how the record is shared out among the nodes, and what the machines say of it."""
    inner, nodes, opened, reached, bent = m.inner, m.nodes, m.opened, m.reached, m.bent
    scores_of(m.gates, x, at, opened)
    scores_of(m.bends, x, at, bent)
    scores_of(m.weights, x, at, m.heights)
    sharpness = np.float32(m.settings[SHARPNESS])
    for g in range(opened.size):
        opened[g] = sigmoid(2 * (factor * opened[g] + m.gate_biases[g]))
    for k in range(bent.size):
        bent[k] = 2 * sigmoid(2 * (sharpness * factor * bent[k] + m.bend_biases[k])) - 1
    for u in range(m.heights.size):
        m.heights[u] += m.biases[u]
    for r in range(m.rungs):
        reached[r * nodes] = 1
        for g in range(inner):
            share = reached[r * nodes + g]
            right = share * opened[r * inner + g]
            reached[r * nodes + 2 * g + 1], reached[r * nodes + 2 * g + 2] = share - right, right


@kernel
def sigmoid(x: Real) -> Real:
    """Return 1 / (1 + exp(-x)), for what is no greater than matters."""
    bounded = min(max(x, -2 * STEEPEST), 2 * STEEPEST)
    return np.float32(1 / (1 + math.exp(-bounded)))


@kernel
def blend(m: LdklState, out: Array) -> None:
    """Add up what the nodes' machines say, for each expert and column."""
    columns = m.columns
    out[:] = 0
    u = 0
    for r in range(m.rungs):
        for k in range(m.nodes):
            phi = m.reached[r * m.nodes + k] * m.bent[r * m.nodes + k]
            for copy in range(m.copies):
                first = (copy * m.rungs + r) * columns
                for c in range(columns):
                    out[first + c] += phi * m.heights[u]
                    u += 1


@kernel
def learn(
    m: LdklState, r: int, x: Array, at: Array, label: int, importance: Real, out: Array
) -> None:
    """One step of a rung's tree: on its machines, its bends and its gates."""
    columns, nodes, inner, settings = m.columns, m.nodes, m.inner, m.settings
    if not pushes(m.loss, m.multiclass, out[r * columns : (r + 1) * columns], label, m.push):
        m.push[:] = 0
    slope_all(m, r)
    energy, square = 1.0, float(square_of(x))
    for k in range(nodes):
        phi = m.reached[r * nodes + k] * m.bent[r * nodes + k]
        energy += (square + 1) * phi * phi
    eta = importance * settings[STEPS + r] / energy
    for k in range(nodes):
        step_machine(m, r, k, x, at, eta, importance)
    factor = 1 / math.sqrt(m.running[SPREAD] + 1)
    along = settings[SHARPNESS] * factor
    left = min(1.0, importance) * settings[LEFT]
    pace = left * BEND / usual(m, r, OF_BENDS, m.of_bends)
    for k in range(nodes):
        step = min(max(pace * m.of_bends[k], -BEND * FARTHEST), BEND * FARTHEST)
        add_scaled(m.bends[r * nodes + k], x, at, np.float32(along * step))
        m.bend_biases[r * nodes + k] += np.float32(step)
    pace = left * GATE / usual(m, r, OF_GATES, m.of_gates)
    for g in range(inner):
        step = min(max(pace * m.of_gates[g], -GATE * FARTHEST), GATE * FARTHEST)
        add_scaled(m.gates[r * inner + g], x, at, np.float32(factor * step))
        m.gate_biases[r * inner + g] += np.float32(step)


@kernel
def slope_all(m: LdklState, r: int) -> None:
    """Find how the loss falls along each bend and each gate, from the leaves to the root."""
    columns, nodes, inner = m.columns, m.nodes, m.inner
    for k in range(nodes - 1, -1, -1):
        first = (r * nodes + k) * m.copies * columns
        slope = np.float32(0)
        for c in range(columns):
            slope += m.push[c] * m.heights[first + c]
        bent, reached = m.bent[r * nodes + k], m.reached[r * nodes + k]
        m.of_bends[k] = reached * (1 - bent * bent) * slope
        m.values[k] = slope * bent
        if k < inner:
            right = m.opened[r * inner + k]
            below, above = m.values[2 * k + 1], m.values[2 * k + 2]
            m.values[k] += (1 - right) * below + right * above
            m.of_gates[k] = reached * 2 * right * (1 - right) * (above - below)


@kernel
def usual(m: LdklState, r: int, which: int, slopes: Array) -> Real:
    """Follow how long a tree's slopes are; returns their usual length."""
    total = 0.0
    for k in range(slopes.size):
        total += slopes[k] * slopes[k]
    mean = m.efforts[which, r]
    if mean > 0:
        total = min(total, FARTHEST * FARTHEST * mean)
    m.efforts[which, r] += max(SLOWEST, 1 / m.running[SEEN]) * (total - mean)
    return math.sqrt(m.efforts[which, r]) + LEAST


@kernel
def step_machine(
    m: LdklState, r: int, k: int, x: Array, at: Array, eta: Real, importance: Real
) -> None:
    """One step on a node's machines; their averages follow in the columns that the record names."""
    columns, node = m.columns, r * m.nodes + k
    phi, reached = m.reached[node] * m.bent[node], np.float32(importance) * m.reached[node]
    one, floor = np.float32(1), np.float32(m.settings[AVERAGE_FLOOR])
    m.mass[node] += reached
    rate = min(one, reached * max(floor, one / (one + m.mass[node])))
    for c in range(columns):
        u = node * m.copies * columns + c
        step = np.float32(eta) * phi * m.push[c]
        if step != 0:
            add_scaled(m.weights[u], x, at, step)
            m.biases[u] += step
        if m.copies == 2:
            average_named(m.weights[u + columns], m.weights[u], x, at, rate)
            m.biases[u + columns] += rate * (m.biases[u] - m.biases[u + columns])
