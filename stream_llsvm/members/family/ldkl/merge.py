"""LDKL's trees of several models that parted from one: it moves by the mean of their changes."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.family.ldkl.kernel import SEEN, SPREAD
from stream_llsvm.members.pooling import Array, Part, Parted, mean_of


def merge(models: Parted, out: dict[str, Array], floor: float, sharpness: float) -> None:
    """Fill ``out``: gates and bends by records learned, machines by how often a node was met.

    Models that began as one and the same tree are near each other at each node.
    """
    shares = models.shares(models.each("running", SEEN))
    for name in ("running", "efforts"):
        out[name][:] = mean_of(shares, models.each(name))
    out["running"][SEEN] = models.counted("running", SEEN)
    out["mass"][:] = np.maximum(models.summed(models.each("mass")), 0)
    by_node = models.by_rows(np.stack(models.each("mass")), floor=floor)
    moved = [_moved(part, sharpness) for part in models.parts]
    for name in ("gates", "gate_biases", "bends", "bend_biases"):
        out[name][:] = mean_of(shares, [own[name] for own in moved])
    for name in ("weights", "biases"):
        for copy in range(out[name].shape[2]):
            own = [each[name][:, :, copy] for each in moved]
            out[name][:, :, copy] = mean_of(by_node[min(copy, 1)], own)


def _moved(part: Part, sharpness: float) -> dict[str, Array]:
    """Return a model's gates, bends and machines over the merged model's scales."""
    names = ("gates", "gate_biases", "bends", "bend_biases", "weights", "biases")
    own = {name: part.views[name].astype(np.float64) for name in names}
    if part.rescale.is_none:
        return own
    per_unit = 1 / np.sqrt(float(part.views["running"][SPREAD]) + 1)
    for name, biases, by in (
        ("gates", "gate_biases", per_unit),
        ("bends", "bend_biases", sharpness * per_unit),
        ("weights", "biases", 1.0),
    ):
        own[biases] = own[biases] + by * (own[name] @ part.rescale.offset)
        own[name] = own[name] * part.rescale.factor
    return own
