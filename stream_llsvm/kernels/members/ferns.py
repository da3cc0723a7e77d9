"""Random ferns: a few comparisons choose a cell, and each cell has weights of its own.

A fern asks the same ``depth`` questions of every record, is feature f above threshold t?, and the
answers number one of its 2^depth cells. Many ferns together are a linear machine over a sparse
code, see ``cells.py``. Features are drawn by the relevance that the memory's metric has learned,
if there is a memory; thresholds lie halfway between two recent records. Every so often the fern
that has been least useful is drawn anew: so they follow the stream.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.chance import below, uniform
from stream_llsvm.kernels.jit import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.members.cells import STEPS, learn_cells, score_cells
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.state import (
    CLOCK,
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    OWN,
    OWN_EXPERTS,
    REDRAWS,
    RELEVANCE,
    RUNGS,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, flat, floats, integers

FERNS, DEPTH, KEPT = range(OWN, OWN + 3)
SEEN = 0
BORN, USE = range(2)

FIRST_DRAW = 50
GRACE = 1_000
USE_RATE = 0.002
ATTEMPTS = 4
WIDE = 1_024

LAYOUT = (
    ("settings", "f8", ("settings",), "state"),
    ("running", "f8", (8,), "state"),
    ("source", "i8", (1,), "state"),
    ("features", "i8", ("ferns", "depth"), "state"),
    ("thresholds", "f4", ("ferns", "depth"), "state"),
    ("facts", "f8", (2, "ferns"), "state"),
    ("recent", "f4", ("kept", "width"), "state"),
    ("bias", "f4", ("copies", "rungs", "columns"), "state"),
    ("mass", "f4", ("ferns", "leaves"), "state"),
    ("weights", "f4", ("ferns", "leaves", "copies", "rungs", "columns"), "state"),
    ("dense", "f4", ("width",), "scratch"),
    ("cells", "i8", ("ferns",), "scratch"),
    ("shares", "f4", ("ferns",), "scratch"),
    ("sums", "f4", (2, "experts", "columns"), "scratch"),
)


@kernel
def cells_of(x: Array, features: Array, thresholds: Array, cells: Array) -> None:
    """Answer each fern's questions; the answers number a cell."""
    depth = features.shape[1]
    for f in range(features.shape[0]):
        cell = 0
        for i in range(depth):
            cell = 2 * cell + (1 if x[features[f, i]] > thresholds[f, i] else 0)
        cells[f] = (f << depth) + cell


@kernel
def draw(
    fern: int, features: Array, thresholds: Array, recent: Array, relevance: Array, source: Array
) -> None:
    """Draw a fern's questions: features by relevance, thresholds between two recent records."""
    total = 0.0
    for i in range(relevance.size):
        total += relevance[i]
    for d in range(features.shape[1]):
        for _ in range(ATTEMPTS):  # a feature on which the two records differ, if one is found
            feature = below(source, relevance.size)
            if total > 0:
                rest = uniform(source) * total
                feature = 0
                while feature < relevance.size - 1 and rest >= relevance[feature]:
                    rest -= relevance[feature]
                    feature += 1
            a = recent[below(source, recent.shape[0]), feature]
            b = recent[below(source, recent.shape[0]), feature]
            features[fern, d] = feature
            thresholds[fern, d] = 0.5 * (a + b)
            if a != b:
                break


@kernel
def rate_ferns(
    weights: Array, cells: Array, facts: Array, first: int, columns: int, label: int
) -> None:
    """Follow how far each fern pulls towards the truth, by one of its experts."""
    for f in range(cells.size):
        w = weights[cells[f]]
        if columns == 1:
            pull = w[first] if label == 1 else -w[first]
        else:
            own = w[first : first + columns]
            total = np.float32(0)
            for c in range(columns):
                total += own[c]
            pull = own[label] - total / np.float32(columns)
        facts[USE, f] += USE_RATE * (pull - facts[USE, f])


@kernel
def least_useful(facts: Array, seen: Real) -> int:
    """Return the fern to be drawn anew, -1 if all are too young."""
    worst = -1
    for f in range(facts.shape[1]):
        old = seen - facts[BORN, f] >= GRACE
        if old and (worst < 0 or facts[USE, f] < facts[USE, worst]):
            worst = f
    return worst


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
    width, columns = plan[0, WIDTH], plan[0, COLUMNS]
    first, experts, rungs = row[FIRST_EXPERT], row[OWN_EXPERTS], row[RUNGS]
    n_ferns, depth, kept = row[FERNS], row[DEPTH], row[KEPT]
    wide, n_cells = experts * columns, n_ferns << depth
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + rungs)
    running = doubles(state, o[1], 8)
    source = integers(state, o[2], 1)
    features = integers(state, o[3], (n_ferns, depth))
    thresholds = floats(state, o[4], (n_ferns, depth))
    facts = doubles(state, o[5], (2, n_ferns))
    recent = floats(state, o[6], (kept, width))
    bias = floats(state, o[7], wide)
    mass = floats(state, o[8], n_cells)
    weights = floats(state, o[9], (n_cells, wide))
    dense = floats(scratch, o[10], width)
    cells = integers(scratch, o[11], n_ferns)
    shares = floats(scratch, o[12], n_ferns)
    sums = floats(scratch, o[13], (2, wide))
    relevance = floats(scratch, plan[0, FIRST_SECTION + RELEVANCE], plan[0, REDRAWS] * width)
    judge = (rungs // 2 + (rungs if experts > rungs else 0)) * columns
    stride = 1 + width // WIDE
    clock = integers(scratch, plan[0, FIRST_SECTION + CLOCK], 1)[0]
    redraws = 0
    # The last row is never written: all features count alike.
    uniformly = relevance[plan[0, REDRAWS] * width - width :]
    shares[:] = 1
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        drawn = n_ferns if running[SEEN] >= FIRST_DRAW and width > 0 else 0
        out = flat(scores[q, first : first + experts])
        narrow = at.size > 0 or x.size < width
        if narrow:
            for t in range(x.size):
                dense[at[t] if at.size > 0 else t] = x[t]
            x = dense
        if not scored:
            cells_of(x, features[:drawn], thresholds, cells)
            score_cells(weights, bias, cells[:drawn], shares, out)
        if labels[q] >= 0:
            running[SEEN] += 1
            clock += 1
            seen = running[SEEN]
            rate_ferns(weights, cells[:drawn], facts, judge, columns, labels[q])
            learn_cells(
                row, plan, settings, weights, bias, mass, cells[:drawn], shares[:drawn], seen,
                labels[q], importance[q], out, sums[0], sums[1],
            )  # fmt: skip
            if width == 0:
                continue
            if seen % stride == 0:
                copy_to(recent[(int(seen // stride) - 1) % kept], x)
            if seen == FIRST_DRAW:
                some = recent[: max(1, min(kept, int(seen // stride)))]
                for f in range(n_ferns):
                    draw(f, features, thresholds, some, uniformly, source)
            if clock % PERIOD == 0:
                worst = least_useful(facts, seen)
                if worst >= 0:
                    weighted = relevance[redraws * width :][:width]
                    draw(worst, features, thresholds, recent, weighted, source)
                    mass[worst << depth : (worst + 1) << depth] = 0
                    weights[worst << depth : (worst + 1) << depth] = 0
                    facts[BORN, worst] = seen
                    facts[USE, worst] = 0
                redraws += 1
        if narrow:
            for t in range(starts[q + 1] - starts[q]):
                dense[at[t] if at.size > 0 else t] = 0
