"""Ferns of several models: those that ask the same become one, of those drawn anew one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_llsvm.members.ferns import kernel
from stream_llsvm.members.pooling import Array, Part, Parted, Shares, add_up

if TYPE_CHECKING:
    from stream_llsvm.members.ferns.member import Ferns

#: Kept records are drawn from for thresholds to come.
_ASKED = ("features", "thresholds")


def merge(member: Ferns, models: Parted, out: dict[str, Array]) -> None:
    """Fill ``out`` with the models' ferns.

    A fern that asks the same questions in all models becomes their mean. The least useful are drawn
    anew as a stream goes on: where the base is known, one that a model has drawn since stands for
    the old one, and of several the most useful; else that of all.
    """
    member.merge_bias(models, out)
    out["source"][:] = max(int(part.views["source"][0]) for part in models.parts)
    seen = models.each("running", kernel.SEEN)
    clocks = models.clock([float(n) for n in seen])
    born = [
        clock(part.views["facts"][kernel.BORN])
        for clock, part in zip(clocks, models.parts, strict=True)
    ]
    use = np.stack(models.each("facts", kernel.USE))
    same = np.stack([_asks_as(part, models.parts[0]) for part in models.parts])
    kept = np.asarray(same.all(axis=0))
    chosen = np.where(same & models.since, -np.inf, use).argmax(axis=0)
    chosen = np.where(kept, 0, chosen)
    masses = np.stack(models.each("mass"))
    shares = member.shares_of_cells(models, masses)
    use_shares = models.by_rows(np.stack(seen)[:, None], floor=kernel.USE_RATE).means
    use_now = (use_shares * use).sum(axis=0)
    mass = np.maximum(models.summed(list(masses)), 0)
    thresholds = np.stack([_thresholds(part) for part in models.parts])
    if not models.since:
        thresholds[0] = np.tensordot(models.weights, thresholds, 1)
        born[0] = np.round(models.weights @ np.stack(born))
    ferns = np.arange(member.n_ferns)
    alone = np.arange(len(models.parts))[:, None] == chosen
    shares = Shares(*(np.where(kept[:, None], s, alone[:, :, None]) for s in shares))
    mass = np.where(kept[:, None], mass, masses[chosen, ferns])
    out["features"][:] = np.stack(models.each("features"))[chosen, ferns]
    out["thresholds"][:] = thresholds[chosen, ferns]
    now = float(out["running"][kernel.SEEN])
    out["facts"][kernel.BORN] = np.clip(np.round(np.stack(born)[chosen, ferns]), 0, now)
    out["facts"][kernel.USE] = np.where(kept, use_now, use[chosen, ferns])
    out["mass"][:] = mass
    rows = (mass.size, -1)
    tables = [table.reshape(rows) for table in models.each("weights")]
    add_up(shares, tables, out["weights"].reshape(rows), averaged=member.averaged)
    _remember(models, out)


def _asks_as(part: Part, other: Part) -> Array:
    """Say which of a model's ferns ask the questions that the other's do."""
    alike = [(part.views[name] == other.views[name]).all(axis=1) for name in _ASKED]
    return np.asarray(alike[0] & alike[1])


def _thresholds(part: Part) -> Array:
    """Return a model's thresholds, in the merged model's scales."""
    asked, thresholds = part.views["features"], part.views["thresholds"].astype(np.float64)
    if part.rescale.is_none:
        return thresholds
    factor = part.rescale.factor[asked]
    moved = thresholds - part.rescale.offset[asked]
    return np.divide(moved, factor, out=thresholds.copy(), where=factor != 0)


def _remember(models: Parted, out: dict[str, Array]) -> None:
    """Keep the newest model's last records, for thresholds to come."""
    last = models.parts[models.newest]
    kept = last.views["recent"].astype(np.float64)
    out["recent"][:] = np.where(kept == 0, 0.0, last.rescale.points(kept))
    out["labels"][:] = last.views["labels"]
