"""Boosted trees: small trees that grow with the stream, each taught what those before it leave.

A record goes down each tree to a leaf; v are the leaves' values, c is a class:

    H_c^t  = b_c + sum_{u <= t} v_uc                the score is that of the last tree, H_c
    push_c = [c is the label] - p_c(H^t)            p: softmax, or the logistic function
    v_tc  += 5 / (1 + trees) push_c                 expert 1: the raw values
    a_tc  += max(0.003, 1 / (1 + n)) (v_tc - a_tc)  expert 2: their averages; n: the leaf's records

Trees differ since each is taught by the error of the trees up to and including itself. A leaf keeps
histograms over some features: of its error, and of the variance that it has by chance. With signs
s_c, of the classes half each, drawn by lot (of two classes s push is that of the second):

    g = sum_c s_c push_c,    h = 1 - (sum_c s_c p_c)^2,  with two classes p (1 - p)
    G, V of each feature's bin  += g, h

Every 25 records of a leaf it is looked for the cut of most

    gain = G_below^2 / (V_below + 1) + G_above^2 / (V_above + 1) - G^2 / (V + 1)

which under chance would be a chi square, the largest of many. Beyond 15 the leaf becomes two: each
takes its value and 0.5 s_c G_side / (V_side + 1). If there is no such cut all G and V fade by 0.9,
and one time in ten signs and features are drawn anew, where there are more than there is room for.

What a tree is worth is how far the average of its leaf pulls towards the truth, a running mean over
some 500 records. Every 256 records the least useful of those older than 2,000 begins anew. Nothing
is kept of a record: labels that come late teach as others do.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC, pushes
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.vectors import add_multiple, step_and_follow
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.trees.growth import begin_anew, best_cut, count, cut, fade, take
from stream_llsvm.members.trees.state import BORN, LEAF, SEEN, WAITS, TreesState

AVERAGE_FLOOR = np.float32(0.003)
CHECK = np.float32(25)
PERIOD, GRACE, USE_RATE = 256, 2_000, 0.002
#: A bound for records that are said to count as much as millions.
MOST_WEIGHT = 1e3


@kernel
def descend(asks: Array, cuts: Array, below: Array, x: Array, leaves: Array) -> None:
    """Find the leaf of each tree that holds the record."""
    for t in range(leaves.size):
        i = 0
        while below[t, i] != LEAF:
            i = below[t, i] + (1 if x[asks[t, i]] > cuts[t, i] else 0)
        leaves[t] = i


@kernel
def is_asked(leaves: Array) -> bool:
    """Whether a tree has asked the record anything."""
    for t in range(leaves.size):  # noqa: SIM110  # numba knows no generators
        if leaves[t] > 0:
            return True
    return False


@kernel
def add_up(values: Array, bias: Array, leaves: Array, out: Array) -> None:
    """Fill out with the sum of the leaves' values, raw ones and averages."""
    copy_to(out, bias)
    for t in range(leaves.size):
        add_multiple(out, values[t, leaves[t]], np.float32(1))


@kernel
def pull_of(average: Array, label: int) -> Real:
    """How far values pull towards the label."""
    if average.size == 1:
        return average[0] if label == 1 else -average[0]
    total = np.float32(0)
    for c in range(average.size):
        total += average[c]
    return average[label] - total / np.float32(average.size)


@inlined
def learn(m: TreesState, x: Array, label: int, importance: Real) -> None:
    """One step on each tree's leaf, by the error of the trees up to it; then count, maybe cut."""
    columns, running, score, push = m.columns, m.running, m.score, m.push
    one, weight = np.float32(1), np.float32(min(importance, MOST_WEIGHT))
    step = np.float32(m.pace[0] * m.settings[0]) * weight
    running[SEEN] += 1
    copy_to(score, m.bias[:columns])
    for t in range(m.trees):
        i = m.leaves[t]
        raw, average = m.values[t, i, :columns], m.values[t, i, columns:]
        add_multiple(score, raw, one)
        any_push = pushes(LOGISTIC, CRAMMER_SINGER, score, label, push)
        m.use[t] += USE_RATE * (pull_of(average, label) - m.use[t])
        m.mass[t, i] += weight
        rate = min(one, weight * max(AVERAGE_FLOOR, one / (one + m.mass[t, i])))
        step_and_follow(raw, average, push, step, rate)
        k = m.slots[t, i]
        if k == WAITS:
            k = take(m, t, i)
        if k < 0 or not any_push:
            continue
        error, variance = surprise(m.sides[k], push, label)
        count(m.sums[k], m.bins[k], m.asked[k], x, weight * error, weight * variance)
        m.since[k] += weight
        if m.since[k] >= CHECK:
            f = best_cut(m.sums[k], m.whole, m.left, m.best)
            if f >= 0:
                cut(m, t, i, f, int(m.best[1, f]))
            else:
                fade(m, t, i)
    rate = min(one, weight * max(AVERAGE_FLOOR, one / np.float32(running[SEEN])))
    step_and_follow(m.bias[:columns], m.bias[columns:], push, step, rate)
    if running[SEEN] % PERIOD == 0 and m.pace[0] == 1:
        t = least_useful(m.use, m.facts[BORN], running[SEEN])
        if t >= 0:
            begin_anew(m, t)


@kernel
def surprise(sides: Array, push: Array, label: int) -> tuple[Real, Real]:
    """Return the error, the ones' against the others', and the variance that it has by chance."""
    error = np.float32(0)
    for c in range(push.size):
        error += sides[c] * push[c]
    if push.size == 1:
        return error, abs(error) * (np.float32(1) - abs(error))
    expected = sides[label] - error
    return error, max(np.float32(0), np.float32(1) - expected * expected)


@kernel
def least_useful(use: Array, born: Array, seen: int) -> int:
    """Return the tree that is to begin anew, -1 if all are too young."""
    worst = -1
    for t in range(use.size):
        if seen - born[t] >= GRACE and (worst < 0 or use[t] < use[worst]):
            worst = t
    return worst


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(TreesState, state, scratch, plan, member)
    dense = m.dense
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        named, narrow = x.size, at.size > 0 or x.size < m.width
        if narrow:
            for v in range(named):
                dense[at[v] if at.size > 0 else v] = x[v]
            x = dense
        if not chunk.scored:
            descend(m.asks, m.cuts, m.below, x, m.leaves)
            out = flat(chunk.scores[q, m.first_expert : m.first_expert + 2])
            if m.eager == 1 or is_asked(m.leaves):
                add_up(m.values, m.bias, m.leaves, out)
            else:
                out[:] = 0
        if chunk.labels[q] >= 0 and m.pace[0] > 0:
            learn(m, x, chunk.labels[q], chunk.importance[q])
        if narrow:
            for v in range(named):
                dense[at[v] if at.size > 0 else v] = 0
