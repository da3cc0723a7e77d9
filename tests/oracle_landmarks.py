"""The oracle's L3-SVM: centres, landmarks and a matrix of weights a cluster, in plain numpy.

Which landmark a record replaces is drawn at random: the oracle is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.anchors.state import MASS, VISITS, ZOOM
from stream_llsvm.members.family.landmarks import kernel
from stream_llsvm.members.family.landmarks.member import Landmarks
from stream_llsvm.members.family.landmarks.principal import AMNESIA, SLOWEST
from stream_llsvm.members.family.landmarks.projection import RANDOM, RBF
from tests.oracle_parts import Array, pushes_at


class LandmarksOracle:
    """f(x, k) = sum_p theta_kp mu(x, l_p) + b, L3 section 2.1, for each expert and column."""

    def __init__(self, of: Landmarks, width: int, columns: int) -> None:
        self.of, self.width, self.columns = of, width, columns
        self.steps = of.rungs(width, columns)

    def take(self, views: Mapping[str, NDArray[Any]]) -> None:
        """Begin where the kernel is, so that rounding cannot add up from step to step."""
        running = views["running"]
        self.seen, self.offered = float(running[kernel.SEEN]), int(running[kernel.OFFERED])
        self.born, held = int(running[kernel.BORN]), int(running[kernel.HELD])
        self.spread, self.due = float(running[kernel.SPREAD]), float(running[kernel.NEXT])
        facts = views["facts"].astype(float)
        self.centres = (facts[ZOOM, :, None] * views["positions"])[: self.born]
        self.visits, self.mass = facts[VISITS, : self.born], facts[MASS].copy()
        self.landmarks = views["landmarks"][:held].astype(float)
        found = int(running[kernel.FOUND])
        self.components = views["components"][:found].astype(float)
        self.bias = views["bias"].astype(float)
        self.weights = views["weights"].astype(float)

    def nearest(self, z: Array) -> int:
        """Return the record's cluster."""
        return int(((self.centres - z) ** 2).sum(axis=1).argmin()) if self.born else 0

    def mu(self, z: Array) -> Array:
        """Return the similarities to the landmarks."""
        if self.of.projection == RBF:
            squared = ((self.landmarks - z) ** 2).sum(axis=1)
            usual = self.spread if self.spread > 0 else squared.mean() if len(squared) else 1.0
            return np.exp(-squared / (self.of.bell * usual)) if usual > 0 else np.ones(len(squared))
        return np.asarray(self.landmarks @ z / np.linalg.norm(self.landmarks, axis=1))

    def scores(self, z: Array) -> Array:
        """Return (experts, columns)."""
        total = self.bias.copy()
        if self.born:
            mu = self.mu(z)
            total += np.tensordot(mu, self.weights[self.nearest(z), : len(mu)], 1)
        return total.reshape(-1, self.columns)

    def learn(self, z: Array, label: int, w: float, replaced: int) -> None:
        """Take one step on everything."""
        o, k = self.of, self.nearest(z)
        mu = self.mu(z) if self.born else np.zeros(0)
        raw = self.scores(z)[: len(self.steps)]
        push = np.array([pushes_at(o.loss, o.multiclass, s, label) for s in raw])
        step = w * np.array(self.steps)[:, None] / (1 + mu @ mu) * push
        self.seen += 1
        _follow(self.bias, step, w * max(o.average_floor, 1 / self.seen))
        if len(mu):
            self.mass[k] += w
            rate = w * max(o.average_floor, 1 / (1 + self.mass[k]))
            rates = w * np.array(self.steps) / (1 + mu @ mu) * o.l2
            self.weights[k, : len(mu), 0] *= 1 - np.minimum(0.5, rates)[:, None]
            for p, share in enumerate(mu):
                _follow(self.weights[k, p], share * step, rate)
        apart = float(((self.landmarks - z) ** 2).sum(axis=1).mean()) if len(mu) else 0.0
        self.offered += 1
        if self.offered == kernel.YOUNG:
            self._begin_anew()
        if len(mu) and o.projection == RBF:
            self.spread += max(kernel.SLOWEST, 1 / self.offered) * (apart - self.spread)
        self._cluster(z, k, w)
        if z @ z < 1e-30:
            return  # the very first record lies on the centre: it has no direction
        if o.choice == RANDOM:
            self._sample(z, replaced, mu)
        elif o.directions(self.width) > 0:
            self._components(z)

    def _begin_anew(self) -> None:
        self.born, self.spread = 0, 0.0
        self.centres, self.weights = self.centres[:0], np.zeros_like(self.weights)
        if self.of.choice == RANDOM or self.of.directions(self.width) > 0:
            self.landmarks, self.components = self.landmarks[:0], self.components[:0]
            self.due = 0.0

    def _cluster(self, z: Array, k: int, w: float) -> None:
        if self.born < self.of.n_clusters:
            self.centres = np.vstack([self.centres, z])
            if self.born:
                self.weights[self.born] = self.weights[k]
            self.born += 1
            return
        self.visits[k] += 1
        pace = max(kernel.CLUSTER_FLOOR, 1 / self.visits[k]) * min(1.0, w)
        self.centres[k] += pace * (z - self.centres[k])

    def _sample(self, z: Array, replaced: int, mu: Array) -> None:
        if len(self.landmarks) < self.of.landmarks(self.width):
            self.landmarks = np.vstack([self.landmarks, z])
        elif replaced >= 0:
            self.weights[:, replaced] *= mu[replaced] / (
                1 if self.of.projection == RBF else np.linalg.norm(z)
            )
            self.landmarks[replaced] = z

    def _components(self, z: Array) -> None:
        rest = z.copy()
        rate = max(SLOWEST, min(0.5, (1 + AMNESIA) / (self.offered + AMNESIA)))
        most = self.of.directions(self.width)
        for i in range(most):
            if i == len(self.components):
                self.components = np.vstack([self.components, rest])
                break
            v = self.components[i]
            v[:] = (1 - rate) * v + rate * (rest @ v) / np.linalg.norm(v) * rest
            rest = rest - (rest @ v) / (v @ v) * v
        if self.offered >= self.due:
            q, r = np.linalg.qr(self.components.T)
            basis = (q * np.sign(np.diag(r))).T
            held = len(self.landmarks)
            turn = basis @ self.landmarks.T
            old = self.weights[:, :held]
            self.weights = np.zeros_like(self.weights)
            self.weights[: self.born, : len(basis)] = np.einsum("po,ko...->kp...", turn, old)[
                : self.born
            ]
            self.landmarks = basis


def _follow(part: Array, step: Array, rate: float) -> None:
    """Step (copies, rungs, columns): copy 0 is raw, copy 1 its average."""
    part[0] += step
    if len(part) > 1:
        part[1] += min(1.0, rate) * (part[0] - part[1])
