"""Anchors that answer many rows at once, which teach nothing: weights are read once for all rows.

A wide model's anchors and machines do not fit into the fast caches, and a row asks all anchors
and the machines of a few. Rows that only want an answer can wait for each other: here a few anchors
meet all rows before the next do, and so does each machine with the rows that ask it. Each row's
sums are those that it has by itself, to the bit.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.coding import distances_of, encode, nearest_of_many
from stream_llsvm.kernels.jit import Array, kernel, member_kernel
from stream_llsvm.kernels.members.anchor_state import (
    ANCHORS,
    CODING,
    COMMON_SHARE,
    FLAT,
    MACHINES,
    N_ANCHORS,
    NEIGHBORS,
    SHARPNESS,
    SPREAD,
    STEPS,
)
from stream_llsvm.kernels.members.anchor_steps import mean_of
from stream_llsvm.kernels.members.machines import heights_of
from stream_llsvm.kernels.piece_loops import AT_ONCE, PIECE, scores_of_pieces
from stream_llsvm.kernels.pieces import pieces_of
from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.side_by_side import MOST, ROWS, smallest_side_by_side
from stream_llsvm.kernels.state import (
    COLUMNS,
    FIRST_EXPERT,
    FIRST_SECTION,
    OWN_EXPERTS,
    RUNGS,
    WIDTH,
)
from stream_llsvm.kernels.vectors import square_of
from stream_llsvm.kernels.views import doubles, flat, floats, integers


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
    """Score dense rows of many features, as ``anchors.run`` does row by row."""
    row = plan[member]
    n_all, rungs, experts = row[ANCHORS], row[RUNGS], row[OWN_EXPERTS]
    machines, first = row[MACHINES], row[FIRST_EXPERT]
    width, columns, rows = plan[0, WIDTH], plan[0, COLUMNS], labels.size
    wide = experts * columns
    machine_width = 0 if row[FLAT] == 1 else width
    o = row[FIRST_SECTION:]
    settings = doubles(state, o[0], STEPS + rungs)
    running = doubles(state, o[1], 8)
    born, common = int(running[N_ANCHORS]), machines > n_all
    k = min(row[NEIGHBORS], born)
    reach = k + machines - n_all
    raw_scale = doubles(state, o[3], rungs)
    positions = floats(state, o[4], (born, width))
    facts = floats(state, o[5], (4, machines))
    keep = floats(state, o[6], (machines, rungs))
    gain = floats(state, o[7], machines)
    weights = floats(state, o[8], (machines, wide, machine_width))
    biases = floats(state, o[9], (machines, wide))
    shares = floats(scratch, o[12], (4, row[NEIGHBORS] + machines - n_all))
    products = floats(scratch, o[23], (rows, n_all))
    near = integers(scratch, o[24], (rows, reach))
    codes = floats(scratch, o[25], (rows, reach))
    heights = floats(scratch, o[26], (rows, reach, wide))
    distances = floats(scratch, o[27], (rows, reach))
    by_machine = integers(scratch, o[28], (2, rows * reach))
    ends = integers(scratch, o[29], machines)
    packed, begins, pieces = pieces_of(scratch, plan)
    pieces = pieces[:rows]

    products_of_all(positions, packed, begins, pieces, products)
    if k > MOST:
        nearest_of_each(scratch, o, facts, born, k, products, packed, pieces, near, distances)
    elif k > 0:
        nearest_of_all(scratch, o, facts, born, k, products, packed, pieces, near, distances)
    for q in range(rows):
        if k > 0:
            distance = distances[q]
            spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
            encode(row[CODING], distance, settings[SHARPNESS], spread, codes[q, :k], shares[3])
        if common:
            near[q, k], codes[q, k] = n_all, np.float32(settings[COMMON_SHARE])
    if machine_width > 0:
        heights_of_all(near, weights, packed, begins, pieces, by_machine, ends, heights)
    for q in range(rows):
        heights_of(
            near[q], codes[q], raw_scale, keep, gain, weights, biases, experts == 2 * rungs, None,
            None, heights[q], flat(scores[q, first : first + experts]),
        )  # fmt: skip


@kernel
def products_of_all(
    positions: Array, packed: Array, begins: Array, pieces: Array, products: Array
) -> None:
    """Fill each row's product with each anchor, products[row, anchor]."""
    for first in range(0, positions.shape[0], AT_ONCE):
        some = positions[first : first + AT_ONCE]
        for q in range(pieces.size):
            n = pieces[q]
            out = products[q, first : first + AT_ONCE]
            scores_of_pieces(some, packed[q, : n * PIECE], begins[q, :n], out)


@kernel
def nearest_of_all(
    scratch: Array, o: Array, facts: Array, born: int, k: int, products: Array, packed: Array,
    pieces: Array, near: Array, distances: Array,
) -> None:  # fmt: skip
    """Find the k anchors nearest to each row, sixteen rows side by side."""
    own = floats(scratch, o[17], born)
    beside = floats(scratch, o[30], born * ROWS)
    least = floats(scratch, o[31], (2, MOST * ROWS))
    for begin in range(0, pieces.size, ROWS):
        rows = min(ROWS, pieces.size - begin)
        for i in range(rows):
            q = begin + i
            x_norm = square_of(packed[q, : pieces[q] * PIECE])
            distances_of(products[q], facts, born, x_norm, own)
            for j in range(born):
                beside[j * ROWS + i] = own[j]
        smallest_side_by_side(beside, least[0], least[1])
        for i in range(rows):
            for p in range(k):
                near[begin + i, p] = int(least[0, p * ROWS + i])
                distances[begin + i, p] = least[1, p * ROWS + i]


@kernel
def nearest_of_each(
    scratch: Array, o: Array, facts: Array, born: int, k: int, products: Array, packed: Array,
    pieces: Array, near: Array, distances: Array,
) -> None:  # fmt: skip
    """Find the k anchors nearest to each row, of which there are more than fit side by side."""
    own = floats(scratch, o[17], born)
    least, some = floats(scratch, o[18], GROUPS), integers(scratch, o[19], GROUPS)
    along = floats(scratch, o[12], k)
    for q in range(pieces.size):
        x_norm = square_of(packed[q, : pieces[q] * PIECE])
        nearest_of_many(
            products[q], facts, born, x_norm, own, least, some, near[q, :k], distances[q], along
        )


@kernel
def heights_of_all(
    near: Array, weights: Array, packed: Array, begins: Array, pieces: Array, by_machine: Array,
    ends: Array, heights: Array,
) -> None:  # fmt: skip
    """Fill each row's products with the machines that answer it, heights[row, which]."""
    wide = weights.shape[1]
    sort_by_machine(near, by_machine, ends)
    begin = 0
    for a in range(ends.size):
        for first in range(0, wide, AT_ONCE):
            some = weights[a, first : first + AT_ONCE]
            for t in range(begin, ends[a]):
                q, j = by_machine[0, t], by_machine[1, t]
                n = pieces[q]
                out = heights[q, j, first : first + AT_ONCE]
                scores_of_pieces(some, packed[q, : n * PIECE], begins[q, :n], out)
        begin = ends[a]


@kernel
def sort_by_machine(near: Array, by_machine: Array, ends: Array) -> None:
    """List (row, which) by the machine near[row, which], and say where each machine's end."""
    rows, k = near.shape
    ends[:] = 0
    for q in range(rows):
        for j in range(k):
            ends[near[q, j]] += 1
    total = 0
    for a in range(ends.size):  # for now where its own begin
        total, ends[a] = total + ends[a], total
    for q in range(rows):
        for j in range(k):
            a = near[q, j]
            by_machine[0, ends[a]], by_machine[1, ends[a]] = q, j
            ends[a] += 1
