"""Merging the tables of several models: one pair of places after the other."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, entry, inlined, kernel
from stream_llsvm.kernels.pool import left_of
from stream_llsvm.members.contexts.kernel import FLOOR, START
from stream_llsvm.members.contexts.table import COUNT, SHARES, TAG


@entry
def merge_cells(
    tables: Array, weights: Array, since: bool, usual: Array, found: Array, out: Array
) -> None:
    """Fill ``out`` with the cells of all tables, (models, cells, numbers); the rarer give way.

    A context lies in one of two places, and so in all tables in the same pair. ``found`` is room
    for the contexts of a pair, (2 models, numbers). Without a base counts are means over those who
    know the context; else each adds what it has counted, and the shares are running means which
    have followed all records, from the base's, or from the usual for a context that is new.
    """
    models = tables.shape[0]
    for pair in range(tables.shape[1] // 2):
        n = 0
        for p in range(models):
            for side in range(2):
                cell = tables[p, 2 * pair + side]
                if cell[COUNT] > 0 and not is_listed(found, n, cell[TAG]):
                    found[n, TAG] = cell[TAG]
                    n += 1
        for k in range(n):
            merge_context(tables, weights, since, usual, pair, found[k])
        for side in range(2):
            best = -1
            for k in range(n):
                if found[k, COUNT] > 0 and (
                    best < 0
                    or found[k, COUNT] > found[best, COUNT]
                    or (found[k, COUNT] == found[best, COUNT] and found[k, TAG] < found[best, TAG])
                ):
                    best = k
            if best >= 0:
                for u in range(found.shape[1]):
                    out[2 * pair + side, u] = found[best, u]
                found[best, COUNT] = 0


@kernel
def is_listed(found: Array, n: int, tag: Real) -> bool:
    """Whether one of the first contexts has this tag."""
    for k in range(n):  # noqa: SIM110  # numba knows no generators
        if found[k, TAG] == tag:
            return True
    return False


@kernel
def place_in(table: Array, pair: int, tag: Real) -> int:
    """Return where a context lies in a table, or -1."""
    for i in range(2 * pair, 2 * pair + 2):
        if table[i, COUNT] > 0 and table[i, TAG] == tag:
            return i
    return -1


@inlined
def merge_context(
    tables: Array, weights: Array, since: bool, usual: Array, pair: int, merged: Array
) -> None:
    """Fill in a context's count and its shares."""
    tag, first = merged[TAG], 1 if since else 0
    at_base = place_in(tables[0], pair, tag) if since else -1
    before = float(tables[0, at_base, COUNT]) if at_base >= 0 else 0.0
    counted, gained, total, squares, held = before, 0.0, 0.0, 0.0, 0.0
    for p in range(first, tables.shape[0]):
        i = place_in(tables[p], pair, tag)
        if i < 0:
            continue
        count = float(tables[p, i, COUNT])
        own = max(count - before, 0.0)
        counted += count - before
        gained += own
        total += weights[p] * own
        squares += (weights[p] * own) ** 2
        held += weights[p]
    farther = 1.0
    if since and total > 0:
        one = gained * squares / (total * total)
        stays = 1 - left_of(before + START - 1, one, FLOOR)
        farther = (1 - left_of(before + START - 1, gained, FLOOR)) / stays
    merged[COUNT] = np.round(counted) if since else max(1.0, np.round(total / held))
    for u in range(SHARES, merged.size):
        start = 0.0
        if since:
            start = float(tables[0, at_base, u]) if at_base >= 0 else float(usual[u - SHARES])
        share = start
        for p in range(first, tables.shape[0]):
            i = place_in(tables[p], pair, tag)
            if i >= 0 and total > 0:
                own = weights[p] * max(float(tables[p, i, COUNT]) - before, 0.0) / total
                share += farther * own * (float(tables[p, i, u]) - start)
        merged[u] = min(max(share, 0.0), 1.0)
