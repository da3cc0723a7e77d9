"""The oracle's bank: a correction for each key, in plain float64, from the equations alone."""

from __future__ import annotations

import numpy as np

from tests.oracle_parts import Array
from tests.oracle_surprise import SurpriseOracle

#: Variances of the prior: of a bias, and of a weight.
BIAS, WEIGHT = 0.5, 0.1
AGES = 12


def soft(scores: Array) -> Array:
    """Return the softmax."""
    e = np.exp(scores - scores.max())
    return np.asarray(e / e.sum())


class KeyOracle:
    """One key's machines: a row a class; of two classes only the second has one."""

    def __init__(self, features: int, classes: int) -> None:
        self.n = 0
        self.w = np.zeros((classes, features + 1))
        self.h = np.zeros((classes, features + 1))
        self.surprise = SurpriseOracle()


class BankOracle:
    """Keys, each with a diagonal Bayesian logistic machine a class, and trust by age."""

    def __init__(self, features: int, classes: int) -> None:
        self.shape = features, classes
        self.keys: dict[object, KeyOracle] = {}
        self.trust = np.ones((2, AGES))  # in the model, in the key
        self.trust[1] = 0.5
        self.effort = np.zeros((2, AGES))

    def take(self, key: object, z: Array, p: Array, label: int | None, weight: float) -> Array:
        """Return the corrected probabilities, and learn."""
        own = self.keys.get(key, KeyOracle(*self.shape))
        x = np.r_[1.0, z]
        age = min(own.n.bit_length(), AGES - 1)
        # What trust is in: the model's log odds, and the key's correction.
        parts = np.stack([np.log(np.maximum(p, 1e-4)), own.w @ x])
        answer = soft(self.trust[:, age] @ parts)
        if label is None:
            return answer
        self.keys[key] = own
        truth = np.eye(len(p))[label]
        slope = parts @ (truth - answer)  # d log answer[label] / d trust
        self.effort[:, age] = 0.9995 * self.effort[:, age] + slope**2
        step = weight * 0.1 * slope / np.sqrt(10 + self.effort[:, age])
        self.trust[:, age] = np.clip(self.trust[:, age] + step, [0.1, 0.0], 10.0)
        q = soft(parts.sum(axis=0))
        own.h *= own.surprise.kept_by_chance(q, label, weight)
        prior = np.r_[BIAS, np.full(len(z), WEIGHT)]
        for c in range(len(p)) if len(p) > 2 else [1]:
            own.h[c] += weight * max(q[c] * (1 - q[c]), 0.02) * x**2
            own.w[c] += weight * (truth[c] - q[c]) * x / (1 / prior + own.h[c])
        own.n += 1
        return answer
