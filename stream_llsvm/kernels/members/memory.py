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
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to, greatest
from stream_llsvm.kernels.metric import PERIOD, learn_metric, lesson
from stream_llsvm.kernels.search import GROUPS, smallest, subtract_products
from stream_llsvm.kernels.state import (
    CLASSES,
    CLOCK,
    FIRST_EXPERT,
    FIRST_SECTION,
    OWN,
    OWN_EXPERTS,
    REDRAWS,
    RELEVANCE,
    WIDTH,
)
from stream_llsvm.kernels.vectors import exponentials
from stream_llsvm.kernels.views import doubles, floats, integers

WINDOW, LEARNS_METRIC = range(OWN, OWN + 2)
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
SEEN, SPREAD, HELD, HEAD, RESTING = range(5)
LABEL, STAMP, WORTH = range(3)

FLOOR = 0.02
NOBODY = math.log(FLOOR)
#: Of the easy records one in so many is kept: the window reaches
#: further back, and holds what is hard.
EASY_ONE_IN = 8
YOUNG = 20
SPREAD_RATE = 0.001
# Multiply-adds a record that the metric may cost: wider models learn it from fewer records.
METRIC_BUDGET = 4_096

LAYOUT = (
    ("running", "f8", (8,), "state"),
    ("scale", "f4", ("width",), "state"),
    ("effort", "f8", ("width",), "state"),
    ("ruler", "f4", ("width",), "state"),
    ("norms", "f4", ("window",), "state"),
    ("facts", "f8", (3, "window"), "state"),
    ("store", "f4", ("width", "window"), "state"),
    ("found", "i8", (1,), "scratch"),
    ("near", "i8", (NEAREST,), "scratch"),
    ("nearest", "f4", (NEAREST,), "scratch"),
    ("lessons", "f8", (NEAREST,), "scratch"),
    ("same", "i8", (NEAREST,), "scratch"),
    ("distance", "f4", ("window",), "scratch"),
    ("least", "f4", (GROUPS,), "scratch"),
    ("some", "i8", (GROUPS,), "scratch"),
    ("dense", "f4", ("width",), "scratch"),
    ("factors", "f4", ("width",), "scratch"),
    ("votes", "f8", (EXPERTS, "classes"), "scratch"),
    ("counts", "f4", (EXPERTS, NEAREST), "scratch"),
)


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
def remember(
    store: Array,
    norms: Array,
    facts: Array,
    ruler: Array,
    running: Array,
    x: Array,
    code: int,
    w: Real,
) -> None:
    """Put a record in the place of the oldest."""
    p = int(running[HEAD])
    norm = np.float32(0)
    for i in range(x.size):
        store[i, p] = x[i]
        norm += ruler[i] * x[i] * x[i]
    for i in range(x.size, store.shape[0]):
        store[i, p] = 0
    norms[p] = norm
    facts[LABEL, p], facts[STAMP, p], facts[WORTH, p] = code, running[SEEN], w
    running[HEAD] = (p + 1) % norms.size
    running[HELD] = min(running[HELD] + 1, norms.size)


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
def measure_anew(store: Array, norms: Array, scale: Array, ruler: Array, held: int) -> None:
    """Bring the ruler, and all norms, to what the metric now says."""
    norms[:] = 0
    for i in range(scale.size):
        ruler[i] = scale[i] * scale[i]
        r, values = ruler[i], store[i]
        for j in range(held):
            norms[j] += r * values[j] * values[j]


@kernel
def publish(state: Array, scratch: Array, plan: Array, member: int) -> None:
    """Leave the metric for the ferns, as ``run`` would, of a memory that sleeps."""
    row, width, redraws = plan[member], plan[0, WIDTH], plan[0, REDRAWS]
    if row[OWN_EXPERTS] == 0:
        return
    ruler = floats(state, row[FIRST_SECTION + 3], width)
    relevance = floats(scratch, plan[0, FIRST_SECTION + RELEVANCE], redraws * width)
    for r in range(redraws - 1):
        copy_to(relevance[r * width :], ruler)


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
    """Score each row, then learn from it if it has a label."""
    row = plan[member]
    width, classes = plan[0, WIDTH], plan[0, CLASSES]
    first, experts, window = row[FIRST_EXPERT], row[OWN_EXPERTS], row[WINDOW]
    if experts == 0:
        return
    o = row[FIRST_SECTION:]
    running = doubles(state, o[0], 8)
    scale = floats(state, o[1], width)
    effort = doubles(state, o[2], width)
    ruler = floats(state, o[3], width)
    norms = floats(state, o[4], window)
    facts = doubles(state, o[5], (3, window))
    store = floats(state, o[6], (width, window))
    found = integers(scratch, o[7], 1)
    near_all = integers(scratch, o[8], NEAREST)
    nearest_all = floats(scratch, o[9], NEAREST)
    lessons = doubles(scratch, o[10], NEAREST)
    same = integers(scratch, o[11], NEAREST)
    distance_all = floats(scratch, o[12], window)
    least = floats(scratch, o[13], GROUPS)
    some = integers(scratch, o[14], GROUPS)
    dense = floats(scratch, o[15], width)
    factors = floats(scratch, o[16], width)
    votes = doubles(scratch, o[17], (EXPERTS, classes))
    counts = floats(scratch, o[18], (EXPERTS, NEAREST))
    span = max(1.0, LATE * window)
    relevance = floats(scratch, plan[0, FIRST_SECTION + RELEVANCE], plan[0, REDRAWS] * width)
    pause = 1 + NEAREST * width // METRIC_BUDGET
    clock = integers(scratch, plan[0, FIRST_SECTION + CLOCK], 1)[0]
    redraws = 0
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        out = scores[q, first : first + experts]
        if not scored:
            held = int(running[HELD])
            distance = distance_all[:held]
            norm = np.float32(0)
            for t in range(x.size):
                i = at[t] if at.size > 0 else t
                factors[t] = 2 * ruler[i] * x[t]
                norm += ruler[i] * x[t] * x[t]
            for j in range(held):
                distance[j] = norms[j] + norm
            subtract_products(store, factors[: x.size], at, distance)
            found[0] = min(NEAREST, held)
            smallest(distance, least, some, near_all[: found[0]], nearest_all[: found[0]])
            if found[0] > 0:
                near = near_all[: found[0]]
                count(near, nearest_all, facts, running[SEEN], span, counts)
                vote(near, counts, facts, votes, out)
            else:
                out[:] = 0
        if labels[q] < 0:
            continue
        clock += 1
        if clock % PERIOD == 0:
            copy_to(relevance[redraws * width :], ruler)
            redraws += 1
        if running[RESTING] > 0:
            continue
        if at.size > 0:
            for t in range(x.size):
                dense[at[t]] = x[t]
            x = dense
        running[SEEN] += 1
        seen = running[SEEN]
        k = found[0]
        near, nearest = near_all[:k], nearest_all[:k]
        if k > 0:
            mean = 0.0
            for j in range(k):
                mean += nearest[j]
                same[j] = 1 if facts[LABEL, near[j]] == labels[q] else 0
            mean /= k
            if running[SPREAD] > 0:
                running[SPREAD] += SPREAD_RATE * (min(mean, 10 * running[SPREAD]) - running[SPREAD])
            else:
                running[SPREAD] = mean
            beta = 1 / (running[SPREAD] + 1e-4)
            if (
                row[LEARNS_METRIC] == 1
                and seen % pause == 0
                and lesson(nearest, same, beta, lessons)
            ):
                learn_metric(scale, effort, x, store, near, lessons, beta, min(1.0, importance[q]))
        if seen == YOUNG:
            # Until now records lay where the first few guesses of the scales had put them.
            running[HELD] = running[HEAD] = 0
        if seen % EASY_ONE_IN == 0 or not easy(same[:k]):
            remember(store, norms, facts, ruler, running, x, labels[q], importance[q])
        if row[LEARNS_METRIC] == 1 and (seen % PERIOD == 0 or seen < PERIOD):
            measure_anew(store, norms, scale, ruler, int(running[HELD]))
        if at.size > 0:
            for t in range(at.size):
                dense[at[t]] = 0
