"""The local member: a window of records, and for each query a small SVM among its neighbours.

    K    = k log2(N) nearest of the N records in the window     LAS section III
    all of one label: that is the answer                        LAS section III
    else one small SVM for each class among them                LAS(1), LAS section III
    metric "megm": all this in a space mapped by A              LAS Algorithm 1

What was computed for a record is kept until it, or another, is learned.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.local.cache import (
    MACHINES,
    STAMPS,
    entry_of,
    sort_places,
    stands,
    write_down,
)
from stream_llsvm.kernels.local.machines import (
    NOBODY,
    answer,
    classes_of,
    gather,
    solve_all,
    unanimous,
)
from stream_llsvm.kernels.local.megm import LEAST_ERROR, descend, gradient_of, vote_errors
from stream_llsvm.kernels.local.window import (
    FACTS,
    FULL,
    LABEL,
    NORM,
    PLAIN,
    STAMP,
    WORTH,
    map_record,
    map_window,
    neighbours_asked,
    place_of,
    search,
)
from stream_llsvm.kernels.metric import learn_metric, lesson
from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.state import (
    CLASSES,
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    OWN,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, floats, integers

WINDOW, MAP, KERNEL, WAY, MOST_NEAR, MOST_MACHINES, ENTRIES, PAUSE, PERIOD = range(OWN, OWN + 9)
PER_DOUBLING, COST, SIGMA, TOLERANCE = range(4)
SEEN, SPREAD, HELD, HEAD, RESTING, OFFERED, VERSION = range(7)
FRESH, FOUND, HIT, SOLVED = range(4)

#: How many of the nearest the map learns from.
PUPILS = 20
YOUNG = 20
SPREAD_RATE = 0.001

LAYOUT = (
    ("settings", "f8", (4,), "state"),
    ("running", "f8", (8,), "state"),
    ("source", "i8", (1,), "state"),
    ("facts", "f8", (FACTS, "window"), "state"),
    ("store", "f4", ("width", "window"), "state"),
    ("mapped", "f4", ("map_width", "window"), "state"),
    ("matrix", "f4", ("map_height", "map_width"), "state"),
    ("published", "f4", ("map_height", "map_width"), "state"),
    ("effort", "f8", ("map_width",), "state"),
    ("memo", "i8", (4,), "scratch"),
    ("last", "f4", ("width",), "scratch"),
    ("query", "f4", ("width",), "scratch"),
    ("dense", "f4", ("width",), "scratch"),
    ("near", "i8", ("neighbours",), "scratch"),
    ("nearest", "f4", ("neighbours",), "scratch"),
    ("places", "i8", ("neighbours",), "scratch"),
    ("pulls", "f8", ("neighbours",), "scratch"),
    ("distance", "f4", ("window",), "scratch"),
    ("least", "f4", (GROUPS,), "scratch"),
    ("best", "i8", (GROUPS,), "scratch"),
    ("points", "f4", ("neighbours", "width"), "scratch"),
    ("gram", "f8", ("neighbours", "neighbours"), "scratch"),
    ("work", "f8", (4, "neighbours"), "scratch"),
    ("entries", "i8", ("entries", "entry_words"), "scratch"),
    ("classes", "i8", ("entries", "machines"), "scratch"),
    ("coefficients", "f8", ("entries", "machines", "neighbours"), "scratch"),
    ("biases", "f8", ("entries", "machines_and_one"), "scratch"),
    ("vote", "f8", ("classes",), "scratch"),
    ("gradient", "f4", ("map_height", "map_width"), "scratch"),
    ("kept", "f4", ("columns",), "scratch"),
    ("rows", "f4", (2, "width"), "scratch"),
)


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
    """Score each row, in any case anew, then learn from it if it has a label."""
    row = plan[member]
    width, classes, columns = plan[0, WIDTH], plan[0, CLASSES], plan[0, COLUMNS]
    window, kind, most_near = row[WINDOW], row[MAP], row[MOST_NEAR]
    map_width = 0 if kind == PLAIN else width
    map_height = width if kind == FULL else min(1, map_width)
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], 4)
    running = doubles(state, o[1], 8)
    source = integers(state, o[2], 1)
    facts = doubles(state, o[3], (FACTS, window))
    store = floats(state, o[4], (width, window))
    mapped = floats(state, o[5], (map_width, window))
    matrix = floats(state, o[6], (map_height, map_width))
    published = floats(state, o[7], (map_height, map_width))
    effort = doubles(state, o[8], map_width)
    memo = integers(scratch, o[9], 4)
    last = floats(scratch, o[10], width)
    query = floats(scratch, o[11], width)
    dense = floats(scratch, o[12], width)
    near = integers(scratch, o[13], most_near)
    nearest = floats(scratch, o[14], most_near)
    distance = floats(scratch, o[17], window)
    least = floats(scratch, o[18], GROUPS)
    best = integers(scratch, o[19], GROUPS)
    work = doubles(scratch, o[22], (4, most_near))
    vote = doubles(scratch, o[27], classes)
    gradient = floats(scratch, o[28], (map_height, map_width))
    kept = floats(scratch, o[29], columns)
    rows = floats(scratch, o[30], (2, width))
    seen = store if kind == PLAIN else mapped
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        named = x.size
        narrow = at_all.size > 0 or named < width
        if narrow:
            for t in range(named):
                dense[at[t] if at.size > 0 else t] = x[t]
            x = dense
        held = int(running[HELD])
        if not remembered(memo, last, x):
            map_record(kind, published, x, query)
            k = neighbours_asked(settings[PER_DOUBLING], held)
            memo[FRESH], memo[FOUND] = 1, k
            copy_to(last, x)
            search(seen, facts, query, distance[:held], least, best, rows[0], near[:k], nearest[:k])
            score(state, scratch, plan, member, seen, facts, query, kept)
        copy_to(scores[q, row[FIRST_EXPERT]], kept)
        if labels[q] >= 0 and running[RESTING] == 0:
            running[SEEN] += 1
            memo[FRESH] = 0
            k = min(PUPILS, memo[FOUND])
            if k > 0:
                learn_map(
                    row, running, settings, x, store, facts, near[:k], nearest[:k], labels[q],
                    min(1.0, importance[q]), matrix, effort, vote, work, rows, gradient,
                )  # fmt: skip
            if running[SEEN] == YOUNG:
                # Until now records lay where the first few guesses of the scales had put them.
                running[HELD] = running[HEAD] = running[OFFERED] = 0
            running[OFFERED] += 1
            held = int(running[HELD])
            p = place_of(row[WAY], window, int(running[HEAD]), held, running[OFFERED], source)
            if p >= 0:
                remember(running, facts, store, seen, query, p, x, labels[q], importance[q])
            if kind != PLAIN and (running[SEEN] % row[PERIOD] == 0 or running[SEEN] < 64):
                for p in range(matrix.shape[0]):
                    copy_to(published[p], matrix[p])
                map_window(kind, published, store, mapped, facts, int(running[HELD]))
                running[VERSION] += 1
        if narrow:
            for t in range(named):
                dense[at[t] if at.size > 0 else t] = 0


@kernel
def remembered(memo: Array, last: Array, x: Array) -> bool:
    """Whether this very record was scored last, and nothing was learned since."""
    if memo[FRESH] == 0:
        return False
    for i in range(x.size):  # noqa: SIM110  # numba knows no generators
        if last[i] != x[i]:
            return False
    return True


@kernel
def score(
    state: Array, scratch: Array, plan: Array, member: int, seen: Array, facts: Array,
    query: Array, out: Array,
) -> None:  # fmt: skip
    """Answer a query whose neighbours are found; leaves which of the entries did in the memo."""
    row, width = plan[member], plan[0, WIDTH]
    most_near, machines, entries = row[MOST_NEAR], row[MOST_MACHINES], row[ENTRIES]
    o = row[FIRST_SECTION:]
    settings, running = doubles(state, o[0], 4), doubles(state, o[1], 8)
    memo = integers(scratch, o[9], 4)
    k = memo[FOUND]
    near = integers(scratch, o[13], most_near)[:k]
    places = integers(scratch, o[15], most_near)[:k]
    pulls = doubles(scratch, o[16], most_near)[:k]
    memo[HIT] = -1
    if k == 0:
        out[:] = 0
        return
    sort_places(near, places)
    if unanimous(near, facts):
        out[:] = NOBODY
        code = int(facts[LABEL, near[0]])
        if out.size > 1:
            out[code] = 1
        elif code == 1:
            out[0] = 1
        pulls[:] = 1
        return
    points = floats(scratch, o[20], (most_near, width))
    gram = doubles(scratch, o[21], (most_near, most_near))
    work = doubles(scratch, o[22], (4, most_near))
    words = STAMPS + most_near
    which = entry_of(places, facts[STAMP], entries)
    made = integers(scratch, o[23], (entries, words))[which]
    codes = integers(scratch, o[24], (entries, machines))[which]
    coefficients = doubles(scratch, o[25], (entries, machines, most_near))[which]
    # The kernel's 1 / sigma^2 stands behind the biases.
    biases = doubles(scratch, o[26], (entries, machines + 1))[which]
    gather(seen, places, points)
    version = int(running[VERSION])
    if not stands(made, version, places, facts[STAMP]):
        n = classes_of(places, facts, codes)
        biases[machines] = solve_all(
            row[KERNEL], settings[SIGMA], settings[COST], settings[TOLERANCE], points, places,
            facts, gram, work[0], work[1], work[2], codes[:n], coefficients, biases,
        )  # fmt: skip
        write_down(made, version, n, places, facts[STAMP])
        memo[SOLVED] += 1
    memo[HIT] = which
    n = made[MACHINES]
    answer(
        row[KERNEL], biases[machines], query, points, codes[:n], coefficients, biases, work[3],
        pulls, out,
    )  # fmt: skip


@kernel
def learn_map(
    row: Array,
    running: Array,
    settings: Array,
    x: Array,
    store: Array,
    facts: Array,
    near: Array,
    nearest: Array,
    label: int,
    importance: Real,
    matrix: Array,
    effort: Array,
    vote: Array,
    work: Array,
    rows: Array,
    gradient: Array,
) -> None:
    """Follow how far the nearest are, and take one step on the map."""
    kind, k = row[MAP], near.size
    mean = 0.0
    for j in range(k):
        mean += nearest[j]
    mean /= k
    if running[SPREAD] > 0:
        running[SPREAD] += SPREAD_RATE * (min(mean, 10 * running[SPREAD]) - running[SPREAD])
    else:
        running[SPREAD] = mean
    if matrix.size == 0 or running[SEEN] % row[PAUSE] != 0:
        return
    beta = 1 / (running[SPREAD] + 1e-4)
    errors = work[0, :k]
    if kind == FULL:
        wrong = vote_errors(nearest, facts[LABEL], near, label, beta, vote, errors)
        if wrong > LEAST_ERROR:
            gradient_of(matrix, x, store, near, errors, beta, rows[0], rows[1], gradient)
            descend(matrix, effort, gradient, importance)
        return
    same = work[1].view(np.int64)[:k]
    for j in range(k):
        same[j] = 1 if facts[LABEL, near[j]] == label else 0
    if lesson(nearest, same, beta, errors):
        learn_metric(matrix[0], effort, x, store, near, errors, beta, importance)


@kernel
def remember(
    running: Array,
    facts: Array,
    store: Array,
    seen: Array,
    query: Array,
    p: int,
    x: Array,
    label: int,
    importance: Real,
) -> None:
    """Put a record in place p; the query is what the map makes of it."""
    window = store.shape[1]
    norm = 0.0
    for i in range(x.size):
        store[i, p] = x[i]
        seen[i, p] = query[i]
        norm += query[i] * query[i]
    facts[LABEL, p], facts[STAMP, p], facts[WORTH, p] = label, running[SEEN], importance
    facts[NORM, p] = norm
    if p == int(running[HEAD]):
        running[HEAD] = (p + 1) % window
        running[HELD] = min(running[HELD] + 1, window)
