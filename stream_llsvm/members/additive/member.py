"""The additive member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.members.additive import kernel
from stream_llsvm.members.base import Member, Parts, Shape, Views, by_expert
from stream_llsvm.members.cells import Cells
from stream_llsvm.members.pooling import Part, Parted, add_up

_WIDE = 256  # features; from there on the table would leave the cache
_THINNED = 4


@dataclass(frozen=True, kw_only=True)
class Additive(Cells):
    """Each feature on hat functions. See ``members/additive/kernel.py``."""

    n_knots: int = 33
    steps: tuple[float, ...] = (0.3, 3.0, 30.0)

    kernels = Kernels(kernel.run)
    pace = 0.25
    state = kernel.AdditiveState

    @property
    def name(self) -> str:
        return f"additive:{self.n_knots}"

    def rung_cost(self, width: int, columns: int) -> int:
        return 2 * width * columns * self.copies

    def knots(self, width: int) -> int:
        """Return how many knots a feature has: every fourth of them is enough for wide records."""
        few = width > _WIDE and (self.n_knots - 1) % _THINNED == 0 and self.n_knots > _THINNED + 1
        return (self.n_knots - 1) // _THINNED + 1 if few else self.n_knots

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return super().sizes(width, columns) | {"knots": self.knots(width)}

    def begin(self, views: Views, width: int, columns: int) -> None:
        self.go_live(views)

    def width_of(self, views: Views) -> int:
        """Return how many features the state has room for."""
        return len(views["mass"])

    def go_live(self, views: Views) -> None:
        self.set_up(views)

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        kept = self.kept_rungs(before, after)
        new["running"][:] = old["running"]
        every = _THINNED if self.knots(before[0]) > self.knots(after[0]) else 1
        new["mass"][: before[0]] = old["mass"][:, ::every]
        self.widen(new["weights"][: before[0]], old["weights"][:, ::every, :, kept], 4)
        self.carry_bias(old, new, before, after, begun=old["running"][kernel.SEEN] > 0)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart: each feature's own curve."""
        width = len(z)
        knots = views["mass"].shape[1]
        weights = views["weights"][:width].astype(np.float64)
        touched = int(views["touched"][0]) // 2
        of_features = np.zeros((*views["bias"].shape, width))
        slopes = np.zeros_like(of_features)
        cells, shares = views["cells"][:touched], views["shares"][:touched].astype(np.float64)
        names, left = cells[:, 0] // knots, cells[:, 0] % knots
        two = np.stack([weights[names, left], weights[names, left + 1]])
        blend = np.einsum("tk,kt...->t...", shares, two)
        of_features[..., names] = np.moveaxis(blend, 0, -1)
        per_unit = (knots - 1) / (2 * Z_MOST)
        slopes[..., names] = np.moveaxis((two[1] - two[0]) * per_unit, 0, -1)
        slopes[..., np.abs(z) >= Z_MOST] = 0  # the curve is flat beyond its last knots
        rest = by_expert(views["bias"].astype(np.float64))
        return Parts(by_expert(of_features), by_expert(slopes), rest)

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the mean of the models' curves, each knot by what has touched it."""
        self.merge_bias(models, out)
        tables = [_redrawn(part) for part in models.parts]
        masses = np.stack([mass for mass, _ in tables])
        out["mass"][:] = np.maximum(models.summed(list(masses)), 0)
        width, knots = out["mass"].shape
        rows = (width * knots, -1)
        add_up(
            self.shares_of_cells(models, masses),
            [table.reshape(rows) for _, table in tables],
            out["weights"].reshape(rows),
            averaged=self.averaged,
        )

    def sound(self, views: Views) -> bool:
        return bool((views["running"] >= 0).all() and (views["mass"] >= 0).all())


def _redrawn(part: Part) -> tuple[NDArray[Any], NDArray[Any]]:
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


#: Relative step sizes beside other members: one or two are as good as six there, on the mean of
#: the streams, and cost a fraction.
ADDITIVE_STEPS = (3.0,)


def of_size(size: int, seed: int) -> Member:
    """Make an additive member."""
    return Additive(
        n_knots=size, loss=LOGISTIC, multiclass=CRAMMER_SINGER, averaged=True, steps=ADDITIVE_STEPS
    )
