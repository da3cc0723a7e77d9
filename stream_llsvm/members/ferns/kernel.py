"""Random ferns: a few comparisons choose a cell, and each cell has weights of its own.

A fern asks the same ``depth`` questions of every record, is feature f above threshold t?, and the
answers number one of its 2^depth cells. Many ferns together are a linear machine over a sparse
code, see ``cells.py``; ``draw.py`` says how questions are chosen. Every so often the fern that has
been least useful is drawn anew: so they follow the stream.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from stream_llsvm.kernels.cells import STEPS, learn_cells, score_cells
from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, Real, kernel, member_kernel
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.ferns.draw import ROWS, draw, reach_of

SEEN = 0
BORN, USE = range(2)

FIRST_DRAW = 50
GRACE = 1_000
USE_RATE = 0.002
WIDE = 1_024


class FernsState(NamedTuple):
    """What a ferns member keeps, by name."""

    width: int
    columns: int
    first_expert: int
    experts: int
    rungs: int
    loss: int
    multiclass: int
    ferns: int
    depth: int
    kept: int
    settings: Annotated[Array, state("f8", "settings")]
    running: Annotated[Array, state("f8", 8)]
    #: The state of the random numbers.
    source: Annotated[Array, state("i8", 1)]
    #: What each fern asks: is this feature above this threshold?
    features: Annotated[Array, state("i8", "ferns", "depth")]
    thresholds: Annotated[Array, state("f4", "ferns", "depth")]
    facts: Annotated[Array, state("f8", 2, "ferns")]
    #: Records to take thresholds from.
    recent: Annotated[Array, state("f4", "kept", "width")]
    bias: Annotated[Array, state("f4", ("copies", "rungs", "columns"))]
    mass: Annotated[Array, state("f4", ("ferns", "leaves"))]
    weights: Annotated[Array, state("f4", ("ferns", "leaves"), ("copies", "rungs", "columns"))]
    dense: Annotated[Array, scratch("f4", "width")]
    cells: Annotated[Array, scratch("i8", "ferns")]
    shares: Annotated[Array, scratch("f4", "ferns")]
    sums: Annotated[Array, scratch("f4", 2, ("experts", "columns"))]
    #: The labels of the recent records.
    labels: Annotated[Array, state("i8", "kept")]
    #: While a fern is drawn: features' relevance added up, records by cell, counts by class.
    reach: Annotated[Array, scratch("f8", "width")]
    order: Annotated[Array, scratch("i8", ROWS, "kept")]
    counts: Annotated[Array, scratch("i8", "classes")]


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
def draw_anew(m: FernsState, fern: int, relevance: Array) -> None:
    """Draw a fern again, and forget what its cells have learned."""
    reach_of(relevance, m.reach)
    draw(m, fern, m.kept)
    m.mass[fern << m.depth : (fern + 1) << m.depth] = 0
    m.weights[fern << m.depth : (fern + 1) << m.depth] = 0
    m.facts[BORN, fern] = m.running[SEEN]
    m.facts[USE, fern] = 0


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
    """Return the fern to be drawn anew, -1 if all are too young.

    Those of a young stream were drawn by few records: they wait for half of its length only.
    """
    worst, grace = -1, min(GRACE, seen / 2)
    for f in range(facts.shape[1]):
        old = seen - facts[BORN, f] >= grace
        if old and (worst < 0 or facts[USE, f] < facts[USE, worst]):
            worst = f
    return worst


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(FernsState, state, scratch, plan, member)
    width, columns, rungs = m.width, m.columns, m.rungs
    n_ferns, kept, running, dense, cells = m.ferns, m.kept, m.running, m.dense, m.cells
    judge = (rungs // 2 + (rungs if m.experts > rungs else 0)) * columns
    stride = 1 + width // WIDE
    clock = chunk.clock[0]
    redraws = 0
    # The last row is never written: all features count alike.
    uniformly = chunk.relevance[chunk.relevance.shape[0] - 1]
    m.shares[:] = 1
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        label = chunk.labels[q]
        drawn = n_ferns if running[SEEN] >= FIRST_DRAW and width > 0 else 0
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        named, narrow = x.size, at.size > 0 or x.size < width
        if narrow:
            for t in range(named):
                dense[at[t] if at.size > 0 else t] = x[t]
            x = dense
        if not chunk.scored:
            cells_of(x, m.features[:drawn], m.thresholds, cells)
            score_cells(m.weights, m.bias, cells[:drawn], m.shares, out)
        if label >= 0:
            running[SEEN] += 1
            clock += 1
            seen = int(running[SEEN])
            rate_ferns(m.weights, cells[:drawn], m.facts, judge, columns, label)
            learn_cells(m, cells[:drawn], m.shares, seen, label, chunk.importance[q], out)
            if width == 0:
                continue
            if seen % stride == 0:
                place = (seen // stride - 1) % kept
                copy_to(m.recent[place], x)
                m.labels[place] = label
            if seen == FIRST_DRAW:
                reach_of(uniformly, m.reach)
                for f in range(n_ferns):
                    draw(m, f, max(1, min(kept, seen // stride)))
            if clock % PERIOD == 0:
                worst = least_useful(m.facts, seen)
                if worst >= 0 and m.settings[STEPS] > 0:  # else it would learn nothing any more
                    draw_anew(m, worst, chunk.relevance[redraws])
                redraws += 1
        if narrow:
            for t in range(named):
                dense[at[t] if at.size > 0 else t] = 0
