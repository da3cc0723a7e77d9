"""The oracle's calibration: the table that kernels/calibration.py keeps, in plain float64."""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels import calibration as kernel
from tests.oracle_parts import Array


class Calibration:
    """How often the likeliest class was right, by its log odds."""

    def __init__(self, classes: int) -> None:
        self.knots = np.linspace(0, kernel.WIDEST, kernel.BINS)
        self.right = 1 / (1 + max(1, classes - 1) * np.exp(-self.knots))
        self.count = np.full(kernel.BINS, kernel.PRIOR)

    def shares(self, proba: Array, best: int) -> Array:
        """Return each knot's share in the answer, from the hat functions of the log odds."""
        others = len(proba) - 1
        rest = float(np.delete(proba, best).sum())
        odds = math.log(proba[best] * others / max(rest, kernel.NOTHING))
        gap = self.knots[1]
        return np.asarray(
            np.maximum(0, 1 - np.abs(np.clip(odds, 0, kernel.WIDEST) - self.knots) / gap)
        )

    def answer(self, proba: Array, best: int) -> Array:
        """Return the probabilities as often right as they say."""
        if len(proba) < 2:
            return proba
        rest = np.delete(proba, best)
        right = float(self.shares(proba, best) @ self.right)
        if rest.sum() > kernel.NOTHING:
            # The likeliest stays the likeliest.
            right = max(right, rest.max() / (rest.sum() + rest.max()))
            scaled = proba * (1 - right) / rest.sum()
        else:
            scaled = np.full(len(proba), (1 - right) / len(rest))
        scaled[best] = right
        return np.asarray(scaled)

    def learn(self, proba: Array, best: int, label: int, w: float) -> None:
        """Draw the two knots around the odds towards what happened."""
        if len(proba) < 2:
            return
        for knot, share in enumerate(self.shares(proba, best)):
            self.count[knot] += w * share
            rate = min(1.0, w * share * max(kernel.SLOWEST, 1 / self.count[knot]))
            self.right[knot] += rate * ((label == best) - self.right[knot])

    def grow(self, before: int, classes: int) -> None:
        """Begin anew with the second class: of one there is nothing to know."""
        if before < 2:
            self.__init__(classes)  # type: ignore[misc]
