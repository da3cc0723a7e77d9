"""The additive member and the ferns: a cell's weights become means, counted by its mass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.kernels.members import ferns as fern
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.members.additive import Additive
from stream_llsvm.members.ferns import Ferns
from stream_llsvm.merging.parts import Array, Part, by_weight, mean_of, shares_of

SEEN = 0


def _common(parts: Sequence[Part], out: dict[str, Array]) -> Array:
    """Merge what both have: counts and the bias. Returns the models' shares."""
    seen = [float(part.views["running"][SEEN]) for part in parts]
    shares = by_weight(parts, seen)
    plain = by_weight(parts)
    out["running"][:] = mean_of(plain, [part.views["running"] for part in parts])
    out["running"][SEEN] = np.round(out["running"][SEEN])
    out["bias"][:] = mean_of(shares, [part.views["bias"] for part in parts])
    return plain


def merge_additive(member: Additive, parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the mean of the models' curves."""
    plain = _common(parts, out)
    tables = [_redrawn(part) for part in parts]
    masses = np.stack([mass for mass, _ in tables])
    weights = np.array([part.weight for part in parts])
    shares = shares_of(weights[:, None, None] * masses)
    out["mass"][:] = mean_of(plain, list(masses))
    out["weights"][:] = mean_of(shares, [table for _, table in tables])


def _redrawn(part: Part) -> tuple[Array, Array]:
    """Return a model's mass and curves, (width, knots, ...), over the merged model's scales."""
    mass = part.views["mass"].astype(np.float64)
    table = part.views["weights"].astype(np.float64)
    if part.rescale.is_none:
        return mass, table
    width, knots = mass.shape
    z = np.linspace(-Z_MOST, Z_MOST, knots)
    old = part.rescale.factor[:, None] * z + part.rescale.offset[:, None]
    place = np.clip((old + Z_MOST) * (knots - 1) / (2 * Z_MOST), 0, knots - 1)
    left = np.minimum(place.astype(np.int64), knots - 2)
    right = place - left
    rows = np.arange(width)[:, None]
    share = right.reshape(*right.shape, *(1,) * (table.ndim - 2))
    drawn = (1 - share) * table[rows, left] + share * table[rows, left + 1]
    return (1 - right) * mass[rows, left] + right * mass[rows, left + 1], drawn


def merge_ferns(member: Ferns, parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the models' ferns.

    A fern that asks the same questions in all models becomes their mean. Ferns are drawn anew as a
    stream goes on: where models ask differently, the most useful one is taken as it is.
    """
    plain = _common(parts, out)
    first = parts[0].views
    out["source"][:] = max(int(part.views["source"][0]) for part in parts)
    same = np.ones(member.n_ferns, dtype=bool)
    for part in parts[1:]:
        for name in ("features", "thresholds"):
            same &= (part.views[name] == first[name]).all(axis=1)
    use = np.stack([part.views["facts"][fern.USE] for part in parts])
    chosen = use.argmax(axis=0)
    masses = np.stack([part.views["mass"].astype(np.float64) for part in parts])
    weights = np.array([part.weight for part in parts])
    counted = shares_of(weights[:, None, None] * masses)
    only = (np.arange(len(parts))[:, None] == chosen).astype(np.float64)
    shares = np.where(same[:, None], counted, only[:, :, None])
    counts = np.where(same, plain[:, None], only)
    moved = [_thresholds(part) for part in parts]
    out["features"][:] = np.choose(chosen[:, None], [p.views["features"] for p in parts])
    out["thresholds"][:] = mean_of(counts, moved)
    out["mass"][:] = mean_of(counts, list(masses))
    out["weights"][:] = mean_of(shares, [part.views["weights"] for part in parts])
    use_now = mean_of(counts, list(use))
    age = [p.views["running"][SEEN] - p.views["facts"][fern.BORN] for p in parts]
    born = out["running"][SEEN] - mean_of(counts, age)
    out["facts"][fern.BORN], out["facts"][fern.USE] = np.maximum(np.round(born), 0), use_now
    # The last records, for thresholds to come: those of the model that has seen the most.
    last = max(parts, key=lambda part: float(part.views["running"][SEEN]))
    kept = last.views["recent"].astype(np.float64)
    out["recent"][:] = np.where(kept == 0, 0.0, last.rescale.points(kept))


def _thresholds(part: Part) -> Array:
    """Return a model's thresholds, in the merged model's scales."""
    asked, thresholds = part.views["features"], part.views["thresholds"].astype(np.float64)
    if part.rescale.is_none:
        return thresholds
    factor = part.rescale.factor[asked]
    moved = thresholds - part.rescale.offset[asked]
    return np.divide(moved, factor, out=thresholds.copy(), where=factor != 0)
