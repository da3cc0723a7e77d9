"""The local member: a window of records, and for each query a small SVM among its neighbours.

    K    = k log2(N) nearest of the N records in the window     LAS section III
    all of one label: that is the answer                        LAS section III
    else one small SVM for each class among them                LAS(1), LAS section III
    metric "megm": all this in a space mapped by A              LAS Algorithm 1

What was computed for a record is kept until it, or another, is learned.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.metric import learn_metric, neighbour_gradient
from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.views import bits_of
from stream_llsvm.members.family.local_svm.cache import (
    MACHINES,
    entry_of,
    sort_places,
    stands,
    write_down,
)
from stream_llsvm.members.family.local_svm.machines import (
    NOBODY,
    Problem,
    Solved,
    answer,
    classes_of,
    gather,
    solve_all,
    unanimous,
)
from stream_llsvm.members.family.local_svm.megm import (
    LEAST_ERROR,
    descend,
    gradient_of,
    vote_errors,
)
from stream_llsvm.members.family.local_svm.window import (
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

PER_DOUBLING, COST, SIGMA, TOLERANCE = range(4)
SEEN, SPREAD, HELD, HEAD, RESTING, OFFERED, VERSION = range(7)
FRESH, FOUND, HIT, SOLVED = range(4)

#: How many of the nearest the map learns from.
PUPILS = 20
YOUNG = 20
SPREAD_RATE = 0.001


class LocalState(NamedTuple):
    """What a local member keeps, by name."""

    width: int
    first_expert: int
    map: int
    kernel: int
    way: int
    n_entries: int
    machines: int
    pause: int
    period: int
    settings: Annotated[Array, state("f8", 4)]
    running: Annotated[Array, state("f8", 8)]
    source: Annotated[Array, state("i8", 1)]
    facts: Annotated[Array, state("f8", FACTS, "window")]
    #: The records as they are, and as the map sees them.
    store: Annotated[Array, state("f4", "width", "window")]
    mapped: Annotated[Array, state("f4", "map_width", "window")]
    #: The map that is learned, and as it was when all records were last mapped.
    matrix: Annotated[Array, state("f4", "map_height", "map_width")]
    published: Annotated[Array, state("f4", "map_height", "map_width")]
    effort: Annotated[Array, state("f8", "map_width")]
    memo: Annotated[Array, scratch("i8", 4)]
    last: Annotated[Array, scratch("f4", "width")]
    query: Annotated[Array, scratch("f4", "width")]
    dense: Annotated[Array, scratch("f4", "width")]
    near: Annotated[Array, scratch("i8", "neighbours")]
    nearest: Annotated[Array, scratch("f4", "neighbours")]
    places: Annotated[Array, scratch("i8", "neighbours")]
    pulls: Annotated[Array, scratch("f8", "neighbours")]
    distance: Annotated[Array, scratch("f4", "window")]
    least: Annotated[Array, scratch("f4", GROUPS)]
    best: Annotated[Array, scratch("i8", 3, GROUPS)]
    points: Annotated[Array, scratch("f4", "neighbours", "width")]
    gram: Annotated[Array, scratch("f8", "neighbours", "neighbours")]
    work: Annotated[Array, scratch("f8", 4, "neighbours")]
    #: Machines that were solved already (``cache.py``): for whom, of which classes, and themselves.
    entries: Annotated[Array, scratch("i8", "n_entries", "entry_words")]
    codes: Annotated[Array, scratch("i8", "n_entries", "machines")]
    coefficients: Annotated[Array, scratch("f8", "n_entries", "machines", "neighbours")]
    #: The kernel's 1 / sigma^2 stands behind the biases.
    biases: Annotated[Array, scratch("f8", "n_entries", "machines_and_one")]
    vote: Annotated[Array, scratch("f8", "classes")]
    gradient: Annotated[Array, scratch("f4", "map_height", "map_width")]
    kept: Annotated[Array, scratch("f4", "columns")]
    rows: Annotated[Array, scratch("f4", 2, "width")]


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(LocalState, state, scratch, plan, member)
    running, memo, dense = m.running, m.memo, m.dense
    seen = m.store if m.map == PLAIN else m.mapped
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        named = x.size
        narrow = chunk.columns.size > 0 or named < m.width
        if narrow:
            for t in range(named):
                dense[at[t] if at.size > 0 else t] = x[t]
            x = dense
        held = int(running[HELD])
        if not remembered(memo, m.last, x):
            map_record(m.map, m.published, x, m.query)
            k = neighbours_asked(m.settings[PER_DOUBLING], held)
            memo[FRESH], memo[FOUND] = 1, k
            copy_to(m.last, x)
            search(m, seen, held, k)
            score(m, seen)
        copy_to(chunk.scores[q, m.first_expert], m.kept)
        if chunk.labels[q] >= 0 and running[RESTING] == 0:
            learn(m, seen, x, chunk.labels[q], chunk.importance[q])
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
def score(m: LocalState, seen: Array) -> None:
    """Answer a query whose neighbours are found; leaves which of the entries did in the memo."""
    memo, facts, settings, out = m.memo, m.facts, m.settings, m.kept
    k = memo[FOUND]
    near, places, pulls = m.near[:k], m.places[:k], m.pulls[:k]
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
    which = entry_of(places, facts[STAMP], m.n_entries)
    solved = Solved(m.codes[which], m.coefficients[which], m.biases[which])
    made = m.entries[which]
    gather(seen, places, m.points)
    version = int(m.running[VERSION])
    if not stands(made, version, places, facts[STAMP]):
        n = classes_of(places, facts, solved.codes)
        problem = Problem(m.kernel, settings[SIGMA], settings[COST], settings[TOLERANCE])
        solved.biases[m.machines] = solve_all(
            problem, m.points, places, facts, m.gram, m.work, n, solved
        )
        write_down(made, version, n, places, facts[STAMP])
        memo[SOLVED] += 1
    memo[HIT] = which
    answer(m.kernel, m.query, m.points, solved, made[MACHINES], m.work[3], pulls, out)


@kernel
def learn(m: LocalState, seen: Array, x: Array, label: int, importance: Real) -> None:
    """Take a step on the map, and put the record into the window if that has a place for it."""
    running, window = m.running, m.store.shape[1]
    running[SEEN] += 1
    m.memo[FRESH] = 0
    k = min(PUPILS, m.memo[FOUND])
    if k > 0:
        learn_map(m, x, k, label, min(1.0, importance))
    if running[SEEN] == YOUNG:
        # Until now records lay where the first few guesses of the scales had put them.
        running[HELD] = running[HEAD] = running[OFFERED] = 0
    running[OFFERED] += 1
    held = int(running[HELD])
    p = place_of(m.way, window, int(running[HEAD]), held, running[OFFERED], m.source)
    if p >= 0:
        remember(m, seen, p, x, label, importance)
    if m.map != PLAIN and (running[SEEN] % m.period == 0 or running[SEEN] < 64):
        for r in range(m.matrix.shape[0]):
            copy_to(m.published[r], m.matrix[r])
        map_window(m.map, m.published, m.store, m.mapped, m.facts, int(running[HELD]))
        running[VERSION] += 1


@kernel
def learn_map(m: LocalState, x: Array, k: int, label: int, importance: Real) -> None:
    """Follow how far the nearest are, and take one step on the map."""
    running, facts, store, matrix = m.running, m.facts, m.store, m.matrix
    near, nearest = m.near[:k], m.nearest[:k]
    mean = 0.0
    for j in range(k):
        mean += nearest[j]
    mean /= k
    if running[SPREAD] > 0:
        running[SPREAD] += SPREAD_RATE * (min(mean, 10 * running[SPREAD]) - running[SPREAD])
    else:
        running[SPREAD] = mean
    if matrix.size == 0 or running[SEEN] % m.pause != 0:
        return
    beta = 1 / (running[SPREAD] + 1e-4)
    errors = m.work[0, :k]
    if m.map == FULL:
        wrong = vote_errors(nearest, facts[LABEL], near, label, beta, m.vote, errors)
        if wrong > LEAST_ERROR:
            gradient_of(matrix, x, store, near, errors, beta, m.rows, m.gradient)
            descend(matrix, m.effort, m.gradient, importance)
        return
    same = bits_of(m.work[1])[:k]
    for j in range(k):
        same[j] = 1 if facts[LABEL, near[j]] == label else 0
    if neighbour_gradient(nearest, same, beta, errors):
        learn_metric(matrix[0], m.effort, x, store, near, errors, beta, importance)


@kernel
def remember(m: LocalState, seen: Array, p: int, x: Array, label: int, importance: Real) -> None:
    """Put a record in place p; the query is what the map makes of it."""
    running, facts, query, window = m.running, m.facts, m.query, m.store.shape[1]
    norm = 0.0
    for i in range(x.size):
        m.store[i, p] = x[i]
        seen[i, p] = query[i]
        norm += query[i] * query[i]
    facts[LABEL, p], facts[STAMP, p], facts[WORTH, p] = label, running[SEEN], importance
    facts[NORM, p] = norm
    if p == int(running[HEAD]):
        running[HEAD] = (p + 1) % window
        running[HELD] = min(running[HELD] + 1, window)
