"""Contexts: what one to five fields say together, and how often each class came with it.

A record asks for one cell k of each set of fields s (of words: one each), c is a class:

    told_c(p) = log(p_c + 0.001)
    t_sc      = told_c(share_k) - told_c(usual)              0 if the context is new
                times the trust in a count such as n_k; of w words the sum of theirs / sqrt(w), of
                a whole number likewise of the number and its eighth
    H_c       = u_0 told_c(usual) + sum_s u_s t_sc
    push_c    = [c is the label] - softmax(H)_c
    g_s       = sum_c push_c t_sc
    G_s       = 0.999 G_s + g_s^2
    u_s      += 0.6 / sqrt(sets) g_s / sqrt(1 + G_s)          at first 1 / sets; u_0: 1
    n_k      += 1                                             a new one begins as the usual
    share_kc += max(1 / (n_k + 2), 0.005) ([c is the label] - share_kc)
    usual_c  += max(1 / (seen + classes), 0.0005) ([c is the label] - usual_c)

One weight a set, shared by all its values and by the classes: that is why it learns so fast. Of two
classes all this is done with differences of both. The trust is learned as the weights are, in
steps of 0.1. Labels that come late find the votes counted anew. ``fields.py`` says what a value
stands for, ``table.py`` where a context lies.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, member_kernel
from stream_llsvm.kernels.mixer import softmax
from stream_llsvm.kernels.sections import views
from stream_llsvm.members.contexts.fields import find_parts, watch
from stream_llsvm.members.contexts.state import (
    ASLEEP,
    AWAKE,
    BUCKET,
    BUCKETS,
    CODE_OF,
    ENERGY,
    FOR_GOOD,
    N_SETS,
    PLACE,
    RESTING,
    SEEN,
    SET,
    SETS,
    TAKEN,
    USED,
    VALUE,
    WIDE,
    ContextsState,
)
from stream_llsvm.members.contexts.table import (
    COUNT,
    CROWDED,
    SHARES,
    TAG,
    double,
    holds,
    place_of,
    tag_of,
)
from stream_llsvm.members.contexts.votes import ask_all, count_votes

START, FLOOR, USUAL_FLOOR = 2.0, 0.005, 0.0005
STEP, FADE, TRUST_STEP = 0.6, 0.999, 0.1
LEAST_TRUST, MOST_TRUST = 0.05, 4.0
#: A bound for records that are said to count as much as millions.
MOST_WEIGHT = 1e3


@inlined
def learn_weights(m: ContextsState, label: int, importance: Real) -> None:
    """One logistic step on the weights of the sets, and on the trust in counts."""
    running, asked, weights, trust = m.running, m.asked, m.weights, m.trust
    push, votes, slopes = m.push, m.votes, m.slopes
    classes, columns = m.classes, m.columns
    if columns == 1:
        push[0], push[1] = 0.0, m.score[0]
    else:
        for c in range(classes):
            push[c] = m.score[c]
    softmax(push)
    for c in range(classes):
        push[c] = (1.0 if c == label else 0.0) - push[c]
    if columns == 1:
        push[0] = push[1]  # of the difference, which is all there is
    slope = 0.0
    for c in range(columns):
        slope += push[c] * m.told[c]
    sets = SETS if running[WIDE] == 1 else running[N_SETS]
    step = importance * STEP / math.sqrt(max(1, sets))
    follow(weights, 0, slope, step)
    slopes[:] = 0
    a, n = 0, m.n_asked[0]
    while a < n:
        of, own = asked[SET, a], 0.0
        counts = weights[VALUE, 1 + of]
        while a < n and asked[SET, a] == of:
            if asked[PLACE, a] >= 0:
                slope = 0.0
                for c in range(columns):
                    slope += push[c] * votes[a, c]
                slope *= m.scales[a]
                own += slope * trust[VALUE, asked[BUCKET, a]]
                slopes[asked[BUCKET, a]] += slope * counts
            a += 1
        follow(weights, 1 + of, own, step)
    for b in range(BUCKETS):
        follow(trust, b, slopes[b], importance * TRUST_STEP)
        trust[VALUE, b] = min(max(trust[VALUE, b], LEAST_TRUST), MOST_TRUST)


@kernel
def follow(weights: Array, i: int, slope: Real, step: Real) -> None:
    """Take a step up a slope, the shorter the more such slopes there have been."""
    weights[ENERGY, i] = FADE * weights[ENERGY, i] + slope * slope
    value = weights[VALUE, i] + step * slope / math.sqrt(1 + weights[ENERGY, i])
    weights[VALUE, i] = min(max(value, -MOST_WEIGHT), MOST_WEIGHT)


@inlined
def learn_cells(m: ContextsState, label: int, importance: Real) -> None:
    """Count the record in each cell that it asked for, and in the usual."""
    running, asked, table, usual, columns = m.running, m.asked, m.table, m.usual, m.columns
    for a in range(m.n_asked[0]):
        code, place = asked[CODE_OF, a], asked[PLACE, a]
        tag = tag_of(code)
        # What was new may have a place by now; what had one, none.
        if place < 0 or not holds(table, place, tag):
            place = place_of(table, running[USED], code)
        if table[place, COUNT] == 0:
            running[TAKEN] += 1
            table[place, TAG] = tag
            for c in range(columns):
                share = usual[c]
                if columns == 1:
                    share = usual[1]
                table[place, SHARES + c] = share
        elif table[place, TAG] != tag:
            table[place, COUNT] -= 1
            running[TAKEN] -= 1 if table[place, COUNT] == 0 else 0
            continue
        table[place, COUNT] += 1
        pace = np.float32(min(1.0, importance * max(1 / (table[place, COUNT] + START), FLOOR)))
        for c in range(columns):
            came = label == (c if columns > 1 else 1)
            own = table[place, SHARES + c]
            table[place, SHARES + c] = own + pace * (np.float32(1 if came else 0) - own)
    running[SEEN] += 1
    rate = min(1.0, importance * max(1 / (running[SEEN] + m.classes), USUAL_FLOOR))
    for c in range(m.classes):
        usual[c] += rate * ((1.0 if c == label else 0.0) - usual[c])
    if CROWDED * running[TAKEN] > running[USED] and running[USED] < m.cells:
        double(table, running[USED])
        running[USED] *= 2


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(ContextsState, state, scratch, plan, member)
    running = m.running
    for q in range(chunk.labels.size):
        out = chunk.scores[q, m.first_expert]
        # Of a single class there is nothing to learn yet.
        lesson = chunk.labels[q] >= 0 and running[RESTING] == 0 and m.classes > 1
        before = now = running[AWAKE]
        begin, end = chunk.value_starts[q], chunk.value_starts[q + 1]
        values, columns = chunk.values[begin:end], chunk.value_columns
        if columns.size > 0:
            columns = columns[begin:end]
        parts = 0
        counted = chunk.scored and before != ASLEEP
        if (lesson and before != FOR_GOOD) or (before != ASLEEP and not counted):
            parts = find_parts(m, values, columns)
        if lesson and before != FOR_GOOD:
            now = watch(m, values)
            running[AWAKE] = now
        if not counted and (before != ASLEEP or now != ASLEEP):
            z, _ = row_of(chunk, q)
            ask_all(m, values, z, parts)
            count_votes(m)
        if not chunk.scored:
            for c in range(out.size):
                out[c] = m.score[c] if before != ASLEEP and m.classes > 1 else 0.0
        if lesson and now != ASLEEP:
            learn_weights(m, chunk.labels[q], chunk.importance[q])
            learn_cells(m, chunk.labels[q], chunk.importance[q])
