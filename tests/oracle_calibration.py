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

    def odds(self, proba: Array, best: int) -> float:
        """Return the log odds of the likeliest class, 0 where all are alike."""
        rest = float(np.delete(proba, best).sum())
        return max(0.0, math.log(proba[best] * (len(proba) - 1) / rest))

    def shares(self, odds: float) -> Array:
        """Return each knot's share in the answer, from the hat functions of the log odds."""
        gap = self.knots[1]
        return np.asarray(np.maximum(0, 1 - np.abs(min(odds, kernel.WIDEST) - self.knots) / gap))

    def rising(self) -> Array:
        """Return the isotonic regression on the table, by its minimax formula."""
        known = np.minimum(self.count, 1 / kernel.SLOWEST)

        def mean(first: int, last: int) -> float:
            part = slice(first, last + 1)
            return float(np.average(self.right[part], weights=known[part]))

        knots = range(kernel.BINS)
        return np.array(
            [max(min(mean(i, j) for j in knots[k:]) for i in knots[: k + 1]) for k in knots]
        )

    def answer(self, proba: Array, best: int) -> Array:
        """Return the probabilities as often right as they say."""
        if len(proba) < 2:
            return proba
        rest = np.delete(proba, best)
        odds = self.odds(proba, best)
        # The likeliest stays the likeliest.
        least = float(rest.max() / (rest.sum() + rest.max()))
        right = max(float(self.shares(odds) @ self.rising()), least)
        share = kernel.ORDERED
        right = (1 - share) * right + share * (1 - 1 / (3 + odds))
        scaled = proba * (1 - right) / rest.sum()
        scaled[best] = right
        return np.asarray(scaled)

    def learn(self, proba: Array, best: int, label: int, w: float) -> None:
        """Draw the two knots around the odds towards what happened."""
        if len(proba) < 2:
            return
        for knot, share in enumerate(self.shares(self.odds(proba, best))):
            self.count[knot] += w * share
            rate = min(1.0, w * share * max(kernel.SLOWEST, 1 / self.count[knot]))
            self.right[knot] += rate * ((label == best) - self.right[knot])

    def grow(self, before: int, classes: int) -> None:
        """Share the odds with new classes; of a single one there was nothing to know."""
        if before < 2:
            self.__init__(classes)  # type: ignore[misc]
            return
        odds = self.right / (1 - self.right) * (before - 1) / (classes - 1)
        self.right = odds / (1 + odds)
