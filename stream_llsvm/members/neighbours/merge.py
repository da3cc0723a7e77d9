"""Memories: the newest records of all models, under a metric that has learned what all have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels.metric import LARGEST, SMALLEST
from stream_llsvm.members.neighbours import kernel
from stream_llsvm.members.pooling import Array, Parted, Rescale, mean_of


class Held(NamedTuple):
    """Remembered records: their facts, (3, n), and values, (width, n)."""

    facts: Array
    values: Array


def merge(models: Parted, out: dict[str, Array], window: int) -> None:
    """Fill ``out`` with as many records as the window holds, and the metric."""
    seen = [float(n) for n in models.each("running", kernel.SEEN)]
    shares = models.shares(seen)
    running = out["running"]
    running[:] = mean_of(shares, models.each("running"))
    running[kernel.SEEN] = models.counted("running", kernel.SEEN)
    running[kernel.RESTING] = 0
    running[kernel.PLACES], running[kernel.LIVE] = window, 1
    _merge_metric(models, shares, out)
    records = _newest(models, seen, window)
    held = records.facts.shape[1]
    out["facts"][:, :held], out["store"][:, :held] = records
    square = out["store"][:, :held] ** 2
    out["norms"][:held] = out["ruler"] @ square
    running[kernel.HELD] = held
    running[kernel.HEAD] = held % max(1, window)


def _merge_metric(models: Parted, shares: Array, out: dict[str, Array]) -> None:
    """Merge how much each feature counts.

    ``log a = log a_0 + sum_p (log a_p - log a_0)``: each model has taken short steps from where all
    began, of which a mean would be as many as one of them has taken. As in a single model the
    metric stays as it is where scales change a little meanwhile. Without a base it is the mean, of
    what each model's metric is in the merged one's scales.
    """
    if len(out["scale"]) == 0:
        return
    out["effort"][:] = mean_of(shares, models.each("effort"))
    if models.since:
        logs = [np.log(np.maximum(a, SMALLEST)) for a in models.each("scale")]
        scale = np.clip(np.exp(models.summed(logs)), SMALLEST, LARGEST)
        out["scale"][:] = scale / np.sqrt(np.square(scale).mean())
        out["ruler"][:] = np.square(out["scale"])
        return
    factors = [np.where(part.rescale.factor > 0, part.rescale.factor, 1.0) for part in models.parts]
    scales = [a * f for a, f in zip(models.each("scale"), factors, strict=True)]
    rulers = [ruler * f**2 for ruler, f in zip(models.each("ruler"), factors, strict=True)]
    scale = mean_of(shares, scales)
    rms = np.square(scale).mean()
    out["scale"][:] = scale / np.sqrt(rms)
    out["ruler"][:] = mean_of(shares, rulers) / rms


def _newest(models: Parted, seen: list[float], window: int) -> Held:
    """Return the newest records of all models, oldest first.

    What models remember of the time before they parted is the base's, and new is what came later.
    Without a base they remember it alike, and it is kept once.
    """
    facts, stamps, owners, places = [], [], [], []
    young = models.since and seen[0] < kernel.YOUNG <= max(seen)  # what the base held is forgotten
    for p, clock in enumerate(models.clock(seen)):
        part = models.parts[p]
        own = part.views["facts"][:, : int(part.views["running"][kernel.HELD])].copy()
        new = np.ones(own.shape[1], dtype=bool)
        if models.since:
            new[:] = own[kernel.STAMP] > seen[0] if p > 0 else not young
        facts.append(own[:, new])
        stamps.append(clock(own[kernel.STAMP, new]))
        owners.append(np.full(int(new.sum()), p))
        places.append(np.flatnonzero(new))
    told, stores = np.concatenate(facts, 1), models.each("store")
    stamp, owner, place = (np.concatenate(each) for each in (stamps, owners, places))
    order = np.lexsort((owner, told[kernel.WORTH], told[kernel.LABEL], -stamp))
    if not models.since and len(models.parts) > 1:
        order = order[_once(told[:, order], owner[order], place[order], stores)]
    order = order[:window][::-1]
    told[kernel.STAMP] = stamp
    values = np.empty((len(stores[0]), len(order)), dtype=np.float32)
    for p, part in enumerate(models.parts):
        own = np.flatnonzero(owner[order] == p)
        held = np.take(stores[p], place[order[own]], axis=1)
        values[:, own] = held if part.rescale.is_none else _moved(held, part.rescale)
    return Held(told[:, order], values)


def _moved(held: Array, rescale: Rescale) -> Array:
    """Return values, (width, n), in the merged model's scales; what says nothing (0) still does."""
    factor, offset, constant = (
        each.astype(np.float32)[:, None]
        for each in (rescale.factor, rescale.offset, rescale.constant)
    )
    known = factor != 0
    moved = (held - offset) * (1 / np.where(known, factor, np.float32(1)))
    return np.where(held == 0, held, np.where(known, moved, constant))


def _once(told: Array, owner: Array, place: Array, stores: list[Array]) -> Array:
    """Return which of these records to keep so that each is kept once: the first of its kind."""
    values = np.empty((len(owner), len(stores[0])))
    for p, store in enumerate(stores):
        values[owner == p] = store[:, place[owner == p]].T
    records = np.ascontiguousarray(np.concatenate([told.T, values], axis=1))
    told_apart = records.view(np.dtype((np.void, 8 * records.shape[1])))
    return np.sort(np.unique(told_apart[:, 0], return_index=True)[1])
