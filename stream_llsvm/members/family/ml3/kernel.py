"""Latent locally linear machines: each class has several, and chooses the code that suits it, ML3.

    u      = x / sqrt(S + 1)                             S: the running mean of |x|^2
    h_cj   = w_cj . u + d_cj
    s_c    = max_b sum_j b_j h_cj      over codes b with b_j >= 0 and p-norm 1
           = (sum_j max(0, h_cj)^q)^(1/q)                1/p + 1/q = 1; some h_cj is above 0
           = max_j h_cj                                  none is
    b_cj   = (max(0, h_cj) / s_c)^(q - 1)                the code it is reached at; or 1 and zeros
    H_c    = s_c;  of two classes H = s_1 - s_0

Fornoni et al. let the norm be smaller, too: a class none of whose machines is above 0 then has the
score 0, and no machine of it can learn from the record. On a stream its best one does.

    w_cj  += eta push_c b_cj u / (1 + (|u|^2 + 1) sum_j b_cj^2)       d_cj likewise

push_c is where the loss drives H_c. Each step size has machines of its own, raw and averaged: an
average follows its machine as far as the code names it.
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
#: Settings; the step sizes follow.
AVERAGE_FLOOR, NORM, STEPS = range(3)
SLOWEST = 0.001


class Ml3State(NamedTuple):
    """What an ML3 member keeps, by name."""

    columns: int
    first_expert: int
    experts: int
    rungs: int
    copies: int
    loss: int
    multiclass: int
    #: How many classes have machines: of two both, though they share a column.
    sets: int
    machines: int
    settings: Annotated[Array, state("f8", "settings")]
    running: Annotated[Array, state("f8", 8)]
    mass: Annotated[Array, state("f4", ("rungs", "sets"), "machines")]
    weights: Annotated[Array, state("f4", ("rungs", "sets", "copies", "machines"), "width")]
    biases: Annotated[Array, state("f4", ("rungs", "sets", "copies", "machines"))]
    #: What each machine says, and how far the code of its class names it.
    heights: Annotated[Array, scratch("f4", ("rungs", "sets", "copies", "machines"))]
    codes: Annotated[Array, scratch("f4", ("rungs", "sets", "copies", "machines"))]
    push: Annotated[Array, scratch("f4", "columns")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(Ml3State, state, scratch, plan, member)
    running = m.running
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        factor = np.float32(1 / math.sqrt(running[SPREAD] + 1))
        if not chunk.scored:
            score(m, x, at, factor, out)
        if chunk.labels[q] < 0:
            continue
        running[SEEN] += 1
        square = square_of(x)
        for r in range(m.rungs):
            learn(m, r, x, at, factor, chunk.labels[q], chunk.importance[q], out)
        running[SPREAD] += max(SLOWEST, 1 / running[SEEN]) * (square - running[SPREAD])


@kernel
def score(m: Ml3State, x: Array, at: Array, factor: Real, out: Array) -> None:
    """Let each class choose its code, and fill in the experts' scores."""
    columns, sets, machines = m.columns, m.sets, m.machines
    scores_of(m.weights, x, at, m.heights)
    for u in range(m.heights.size):
        m.heights[u] = factor * m.heights[u] + m.biases[u]
    out[:] = 0
    u = 0
    for r in range(m.rungs):
        for c in range(sets):
            for copy in range(m.copies):
                own = slice(u, u + machines)
                told = choose(m.settings[NORM], m.heights[own], m.codes[own])
                first = (copy * m.rungs + r) * columns
                if columns > 1:
                    out[first + c] = told
                else:
                    out[first] += told if c == 1 else -told
                u += machines


@kernel
def choose(norm: Real, heights: Array, code: Array) -> Real:
    """Fill in the best code of the p-norm 1, and return what it makes of the heights."""
    best = 0
    for j in range(1, heights.size):
        if heights[j] > heights[best]:
            best = j
    top = heights[best]
    if top <= 0 or norm == 1:
        for j in range(heights.size):
            code[j] = 0
        code[best] = 1
        return top
    power, total = 1 / (norm - 1), 0.0
    for j in range(heights.size):
        ratio = max(0.0, heights[j] / top)
        total += ratio ** (power + 1)
    share = total ** (-1 / norm)
    for j in range(heights.size):
        code[j] = share * (heights[j] / top) ** power if heights[j] > 0 else 0.0
    return np.float32(top * total ** (1 - 1 / norm))


@kernel
def learn(
    m: Ml3State, r: int, x: Array, at: Array, factor: Real, label: int, importance: Real, out: Array
) -> None:
    """One step of a rung's machines, as far as the codes name them."""
    columns, settings = m.columns, m.settings
    if not pushes(m.loss, m.multiclass, out[r * columns : (r + 1) * columns], label, m.push):
        m.push[:] = 0
    square = factor * factor * float(square_of(x)) + 1
    for c in range(m.sets):
        push = m.push[c] if columns > 1 else m.push[0] if c == 1 else -m.push[0]
        first = (r * m.sets + c) * m.copies * m.machines
        energy = 1.0
        for j in range(m.machines):
            energy += square * m.codes[first + j] * m.codes[first + j]
        eta = importance * settings[STEPS + r] / energy * push
        for j in range(m.machines):
            if m.codes[first + j] > 0:
                step_machine(m, r * m.sets + c, j, x, at, factor, eta, importance)


@kernel
def step_machine(
    m: Ml3State, c: int, j: int, x: Array, at: Array, factor: Real, eta: Real, importance: Real
) -> None:
    """One step on a machine; its average follows in the columns that the record names."""
    u = c * m.copies * m.machines + j
    share, one = np.float32(importance) * m.codes[u], np.float32(1)
    step = np.float32(eta) * m.codes[u]
    if step != 0:
        add_scaled(m.weights[u], x, at, factor * step)
        m.biases[u] += step
    if m.copies == 1:
        return
    m.mass[c, j] += share
    floor = np.float32(m.settings[AVERAGE_FLOOR])
    rate = min(one, share * max(floor, one / (one + m.mass[c, j])))
    average_named(m.weights[u + m.machines], m.weights[u], x, at, rate)
    m.biases[u + m.machines] += rate * (m.biases[u] - m.biases[u + m.machines])
