"""Anchors that answer many rows at once, which teach nothing: weights are read once for all rows.

A wide model's anchors and machines do not fit into the fast caches, and a row asks all anchors
and the machines of a few. Rows that only want an answer can wait for each other: here a few anchors
meet all rows before the next do, and so does each machine with the rows that ask it. Each row's
sums are those that it has by itself, to the bit.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.chunk import Chunk
from stream_llsvm.kernels.compile import Array, kernel, member_kernel
from stream_llsvm.kernels.piece_loops import AT_ONCE, PIECE, scores_of_pieces
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.vectors import square_of
from stream_llsvm.kernels.views import flat
from stream_llsvm.members.anchors.codes import encode, nearest_of_many, search_of
from stream_llsvm.members.anchors.machines import heights_of, machines_of
from stream_llsvm.members.anchors.state import (
    COMMON_SHARE,
    N_ANCHORS,
    PULL,
    SHARPNESS,
    SPREAD,
    AnchorState,
)
from stream_llsvm.members.anchors.steps import mean_of


@member_kernel
def run(state: Array, scratch: Array, plan: Array, member: int, chunk: Chunk) -> None:
    """Score dense rows of many features, as ``anchors.run`` does row by row."""
    m = views(AnchorState, state, scratch, plan, member)
    born, running, settings = int(m.running[N_ANCHORS]), m.running, m.settings
    k = min(m.neighbours, born)
    reach = k + m.machines - m.anchors
    products_of_all(m.positions[:born], chunk, m.all_products)
    if k > 0:
        nearest_of_each(m, chunk, born, k)
    for q in range(chunk.labels.size):
        if k > 0:
            distance = m.all_distances[q, :k]
            spread = running[SPREAD] if running[SPREAD] > 0 else mean_of(distance, k)
            codes, pull = m.all_codes[q, :k], m.shares[PULL]
            encode(m.coding, distance, settings[SHARPNESS], spread, codes, pull)
        if m.machines > m.anchors:
            m.all_near[q, k] = m.anchors
            m.all_codes[q, k] = np.float32(settings[COMMON_SHARE])
    if m.machine_width > 0:
        heights_of_all(m, chunk, reach)
    machines = machines_of(m)
    for q in range(chunk.labels.size):
        out = flat(chunk.scores[q, m.first_expert : m.first_expert + m.experts])
        near, codes = m.all_near[q, :reach], m.all_codes[q]
        heights_of(machines, near, codes, None, None, m.all_heights[q], out)


@kernel
def products_of_all(positions: Array, chunk: Chunk, products: Array) -> None:
    """Fill each row's product with each anchor, products[row, anchor]."""
    packed, begins, pieces = chunk.packed, chunk.begins, chunk.pieces
    for first in range(0, positions.shape[0], AT_ONCE):
        some = positions[first : first + AT_ONCE]
        for q in range(chunk.labels.size):
            n = pieces[q]
            out = products[q, first : first + AT_ONCE]
            scores_of_pieces(some, packed[q, : n * PIECE], begins[q, :n], out)


@kernel
def nearest_of_each(m: AnchorState, chunk: Chunk, born: int, k: int) -> None:
    """Find the k anchors nearest to each row."""
    along = m.shares[0]
    for q in range(chunk.labels.size):
        x_norm = square_of(chunk.packed[q, : chunk.pieces[q] * PIECE])
        near, distance = m.all_near[q, :k], m.all_distances[q]
        nearest_of_many(search_of(m), m.all_products[q], born, x_norm, near, distance, along)


@kernel
def heights_of_all(m: AnchorState, chunk: Chunk, reach: int) -> None:
    """Fill each row's products with the machines that answer it, heights[row, which]."""
    packed, begins, pieces, heights = chunk.packed, chunk.begins, chunk.pieces, m.all_heights
    ends, by_machine = m.machine_ends, m.by_machine
    wide = m.weights.shape[1]
    sort_by_machine(m.all_near, chunk.labels.size, reach, by_machine, ends)
    begin = 0
    for a in range(ends.size):
        for first in range(0, wide, AT_ONCE):
            some = m.weights[a, first : first + AT_ONCE]
            for t in range(begin, ends[a]):
                q, j = by_machine[0, t], by_machine[1, t]
                n = pieces[q]
                out = heights[q, j, first : first + AT_ONCE]
                scores_of_pieces(some, packed[q, : n * PIECE], begins[q, :n], out)
        begin = ends[a]


@kernel
def sort_by_machine(near: Array, rows: int, k: int, by_machine: Array, ends: Array) -> None:
    """List (row, which) by the machine near[row, which], and say where each machine's end."""
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
