"""The oracle's prior: how often each class has come of late."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.prior.member import Prior
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array


class PriorOracle:
    """A prior member: for each reach a fading share a class."""

    experts = 2

    def __init__(self, options: Prior, width: int, classes: int) -> None:
        self.reaches = np.array([options.reach, max(1.0, options.reach / 6.4)])
        self.shares = np.zeros((2, classes))

    def score(self, z: Array) -> Array:
        """Return the shares, or how much greater the second class's is, (experts, columns)."""
        classes = self.shares.shape[1]
        if columns_of(classes) == 1:
            return np.asarray(self.shares[:, 1:].sum(axis=1, keepdims=True) - self.shares[:, :1])
        return self.shares.copy()

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Draw the shares towards what has come."""
        pace = np.minimum(1.0, w / self.reaches)[:, None]
        came = np.arange(self.shares.shape[1]) == label
        self.shares += pace * (came - self.shares)

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more classes: one that has never come has no share."""
        self.shares = np.pad(self.shares, ((0, 0), (0, classes - self.shares.shape[1])))
        return [0, 1]
