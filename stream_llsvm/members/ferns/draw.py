"""Choosing a fern's questions: each the best of several, on the records that the member keeps.

    gain = sum over cells k and classes c of n_kc^2 / (n_k + 1)        n_kc: kept records, by label

A question is a feature and a threshold halfway between two kept records. Features are drawn by the
relevance that the memory's metric has learned, if there is a memory. Each level draws a few such
questions, drops the records down each, and asks the one whose cells are purest; that splits the
cells for the next level. A record alone in its cell tells no question from another and is left
out. A cell of one class is not: it had better stay whole, and one in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.random import below, uniform

#: State of a member with ferns: ``source``, ``recent``, ``labels``, ``features``, ``thresholds``.
Ferns = Any

# Of the kept records, sorted by cell and label: which, its cell, and room to sort them. Of each run
# of a label inside a cell: where it ends, and whether it is the cell's last.
RECORD, CELL, SPARE, END, LAST = range(5)
ROWS = 5

#: Questions from which the best is chosen.
CANDIDATES = 10
#: Gains are sums, whose last bits are chance: of questions as good as that the first is asked.
TIE = 1e-9
#: How often a feature is drawn until two records differ in it.
ATTEMPTS = 4


@kernel
def reach_of(relevance: Array, reach: Array) -> None:
    """Add the features' relevance up: how far each reaches; all count alike where none has any."""
    total = 0.0
    for i in range(relevance.size):
        total += relevance[i]
        reach[i] = total
    if total <= 0:
        for i in range(relevance.size):
            reach[i] = i + 1


@kernel
def place_in(reach: Array, dart: Real) -> int:
    """Return the feature that the dart hits."""
    low, high = 0, reach.size - 1
    while low < high:
        middle = (low + high) // 2
        if reach[middle] > dart:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def question(source: Array, reach: Array, recent: Array) -> tuple[int, Real]:
    """Draw a feature by relevance, and a threshold between two recent records."""
    feature, threshold = 0, np.float32(0)
    for _ in range(ATTEMPTS):  # a feature on which the two records differ, if one is found
        feature = place_in(reach, uniform(source) * reach[reach.size - 1])
        a = recent[below(source, recent.shape[0]), feature]
        b = recent[below(source, recent.shape[0]), feature]
        threshold = np.float32(0.5) * (a + b)
        if a != b:
            break
    return feature, threshold


@kernel
def sort_by_label(labels: Array, n: int, order: Array, counts: Array) -> None:
    """Put the first ``n`` records into one cell, those of a label side by side."""
    counts[:] = 0
    for i in range(n):
        counts[labels[i]] += 1
    begin = 0
    for c in range(counts.size):
        size = counts[c]
        counts[c] = begin
        begin += size
    for i in range(n):
        order[RECORD, counts[labels[i]]], order[CELL, i] = i, 0
        counts[labels[i]] += 1


@kernel
def list_runs(labels: Array, order: Array, n: int) -> tuple[int, int]:
    """List the runs of a label inside each cell, and leave out cells of a single record.

    Returns how many records are left, and in how many runs.
    """
    left, runs, i = 0, 0, 0
    while i < n:
        cell, end, label, begin = order[CELL, i], i, -1, left
        while end < n and order[CELL, end] == cell:
            record = order[RECORD, end]
            if labels[record] != label:
                label = labels[record]
                runs += 1
            order[RECORD, left], order[CELL, left] = record, cell
            left += 1
            order[END, runs - 1], order[LAST, runs - 1] = left, 0
            end += 1
        if left == begin + 1:
            left, runs = begin, runs - 1
        else:
            order[LAST, runs - 1] = 1
        i = end
    return left, runs


@kernel
def gain_of(recent: Array, order: Array, runs: int, feature: int, threshold: Real) -> Real:
    """Return how pure the cells are that this question makes of those in order."""
    gain, q, above, below, squares_above, squares_below = 0.0, 0, 0, 0, 0, 0
    for r in range(runs):
        yes, end = 0, order[END, r]
        no = end - q
        while q < end:
            yes += int(recent[order[RECORD, q], feature] > threshold)
            q += 1
        no -= yes
        above, squares_above = above + yes, squares_above + yes * yes
        below, squares_below = below + no, squares_below + no * no
        if order[LAST, r] == 1:
            gain += squares_above / (above + 1) + squares_below / (below + 1)
            above, below, squares_above, squares_below = 0, 0, 0, 0
    return gain


@kernel
def split(recent: Array, order: Array, n: int, feature: int, threshold: Real) -> None:
    """Split the cells of the first ``n`` records in order; labels stay side by side."""
    i, cells = 0, 0
    while i < n:
        cell, end, above, below = order[CELL, i], i, 0, 0
        while end < n and order[CELL, end] == cell:
            record = order[RECORD, end]
            if recent[record, feature] > threshold:
                order[SPARE, above] = record
                above += 1
            else:  # never beyond what has been read
                order[RECORD, i + below] = record
                below += 1
            end += 1
        for q in range(above):
            order[RECORD, i + below + q] = order[SPARE, q]
        for q in range(i, end):
            order[CELL, q] = cells if q < i + below else cells + 1
        cells += 2
        i = end


@kernel
def draw(m: Ferns, fern: int, n: int) -> None:
    """Draw a fern's questions by the first ``n`` records kept; features count as ``reach`` says."""
    recent, order = m.recent[:n], m.order
    sort_by_label(m.labels, n, order, m.counts)
    left = n
    for d in range(m.depth):
        left, runs = list_runs(m.labels, order, left)
        best = -1.0
        for _ in range(CANDIDATES if left > 0 else 1):
            feature, threshold = question(m.source, m.reach, recent)
            gain = gain_of(recent, order, runs, feature, threshold)
            if gain > best + TIE:
                best = gain
                m.features[fern, d], m.thresholds[fern, d] = feature, threshold
        split(recent, order, left, m.features[fern, d], m.thresholds[fern, d])
