"""The additive member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import state as at
from stream_llsvm.kernels.members import additive as kernel
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.members.base import by_expert
from stream_llsvm.members.cells import Cells
from stream_llsvm.members.member import Parts, Shape, Views

_WIDE = 256  # features; from there on the table would leave the cache
_THINNED = 4


@dataclass(frozen=True, kw_only=True)
class Additive(Cells):
    """Each feature on hat functions. See ``kernels/members/additive.py``."""

    n_knots: int = 33
    steps: tuple[float, ...] = (0.3, 3.0, 30.0)

    kind = at.ADDITIVE_KIND
    state = kernel.AdditiveState

    @property
    def name(self) -> str:
        """What the user calls it."""
        return f"additive:{self.n_knots}"

    def rung_cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record of one rung, to score it."""
        return 2 * width * columns * self.copies

    def knots(self, width: int) -> int:
        """Return how many knots a feature has: every fourth of them is enough for wide records."""
        few = width > _WIDE and (self.n_knots - 1) % _THINNED == 0 and self.n_knots > _THINNED + 1
        return (self.n_knots - 1) // _THINNED + 1 if few else self.n_knots

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""
        return super().sizes(width, columns) | {"knots": self.knots(width)}

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""
        self.go_live(views)

    def width_of(self, views: Views) -> int:
        """Return how many features the state has room for."""
        return len(views["mass"])

    def go_live(self, views: Views) -> None:
        """Bring the settings to what the options say."""
        self.set_up(views)

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: more features, more classes, maybe fewer rungs."""
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

    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
        return bool((views["running"] >= 0).all() and (views["mass"] >= 0).all())
