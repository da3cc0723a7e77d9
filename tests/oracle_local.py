"""The oracle's local SVM: a list of records, all distances, and scikit-learn's SVC for each class.

Only what LAS says is here: K = k log2(N), the early exit, one against the rest, MEGM's step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from stream_llsvm.members.family.local_svm import kernel, megm
from stream_llsvm.members.family.local_svm.member import LocalMachines
from stream_llsvm.members.family.local_svm.smo import LINEAR
from stream_llsvm.members.family.local_svm.window import FULL, PLAIN
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array, follow


@dataclass
class Record:
    """A remembered record; as the map saw it when it was last drawn anew."""

    z: Array
    label: int
    worth: float


class LocalOracle:
    """A window that slides, a map, and machines that are made for a query and thrown away."""

    def __init__(self, of: LocalMachines, width: int, classes: int) -> None:
        assert of.metric in (PLAIN, FULL)
        self.of, self.width, self.classes = of, width, classes
        self.records: list[Record] = []
        self.map, self.published = np.eye(width), np.eye(width)
        self.effort, self.spread, self.seen = 0.0, 0.0, 0

    def neighbours(self, z: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the K = k log2(N) nearest, LAS section III, and their squared distances."""
        n = len(self.records)
        k = n if n < 2 else min(n, math.ceil(self.of.k * math.log2(n)))
        if n == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        apart = np.array([r.z for r in self.records]) - z
        squared = ((apart @ self.published.T) ** 2).sum(axis=1)
        near = np.argsort(squared, kind="stable")[:k]
        return near, squared[near]

    def scores(self, z: Array, near: NDArray[np.int64]) -> Array:
        """Return the machines' values, a column a class or one for two."""
        columns = columns_of(self.classes)
        if len(near) == 0:
            return np.zeros(columns)
        labels = np.array([self.records[j].label for j in near])
        by_class = np.full(self.classes, -1.0)
        if len(set(labels)) == 1:
            by_class[labels[0]] = 1
        else:
            for c in set(labels.tolist()):
                by_class[c] = self._machine(z, near, np.where(labels == c, 1.0, -1.0))
        return by_class if columns > 1 else by_class[-1:]

    def _machine(self, z: Array, near: NDArray[np.int64], y: Array) -> float:
        """Solve LAS(1) for the neighbours; returns f(z)."""
        points = np.array([self.records[j].z for j in near]) @ self.published.T
        most = self.of.penalty * np.array([self.records[j].worth for j in near])
        squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
        n = len(y)
        mean = squared.sum() / (n * (n - 1))
        precision = 1 / self.of.sigma**2 if self.of.sigma > 0 else (1 / mean if mean > 0 else 0)
        query = self.published @ z
        if self.of.kernel_kind == LINEAR:
            gram, values = precision * points @ points.T, precision * points @ query
        else:
            gram = np.exp(-precision * squared / 2)
            values = np.exp(-precision * ((points - query) ** 2).sum(axis=1) / 2)
        machine = SVC(C=1, kernel="precomputed", tol=1e-6).fit(gram, y, sample_weight=most)
        b = np.zeros(n)
        b[machine.support_] = machine.dual_coef_[0]
        return float(values @ b + self._bias(gram, y, most, b))

    @staticmethod
    def _bias(gram: Array, y: Array, most: Array, b: Array) -> float:
        """Return what the free records agree on; scikit-learn's choice if none is free differs."""
        rest, tiny = y - gram @ b, 1e-7 * most
        may_rise = b < np.where(y > 0, most, 0) - tiny
        may_fall = b > np.where(y > 0, 0, -most) + tiny
        if (may_rise & may_fall).any():
            return float(rest[may_rise & may_fall].mean())
        return float((rest[may_rise].max() + rest[may_fall].min()) / 2)

    def learn(self, z: Array, label: int, w: float, near: NDArray[np.int64], d: Array) -> None:
        """Take MEGM's step on the nearest, then remember the record."""
        self.seen += 1
        pupils, d = near[: kernel.PUPILS], d[: kernel.PUPILS]
        if len(pupils) > 0:
            self.spread = follow(self.spread, float(d.mean()), kernel.SPREAD_RATE, 10)
            if self.of.metric == FULL:
                self._step(z, label, min(1.0, w), pupils, d)
        if self.seen == kernel.YOUNG:
            self.records = []
        self.records = [*self.records, Record(z, label, w)][-self.of.window :]
        if self.seen % 64 == 0 or self.seen < 64:
            self.published = self.map.copy()

    def _step(self, z: Array, label: int, w: float, near: NDArray[np.int64], d: Array) -> None:
        """Step A -= rate dE/dA, E the squared error of the soft vote: MEGM, LAS section III."""
        beta = 1 / (self.spread + 1e-4)
        p = np.exp(-beta * (d - d[0]))
        p /= p.sum()
        labels = np.array([self.records[j].label for j in near])
        error = np.eye(self.classes)[label] - np.bincount(labels, weights=p, minlength=self.classes)
        if (error**2).sum() <= megm.LEAST_ERROR:
            return
        vote = np.eye(self.classes)[label] - error
        e = p * (error[labels] - error @ vote)
        farthest = megm.FARTHEST / math.sqrt(beta)
        apart = np.clip(z - np.array([self.records[j].z for j in near]), -farthest, farthest)
        gradient = 4 * beta * np.einsum("j,jr,ji->ri", e, apart @ self.map.T, apart)
        self.effort = megm.FADE * self.effort + (1 - megm.FADE) * (gradient**2).sum()
        if self.effort == 0:
            return
        moved = self.map - w * megm.RATE / math.sqrt(self.effort) * gradient
        self.map = moved * math.sqrt(self.width / (moved**2).sum())
