"""The locally additive SVM: each feature by itself, on hat functions: LL section 3.2, LL(16).

A feature's codes are its shares of the two knots around its value, so its part of the score is
piecewise linear in it, with one bend a knot. A linear machine over those codes is an additive
model: exact for the intersection kernel's kind of problem, and explained feature by feature.
"""

from __future__ import annotations

from stream_llsvm.kernels.jit import Array, kernel, member_kernel
from stream_llsvm.kernels.members.cells import STEPS, learn_cells, score_cells
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.kernels.state import (
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    OWN,
    OWN_EXPERTS,
    RUNGS,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, flat, floats, integers

KNOTS = OWN
SEEN = 0

LAYOUT = (
    ("settings", "f8", ("settings",), "state"),
    ("running", "f8", (8,), "state"),
    ("bias", "f4", ("copies", "rungs", "columns"), "state"),
    ("mass", "f4", ("width", "knots"), "state"),
    ("weights", "f4", ("width", "knots", "copies", "rungs", "columns"), "state"),
    ("touched", "i8", (1,), "scratch"),
    ("cells", "i8", ("width", 2), "scratch"),
    ("shares", "f4", ("width", 2), "scratch"),
    ("sums", "f4", (2, "experts", "columns"), "scratch"),
)


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
    first, experts, knots = row[FIRST_EXPERT], row[OWN_EXPERTS], row[KNOTS]
    wide = experts * columns
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + row[RUNGS])
    running = doubles(state, o[1], 8)
    bias = floats(state, o[2], wide)
    mass = floats(state, o[3], width * knots)
    weights = floats(state, o[4], (width * knots, wide))
    touched = integers(scratch, o[5], 1)
    cells = integers(scratch, o[6], 2 * width)
    shares = floats(scratch, o[7], 2 * width)
    sums = floats(scratch, o[8], (2, wide))
    for q in range(labels.size):
        x = z[starts[q] : starts[q + 1]]
        at = at_all[starts[q] : starts[q + 1]] if at_all.size > 0 else at_all
        out = flat(scores[q, first : first + experts])
        if not scored:
            touched[0] = hats(x, at, knots, cells, shares)
            score_cells(weights, bias, cells[: touched[0]], shares, out)
        if labels[q] < 0:
            continue
        running[SEEN] += 1
        n = touched[0]
        learn_cells(
            row, plan, settings, weights, bias, mass, cells[:n], shares, running[SEEN],
            labels[q], importance[q], out, sums[0], sums[1],
        )  # fmt: skip
