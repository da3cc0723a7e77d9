"""The locally additive SVM: each feature by itself, on hat functions: LL section 3.2, LL(16).

A feature's codes are its shares of the two knots around its value, so its part of the score is
piecewise linear in it, with one bend a knot. A linear machine over those codes is an additive
model: exact for the intersection kernel's kind of problem, and explained feature by feature.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.cells import learn_cells, score_cells
from stream_llsvm.kernels.chunk import Chunk, row_of
from stream_llsvm.kernels.compile import Array, kernel, member_kernel
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.views import flat

SEEN = 0


class AdditiveState(NamedTuple):
    """What an additive member keeps, by name."""

    columns: int
    first_expert: int
    experts: int
    rungs: int
    loss: int
    multiclass: int
    knots: int
    settings: Annotated[Array, state("f8", "settings")]
    running: Annotated[Array, state("f8", 8)]
    bias: Annotated[Array, state("f4", ("copies", "rungs", "columns"))]
    mass: Annotated[Array, state("f4", ("width", "knots"))]
    weights: Annotated[Array, state("f4", ("width", "knots"), ("copies", "rungs", "columns"))]
    #: How many knots the record touches; which, and its share of each.
    touched: Annotated[Array, scratch("i8", 1)]
    cells: Annotated[Array, scratch("i8", ("width", 2))]
    shares: Annotated[Array, scratch("f4", ("width", 2))]
    sums: Annotated[Array, scratch("f4", 2, ("experts", "columns"))]


@kernel
def hats(x: Array, at: Array, knots: int, cells: Array, shares: Array) -> int:
    """Find the two knots around each value and its share of each; returns how many.

    A scaled value of exactly 0 is a missing one, or a constant: it says nothing, and touches none.
    """
    per_unit = (knots - 1) / (2 * Z_MOST)
    n = 0
    for t in range(x.size):
        if x[t] == 0:
            continue
        i = at[t] if at.size > 0 else t
        place = (x[t] + Z_MOST) * per_unit
        left = min(max(int(place), 0), knots - 2)
        share = min(max(place - left, 0.0), 1.0)
        cells[n], cells[n + 1] = i * knots + left, i * knots + left + 1
        shares[n], shares[n + 1] = 1 - share, share
        n += 2
    return n


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score each row, then learn from it if it has a label."""
    m = views(AdditiveState, state, scratch, plan, member)
    for q in range(chunk.labels.size):
        x, at = row_of(chunk, q)
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        if not chunk.scored:
            m.touched[0] = hats(x, at, m.knots, m.cells, m.shares)
            score_cells(m.weights, m.bias, m.cells[: m.touched[0]], m.shares, out)
        if chunk.labels[q] < 0:
            continue
        m.running[SEEN] += 1
        cells = m.cells[: m.touched[0]]
        learn_cells(m, cells, m.shares, m.running[SEEN], chunk.labels[q], chunk.importance[q], out)
