"""Contexts: the union of the cells of all models, each the mean of those that have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.members.contexts import state as at
from stream_llsvm.members.contexts.kernel import USUAL_FLOOR
from stream_llsvm.members.contexts.pool import merge_cells
from stream_llsvm.members.contexts.table import COUNT, FIRST_BITS, SHARES, TAG
from stream_llsvm.members.pooling import Array, Part, Parted, mean_of


def merge(models: Parted, out: dict[str, Array]) -> None:
    """Fill ``out``: cells by count, weights by the records learned; fields are the same in all."""
    seen = models.each("running", at.SEEN)
    shares = models.shares(seen)
    newest = models.parts[models.newest].views
    for name in ("hashes", "slots", "fields", "sets"):
        out[name][:] = newest[name]
    for name in ("weights", "trust"):
        out[name][:] = mean_of(shares, models.each(name))
    of_usual = models.by_rows(np.stack(seen)[:, None] + 0.0, floor=USUAL_FLOOR).means
    out["usual"][:] = np.clip(mean_of(of_usual[:, 0], models.each("usual")), 0, 1)
    out["watched"][:] = np.bitwise_or.reduce(np.stack(models.each("watched")), axis=0)
    bits = np.ascontiguousarray(out["watched"][:, at.BITS :]).view(np.uint8)
    out["watched"][:, at.DIFFERENT] = np.unpackbits(bits, axis=1).sum(axis=1)
    running = np.stack(models.each("running"))
    out["running"][:] = newest["running"]
    out["running"][at.AWAKE] = running[:, at.AWAKE].max()
    out["running"][at.SEEN] = models.counted("running", at.SEEN)
    out["running"][at.RESTING] = 0

    used = int(running[:, at.USED].max())
    cells = union(models, [_of_size(part.views["table"], part, used) for part in models.parts])
    out["table"][:used] = cells
    out["running"][at.USED] = used
    out["running"][at.TAKEN] = np.count_nonzero(cells[:, COUNT])


def union(models: Parted, tables: Sequence[Array]) -> Array:
    """Return one table of several of the same size; where both cells are taken, the rarer go.

    A context's count is that of all, and its shares those of all its records together. What a model
    has not met, or what gave way in it, is in the base as it was; of a context that is new to all
    that is the usual, with a count of 0.
    """
    numbers = tables[0].shape[1]
    usual = models.parts[0].views["usual"]  # of two classes the second's share is enough
    begins = (usual if len(usual) == numbers - SHARES else usual[-1:]).astype(np.float32)
    found = np.zeros((2 * len(tables), numbers))
    out = np.zeros_like(tables[0])
    merge_cells(np.stack(tables), models.weights, models.since, begins, found, out)
    return out


def halved(cells: Array) -> Array:
    """Return a table of half the size; where both cells are taken, the rarer go."""
    taken = np.flatnonzero(cells[:, COUNT] > 0)
    half = len(cells) // 2
    return _placed(cells[taken], (taken & (half - 1)) >> 1, half)


def doubled(cells: Array) -> Array:
    """Return a table of twice the size, as ``table.double`` makes it."""
    bit = len(cells).bit_length() - 1 - FIRST_BITS
    moves = (cells[:, COUNT] > 0) & (cells[:, TAG].astype(np.int64) >> bit & 1 == 1)
    return np.concatenate([np.where(m[:, None], cells, 0) for m in (~moves, moves)])


def _of_size(table: Array, part: Part, used: int) -> Array:
    cells = table[: int(part.views["running"][at.USED])]
    while len(cells) < used:
        cells = doubled(cells)
    return cells


def _placed(found: Array, pair: Array, size: int) -> Array:
    """Put cells where they may lie: of each pair of places the two that came most often."""
    out = np.zeros((size, found.shape[1]), dtype=np.float32)
    order = np.lexsort((found[:, TAG], -found[:, COUNT], pair))
    found, pair = found[order], pair[order]
    begins = np.searchsorted(pair, pair)
    rank = np.arange(len(pair)) - begins
    kept = rank < 2
    out[2 * pair[kept] + rank[kept]] = found[kept]
    return out
