"""The oracle's additive member: a piecewise linear curve a feature, LL(16, 17)."""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.members.additive.member import Additive
from tests.oracle_cells import Cells, Share
from tests.oracle_parts import Array


def hats(z: float, knots: int) -> Array:
    """Return each knot's hat function at z: 1 at its knot, 0 from the next ones on.

    Knots lie evenly from -Z_MOST to Z_MOST; what lies beyond counts as the last one.
    """
    places = np.linspace(-Z_MOST, Z_MOST, knots)
    apart = places[1] - places[0]
    inside = float(np.clip(z, -Z_MOST, Z_MOST))
    return np.asarray(np.maximum(0.0, 1 - np.abs(places - inside) / apart))


class AdditiveOracle(Cells):
    """An additive member: cell number ``feature * knots + knot``."""

    def __init__(self, options: Additive, width: int, classes: int) -> None:
        self.additive, self.knots = options, options.knots(width)
        super().__init__(options, width * self.knots, width, classes)

    def score(self, z: Array) -> Array:
        """Return the sum of the features' curves, (experts, columns)."""
        self.touched: list[Share] = []
        for i in np.flatnonzero(z):  # 0 is a missing value, or a constant's: it says nothing
            shares = hats(z[i], self.knots)
            on = np.flatnonzero(shares)
            self.touched += [(int(i * self.knots + k), shares[k]) for k in on]
        self.scores = self.blend(self.touched)
        return self.scores

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Learn the record last scored."""
        self.step(self.touched, self.scores, label, w)

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features or classes; of wide records fewer knots stay, where they were."""
        before, more = self.width, width - self.width
        knots = self.additive.knots(width)
        old, new = (np.linspace(-Z_MOST, Z_MOST, n) for n in (self.knots, knots))
        kept = [int(np.abs(old - place).argmin()) for place in new]
        shape = self.weights.shape[1:]
        weights = self.weights.reshape(before, self.knots, *shape)[:, kept]
        mass = self.mass.reshape(before, self.knots)[:, kept]
        self.weights = np.concatenate([weights, np.zeros((more, knots, *shape))])
        self.weights = self.weights.reshape(-1, *shape)
        self.mass = np.concatenate([mass, np.zeros((more, knots))]).reshape(-1)
        self.knots = knots
        return self.widen(width, classes)
