"""Trees of several models: at each place the most useful, with what all know of its leaves."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.pooling import Array, Part, Parted, Shares, add_up, mean_of
from stream_llsvm.members.trees import state as at
from stream_llsvm.members.trees.growth import KEEP
from stream_llsvm.members.trees.kernel import AVERAGE_FLOOR, CHECK, USE_RATE
from stream_llsvm.members.trees.pool import add_histograms, compare_histograms

_STRUCTURE = ("asks", "below", "above")
#: About how much of a histogram's sums a record takes with it: they fade each so many records.
_FADES = float(1 - KEEP ** (1 / CHECK))


def merge(models: Parted, out: dict[str, Array]) -> None:
    """Fill ``out``: the tree at a place is that of one model, its leaves are of all who have them.

    The tree at a place is taught what those before it leave. That is alike in all models, and so
    one tree can stand for another. Where the base is known, of a tree that has grown or begun anew
    since in some model the most useful of those is taken, else the most useful of all. A leaf of
    the base that is one still learns from all models: values as weights elsewhere, and sums of
    histograms that count the same.
    """
    seen = models.each("running", at.SEEN)
    out["running"][at.SEEN] = models.counted("running", at.SEEN)
    out["running"][at.KNOWN] = max(int(part.views["running"][at.KNOWN]) for part in models.parts)
    out["source"][:] = max(int(part.views["source"][0]) for part in models.parts)
    of_all = models.by_rows(np.stack(seen)[:, None], floor=float(AVERAGE_FLOOR))
    for half, shares in enumerate(of_all):
        out["bias"][half] = mean_of(shares[:, 0], models.each("bias", half))
    born = np.stack(models.each("facts", at.BORN))
    chosen, use = _chosen(models, born), np.stack(models.each("use"))
    trees = np.arange(len(chosen))
    for name in _STRUCTURE:
        out[name][:] = np.stack(models.each(name))[chosen, trees]
    cuts = [_moved(p, p.views["asks"], p.views["cuts"]) for p in models.parts]
    out["cuts"][:] = np.stack(cuts)[chosen, trees]
    out["facts"][at.SIZE] = np.stack(models.each("facts", at.SIZE))[chosen, trees]
    clocks = models.clock([float(n) for n in seen])
    ages = np.stack([clock(own) for clock, own in zip(clocks, born, strict=True)])
    now = out["running"][at.SEEN]
    out["facts"][at.BORN] = np.clip(np.round(ages[chosen, trees]), 0, now)

    same = _same_leaves(models, chosen, born)
    use_shares = models.by_rows(np.stack(seen)[:, None], floor=USE_RATE).means
    of_one = (born == born[chosen, trees]).all(axis=0)
    out["use"][:] = np.where(of_one, (use_shares * use).sum(axis=0), use[chosen, trees])
    mass = np.stack(models.each("mass")).astype(np.float64)
    of_leaves = _of_leaves(models, mass, same, chosen, float(AVERAGE_FLOOR))
    total = np.where(same, mass, mass[0] if models.since else 0)
    summed = models.summed(list(total)) if models.since else (of_leaves.raw * mass).sum(axis=0)
    leaves = same[chosen, trees]
    out["mass"][:] = np.maximum(np.where(leaves, summed, mass[chosen, trees]), 0)
    rows = (mass[0].size, -1)
    tables = [values.reshape(rows) for values in models.each("values")]
    add_up(of_leaves, tables, out["values"].reshape(rows), averaged=True)
    _merge_histograms(models, chosen, same, mass, out)


def _chosen(models: Parted, born: Array) -> Array:
    """Return of which model each tree is."""
    worth = np.maximum(np.stack(models.each("use")), 1e-9)
    if not models.since:
        return np.asarray((models.weights[:, None] * worth).argmax(axis=0))
    size = np.stack(models.each("facts", at.SIZE))
    changed = (size != size[0]) | (born != born[0])
    return np.asarray(np.where(changed, worth, 0).argmax(axis=0))


def _same_leaves(models: Parted, chosen: Array, born: Array) -> Array:
    """Say which leaves, (models, trees, nodes), are also those of the tree that was chosen."""
    trees = np.arange(len(chosen))
    nodes = np.arange(models.parts[0].views["below"].shape[1])
    leaf = np.stack(models.each("below")) == at.LEAF
    size = np.stack(models.each("facts", at.SIZE))
    leaf &= nodes < size[:, :, None]
    if models.since:
        own = leaf & leaf[0] & (born == born[0])[:, :, None]
        return np.asarray(own & own[chosen, trees])
    alike = np.stack([size[p] == size[chosen, trees] for p in range(len(models.parts))])
    for name in ("asks", "cuts", "below"):
        values = np.stack(models.each(name))
        equal = (values == values[chosen, trees]) | (nodes >= size[:, :, None])
        alike &= equal.all(axis=2)
    return np.asarray(leaf & alike[:, :, None])


def _of_leaves(models: Parted, mass: Array, same: Array, chosen: Array, floor: float) -> Shares:
    """Return how far each model's leaves count: those that are not of all are the chosen tree's."""
    shared = np.where(same, mass, mass[0] if models.since else 0.0)
    shares = models.by_rows(shared, floor=floor)
    trees = np.arange(len(chosen))
    alone = ~same[chosen, trees]
    first = np.zeros(same.shape)
    first[chosen, trees] = 1
    return Shares(*(np.where(alone, first, each) for each in shares))


def _merge_histograms(
    models: Parted, chosen: Array, same: Array, mass: Array, out: dict[str, Array]
) -> None:
    """Give the leaves of the chosen trees their histograms, as far as there are any."""
    slots = np.stack(models.each("slots"))
    trees = np.arange(len(chosen))
    taken = slots[chosen, trees]
    size = out["facts"][at.SIZE][:, None]
    has = (taken >= 0) & (np.arange(taken.shape[1]) < size)
    t, i = np.nonzero(has)
    free = len(out["free"]) - len(t)
    fits = slice(0, len(out["free"]))
    out["slots"][:] = np.where(has, at.WAITS, taken)
    t, i = t[fits], i[fits]
    own = out["free"][::-1][: len(t)].astype(np.int64)
    out["slots"][t, i] = own
    out["running"][at.FREE] = max(0, free)
    for p, part in enumerate(models.parts):
        views, mine = part.views, chosen[t] == p
        k, to = slots[p][t[mine], i[mine]], own[mine]
        for name in ("asked", "sides", "since"):
            out[name][to] = views[name][k]
        low = views["bins"][k, :, at.LOW].astype(np.float64)
        high = low + at.BINS / views["bins"][k, :, at.PACE]
        low, high = (_moved(part, views["asked"][k], end) for end in (low, high))
        out["bins"][to, :, at.LOW] = low
        out["bins"][to, :, at.PACE] = at.BINS / np.maximum(high - low, 1e-6)
    counted = _alike(models, chosen) & same if models.since else np.zeros_like(same)
    shares = _of_leaves(models, mass + 1 / _FADES, counted, chosen, _FADES).means
    out["sums"][own] = 0
    bins = (len(out["sums"]), at.BINS, -1)
    for part, share in zip(models.parts, shares, strict=True):
        add_histograms(
            np.where(part.views["slots"] >= 0, share, 0).astype(np.float32),
            part.views["slots"],
            part.views["sums"].reshape(bins),
            out["slots"],
            out["sums"].reshape(bins),
        )
    np.maximum(out["sums"][..., 1], 0, out=out["sums"][..., 1])


def _alike(models: Parted, chosen: Array) -> Array:
    """Say at which leaves a model's histogram and the chosen one's count as the base's does."""
    names = ("slots", "asked", "bins", "sides")
    base = [models.parts[0].views[name] for name in names]
    alike = np.zeros((len(models.parts), *base[0].shape), dtype=bool)
    for p, part in enumerate(models.parts):
        compare_histograms(*(part.views[name] for name in names), *base, alike[p])
    return np.asarray(alike & alike[chosen, np.arange(len(chosen))])


def _moved(part: Part, columns: Array, points: Array) -> Array:
    """Return points of these features where they lie in the merged model's scales."""
    if part.rescale.is_none:
        return points.astype(np.float64)
    factor = part.rescale.factor[columns]
    moved = points - part.rescale.offset[columns]
    moved = np.divide(moved, factor, out=points.astype(np.float64), where=factor != 0)
    return np.asarray(np.clip(moved, -at.EDGE, at.EDGE))
