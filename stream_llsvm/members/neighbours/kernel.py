"""The memory: records of late are the anchors, and the nearest of them vote.

LCC with a sliding window in place of anchors; a record that the window answers well already is
mostly left out of it. The 20 nearest vote, and three experts count their votes, as log shares:

    closest   exp(-(D_j - D_1) / (0.1 D))                       D: the mean of the twenty D_j
    latest    exp(-(D_j - D_1) / (0.3 D) - age_j / A)           A: a quarter of the window
    all       1 / (sqrt(D_j) + 0.001)

The first asks the nearest alone where it stands out and several where they are alike, the second
follows a stream that changes. Distances are in the metric that ``kernels/metric.py`` learns. The
store lies by columns, so that the search runs along a feature over all records and a record that
names few features costs few passes.

History may leave more records than the window holds (``members/neighbours/member.py``). Live, for
each record learned two of the oldest go, until the window is what it usually is.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to, greatest
from stream_llsvm.kernels.metric import PERIOD, learn_metric, neighbour_gradient
from stream_llsvm.kernels.search import GROUPS, smallest, subtract_products
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.vectors import exponentials

#: How many vote.
NEAREST = 20
#: How the experts count the votes.
CLOSEST, LATEST, ALL = range(3)
EXPERTS = 3
#: How far nearness reaches, in mean distances, and lateness, in windows; what is older than so many
#: reaches is as old as that.
REACHES = (0.1, 0.3)
LATE = 0.25
OLDEST = 50.0
#: What a mean distance is at least: below it rounding decides who is nearer.
LEAST_MEAN = 1e-4
#: A record is easy if so many of the nearest agree with it.
AGREEING = 5
#: ``PLACES``: how many records fit for now. ``LIVE``: what history left is let go of by and by.
SEEN, SPREAD, HELD, HEAD, RESTING, PLACES, LIVE = range(7)
LABEL, STAMP, WORTH = range(3)

FLOOR = 0.02
NOBODY = math.log(FLOOR)
#: Of the easy records one in so many is kept: the window reaches
#: further back, and holds what is hard.
EASY_ONE_IN = 8
YOUNG = 20
#: How many of the oldest go at once: of history's, live, each PERIOD of records; and of those that
#: are too many in history itself, one in so many.
LET_GO, LET_GO_ONE_IN = 2 * PERIOD, 16
SPREAD_RATE = 0.001
# Multiply-adds a record that the metric may cost: wider models learn it from fewer records.
METRIC_BUDGET = 4_096


class NeighboursState(NamedTuple):
    """What a memory member keeps, by name."""

    width: int
    first_expert: int
    experts: int
    #: The usual window, and for how many records there is room.
    usual: int
    window: int
    learns_metric: int
    running: Annotated[Array, state("f8", 8)]
    #: The metric, and the sums of squares that pace its steps; ``ruler`` is scale^2 as of the last
    #: time at which all norms were measured.
    scale: Annotated[Array, state("f4", "width")]
    effort: Annotated[Array, state("f8", "width")]
    ruler: Annotated[Array, state("f4", "width")]
    norms: Annotated[Array, state("f4", "window")]
    #: Of each record: its label, when it was learned, and how much it counts.
    facts: Annotated[Array, state("f8", 3, "window")]
    store: Annotated[Array, state("f4", "width", "window")]
    #: How many neighbours the record has; which, and how far off.
    found: Annotated[Array, scratch("i8", 1)]
    near: Annotated[Array, scratch("i8", NEAREST)]
    nearest: Annotated[Array, scratch("f4", NEAREST)]
    lessons: Annotated[Array, scratch("f8", NEAREST)]
    same: Annotated[Array, scratch("i8", NEAREST)]
    distance: Annotated[Array, scratch("f4", "window")]
    least: Annotated[Array, scratch("f4", GROUPS)]
    some: Annotated[Array, scratch("i8", 3, GROUPS)]
    dense: Annotated[Array, scratch("f4", "width")]
    factors: Annotated[Array, scratch("f4", "width")]
    votes: Annotated[Array, scratch("f8", EXPERTS, "classes")]
    counts: Annotated[Array, scratch("f4", EXPERTS, NEAREST)]


@kernel
def count(
    near: Array, nearest: Array, facts: Array, now: Real, span: Real, counts: Array
) -> None:  # fmt: skip
    """Say how much the vote of each neighbour counts, for each expert."""
    n, one = near.size, np.float32(1)
    closest, latest, everyone = counts[CLOSEST, :n], counts[LATEST, :n], counts[ALL, :n]
    mean = np.float32(0)
    for j in range(n):
        mean += nearest[j]
    mean = max(mean / np.float32(n), np.float32(LEAST_MEAN))
    steep, flat = np.float32(1 / REACHES[CLOSEST]) / mean, np.float32(1 / REACHES[LATEST]) / mean
    for j in range(n):
        latest[j] = min(max((now - facts[STAMP, near[j]]) / span, 0.0), OLDEST)
    for j in range(n):
        apart = nearest[0] - nearest[j]
        closest[j] = steep * apart
        latest[j] = flat * apart - latest[j]
        everyone[j] = one / (np.sqrt(nearest[j]) + np.float32(1e-3))
    exponentials(closest, closest, np.float32(0))
    exponentials(latest, latest, greatest(latest))


@kernel
def vote(near: Array, counts: Array, facts: Array, votes: Array, out: Array) -> None:
    """Turn the neighbours' labels into log shares, as each expert counts them."""
    votes[:] = 0
    classes, columns = votes.shape[1], out.shape[1]
    for j in range(near.size):
        label, worth = int(facts[LABEL, near[j]]), facts[WORTH, near[j]]
        for e in range(EXPERTS):
            votes[e, label] += worth * counts[e, j]
    for e in range(EXPERTS):
        total = 0.0
        for c in range(classes):
            total += votes[e, c]
        total = max(total, 1e-30)
        if columns == 1:
            no, yes = votes[e, 0], votes[e, classes - 1] if classes > 1 else 0.0
            out[e, 0] = math.log((yes / total + FLOOR) / (no / total + FLOOR))
        else:
            for c in range(columns):
                none = votes[e, c] == 0
                out[e, c] = NOBODY if none else math.log(votes[e, c] / total + FLOOR)


@kernel
def remember(m: NeighboursState, x: Array, code: int, w: Real) -> None:
    """Put a record in the place of the oldest."""
    store, running, facts = m.store, m.running, m.facts
    places = int(running[PLACES])
    if places > m.usual and running[HELD] == places:
        let_go(m, max(1, places // LET_GO_ONE_IN))
        places = int(running[PLACES])
    p = int(running[HEAD])
    norm = np.float32(0)
    for i in range(x.size):
        store[i, p] = x[i]
        norm += m.ruler[i] * x[i] * x[i]
    for i in range(x.size, store.shape[0]):
        store[i, p] = 0
    m.norms[p] = norm
    facts[LABEL, p], facts[STAMP, p], facts[WORTH, p] = code, running[SEEN], w
    running[HEAD] = (p + 1) % places
    running[HELD] = min(running[HELD] + 1, places)


@kernel
def let_go(m: NeighboursState, n: int) -> None:
    """Forget the n oldest of more records than usual, which lie in their order.

    Live, once they are no more than usual, the window is the usual one.
    """
    running, held = m.running, int(m.running[HELD])
    usual = running[LIVE] == 1 and held - n <= m.usual
    n = max(0, held - m.usual) if usual else min(n, held)
    if n > 0:
        move_down(m.norms, n, held)
        for i in range(m.store.shape[0]):
            move_down(m.store[i], n, held)
        for i in range(m.facts.shape[0]):
            move_down(m.facts[i], n, held)
    running[PLACES] = m.usual if usual else running[PLACES]
    running[HELD] = held - n
    running[HEAD] = (held - n) % int(running[PLACES])


@kernel
def move_down(values: Array, n: int, end: int) -> None:
    """Move the values before ``end`` by n places to the front."""
    for j in range(n, end):
        values[j - n] = values[j]


@kernel
def easy(same: Array) -> bool:
    """Whether the nearest all have the record's label: keeping it would tell little."""
    if same.size < AGREEING:
        return False
    for j in range(AGREEING):  # noqa: SIM110  # numba knows no generators
        if same[j] == 0:
            return False
    return True


@kernel
def measure_anew(m: NeighboursState) -> None:
    """Bring the ruler, and all norms, to what the metric now says."""
    norms, scale, held = m.norms, m.scale, int(m.running[HELD])
    norms[:] = 0
    for i in range(scale.size):
        m.ruler[i] = scale[i] * scale[i]
        r, values = m.ruler[i], m.store[i]
        for j in range(held):
            norms[j] += r * values[j] * values[j]


@inlined
def search(m: NeighboursState, x: Array, at: Array) -> None:
    """Find the nearest of all records: how many, which, and how far off."""
    held, ruler, factors = int(m.running[HELD]), m.ruler, m.factors
    distance = m.distance[:held]
    norm = np.float32(0)
    for t in range(x.size):
        i = at[t] if at.size > 0 else t
        factors[t] = 2 * ruler[i] * x[t]
        norm += ruler[i] * x[t] * x[t]
    for j in range(held):
        distance[j] = m.norms[j] + norm
    subtract_products(m.store, factors[: x.size], at, distance)
    k = min(NEAREST, held)
    m.found[0] = k
    smallest(distance, m.least, m.some, m.near[:k], m.nearest[:k])


@inlined
def follow_metric(m: NeighboursState, x: Array, k: int, label: int, importance: Real) -> None:
    """Follow how far neighbours are, and now and then take one step on the metric."""
    near, nearest, running = m.near[:k], m.nearest[:k], m.running
    same = m.same
    mean = 0.0
    for j in range(k):
        mean += nearest[j]
        same[j] = 1 if m.facts[LABEL, near[j]] == label else 0
    mean /= k
    if running[SPREAD] > 0:
        running[SPREAD] += SPREAD_RATE * (min(mean, 10 * running[SPREAD]) - running[SPREAD])
    else:
        running[SPREAD] = mean
    beta = 1 / (running[SPREAD] + 1e-4)
    pause = 1 + NEAREST * m.width // METRIC_BUDGET
    if (
        m.learns_metric == 1
        and int(running[SEEN]) % pause == 0
        and neighbour_gradient(nearest, same, beta, m.lessons)
    ):
        learn_metric(m.scale, m.effort, x, m.store, near, m.lessons, beta, min(1.0, importance))


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(NeighboursState, state, scratch, plan, member)
    if m.experts == 0:
        return
    running, dense = m.running, m.dense
    span = max(1.0, LATE * m.usual)
    clock = chunk.clock[0]
    redraws = 0
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        label, importance = chunk.labels[q], chunk.importance[q]
        if not chunk.scored:
            out = chunk.scores[q, m.first_expert : m.first_expert + m.experts]
            # In the passes of history in which it learns nothing nobody reads its scores.
            if label < 0 or running[RESTING] == 0:
                search(m, x, at)
            else:
                m.found[0] = 0
            if m.found[0] > 0:
                near = m.near[: m.found[0]]
                count(near, m.nearest, m.facts, running[SEEN], span, m.counts)
                vote(near, m.counts, m.facts, m.votes, out)
            else:
                out[:] = 0
        if label < 0:
            continue
        clock += 1
        if clock % PERIOD == 0:
            copy_to(chunk.relevance[redraws], m.ruler)
            redraws += 1
        if running[RESTING] > 0:
            continue
        if at.size > 0:
            for t in range(x.size):
                dense[at[t]] = x[t]
            x = dense
        running[SEEN] += 1
        seen, k = int(running[SEEN]), m.found[0]
        if k > 0:
            follow_metric(m, x, k, label, importance)
        if seen == YOUNG:
            # Until now records lay where the first few guesses of the scales had put them.
            running[HELD] = running[HEAD] = 0
        if seen % EASY_ONE_IN == 0 or not easy(m.same[:k]):
            remember(m, x, label, importance)
        if running[LIVE] == 1 and running[PLACES] > m.usual and seen % PERIOD == 0:
            let_go(m, LET_GO)
        if m.learns_metric == 1 and (seen % PERIOD == 0 or seen < PERIOD):
            measure_anew(m)
        if at.size > 0:
            for t in range(at.size):
                dense[at[t]] = 0
