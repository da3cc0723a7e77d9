"""The oracle's surprise: two clocks and what they forget, from the equations alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tests.oracle_parts import Array

#: Of the fast and of the slow clock: rate, standard deviations, margin, and what is kept.
CLOCKS = ((1 / 50, 8.0, 0.02, 0.8), (1 / 500, 4.0, 0.01, 0.95))


class SurpriseOracle:
    """A fast and a slow mean of the excess loss, each with its variance."""

    def __init__(self) -> None:
        self.mean, self.variance = np.zeros(2), np.zeros(2)

    def kept(self, excess: float, variance: float, weight: float) -> float:
        """Move both clocks; return how much of what was learned is kept."""
        keep = 1.0
        for i, (usual_rate, z, margin, kept) in enumerate(CLOCKS):
            rate = 1 - (1 - usual_rate) ** weight
            self.variance[i] = (1 - rate) ** 2 * self.variance[i] + rate**2 * variance
            alarm = z * np.sqrt(self.variance[i]) + margin
            self.mean[i] += min(rate * (excess - self.mean[i]), alarm / 2)
            if self.mean[i] > alarm:
                keep = min(keep, kept ** min(weight, 1))
        return keep

    def kept_by_chance(self, p: Array, label: int, weight: float) -> float:
        """By probabilities: the loss is the log loss, its mean the entropy."""
        losses = -np.log(np.maximum(p, 1e-4))
        mean = p @ losses
        return self.kept(losses[label] - mean, p @ losses**2 - mean**2, weight)


class StepsOracle(SurpriseOracle):
    """The clocks of who compares losses with their own past, and the steps that are forgotten."""

    def __init__(self, *, of_numbers: bool) -> None:
        super().__init__()
        self.of_numbers, self.weight = of_numbers, 0.0
        self.usual = self.square = self.forgotten = 0.0

    def take(self, clock: ArrayLike) -> None:
        """Begin where the kernel is."""
        fast, slow, v_fast, v_slow, *rest = np.asarray(clock, dtype=float).tolist()
        self.mean, self.variance = np.array([fast, slow]), np.array([v_fast, v_slow])
        self.weight, self.usual, self.square, self.forgotten = rest

    def learn(self, loss: float, weight: float, t: float, least: float) -> float:
        """Take the loss of a record; return the share of t, steps less forgotten, that is left."""
        usual, square = self.usual, self.square
        known = self.weight > 0 and (not self.of_numbers or usual > 1e-150)
        if self.of_numbers and known:
            loss = min(loss, 16 * usual)
        self.weight += weight
        pace = min(1, weight * max(1 / 5_000, 1 / self.weight))
        self.usual += pace * (loss - usual)
        self.square += pace * (loss**2 - square)
        if not known:
            return 1.0
        unit = usual if self.of_numbers else 1.0
        keep = self.kept((loss - usual) / unit, max(0, square - usual**2) / unit**2, weight)
        left = max(keep * t, min(t, least)) if keep < 1 else t
        self.forgotten += t - left
        return left / t if t > 0 else 1.0


def least(l2: float, t0: float, batch_size: int = 1) -> float:
    """Return how many steps are always remembered: 2,000 records', and none is longer than one."""
    return max(1.0, max(2_000 / batch_size, 1 / l2) - t0)
