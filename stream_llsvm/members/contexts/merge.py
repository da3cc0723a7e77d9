"""Contexts: the union of the cells of all models, each the mean of those that have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.members.contexts import state as at
from stream_llsvm.members.contexts.table import COUNT, FIRST_BITS, SHARES, TAG, TAG_BITS
from stream_llsvm.members.pooling import Array, Part, by_weight, mean_of


def merge(parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out``: cells by count, weights by the records learned; fields are the same in all."""
    seen = [float(part.views["running"][at.SEEN]) for part in parts]
    plain, shares = by_weight(parts), by_weight(parts, seen)
    first = parts[0].views
    for name in ("hashes", "slots", "fields", "sets"):
        out[name][:] = first[name]
    for name in ("weights", "trust", "usual"):
        out[name][:] = mean_of(shares, [part.views[name] for part in parts])
    watched = np.stack([part.views["watched"] for part in parts])
    out["watched"][:] = np.bitwise_or.reduce(watched, axis=0)
    bits = np.ascontiguousarray(out["watched"][:, at.BITS :]).view(np.uint8)
    out["watched"][:, at.DIFFERENT] = np.unpackbits(bits, axis=1).sum(axis=1)
    running = np.stack([part.views["running"] for part in parts])
    out["running"][:] = running[0]
    out["running"][at.AWAKE] = running[:, at.AWAKE].max()
    out["running"][at.SEEN] = int(np.round(mean_of(plain, [np.array(n) for n in seen])))
    out["running"][at.RESTING] = 0

    used = int(running[:, at.USED].max())
    weights = [part.weight for part in parts]
    cells = union([_of_size(part.views["table"], part, used) for part in parts], weights)
    out["table"][:used] = cells
    out["running"][at.USED] = used
    out["running"][at.TAKEN] = np.count_nonzero(cells[:, COUNT])


def union(tables: Sequence[Array], weights: Sequence[float]) -> Array:
    """Return one table of several of the same size; where both cells are taken, the rarer go."""
    size = len(tables[0])
    taken = [np.flatnonzero(table[:, COUNT] > 0) for table in tables]
    cells = np.concatenate([t[i] for t, i in zip(tables, taken, strict=True)]).astype(np.float64)
    pair = np.concatenate(taken) >> 1
    weight = np.repeat(weights, [len(i) for i in taken])
    key = pair << TAG_BITS | cells[:, TAG].astype(np.int64)
    keys, which = np.unique(key, return_inverse=True)
    total = np.bincount(which, weight, len(keys))
    held = np.bincount(which, weight * cells[:, COUNT], len(keys))
    found = np.zeros((len(keys), cells.shape[1]))
    found[:, COUNT] = np.maximum(1, np.round(held / total))
    found[:, TAG] = keys & ((1 << TAG_BITS) - 1)
    for c in range(SHARES, cells.shape[1]):
        own = np.bincount(which, weight * cells[:, COUNT] * cells[:, c], len(keys))
        found[:, c] = np.clip(own / held, 0, 1)
    return _placed(found, keys >> TAG_BITS, size)


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
