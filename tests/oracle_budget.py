"""The oracle's budgeted Pegasos: explicit kernels of pairs in float64, one formula a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.family.budget_svm import kernel
from stream_llsvm.members.family.budget_svm.maintenance import MERGING
from stream_llsvm.members.family.budget_svm.member import Budgeted
from tests.oracle_parts import Array, pushes_at
from tests.oracle_surprise import StepsOracle, least


class BudgetOracle:
    """w = s (sum_v alpha_v phi(x_v)), one alpha an expert and column.

    s = 1 / (l2 (t - forgotten + t0)).
    """

    def __init__(self, of: Budgeted, width: int, columns: int) -> None:
        self.of, self.columns = of, columns
        self.factors = np.array(of.rungs(width, columns))
        self.t0 = of.t0 if of.t0 >= 0 else 1 / of.l2
        self.steps = StepsOracle(of_numbers=False)

    def take(self, views: Mapping[str, NDArray[Any]]) -> None:
        """Begin where the kernel is, so that rounding cannot add up from step to step."""
        running = views["running"]
        self.t, held = int(running[kernel.SEEN]), int(running[kernel.HELD])
        self.spread = float(running[kernel.SPREAD])
        self.steps.take(views["clock"])
        self.vectors = views["vectors"][:held].astype(float)
        self.stamps = views["stamps"][:held].copy()
        self.bias = views["bias"].astype(float)
        self.alpha = views["coefficients"][:held].astype(float)

    def gammas(self, z: Array) -> Array:
        """Return each expert's gamma."""
        if self.of.gamma > 0:
            return self.of.gamma * self.factors
        apart = ((self.vectors - z) ** 2).sum(axis=1)
        usual = self.spread if self.spread > 0 else apart.mean() if len(apart) else 0.0
        return self.factors / usual if usual > 0 else 0 * self.factors

    def scores(self, z: Array) -> Array:
        """Return (experts, columns)."""
        shares = rbf(self.gammas(z), self.vectors, z)
        return np.asarray(self.scale() * (self.bias + np.einsum("ve,vec->ec", shares, self.alpha)))

    def scale(self) -> float:
        """Return s."""
        return 1 / (self.of.l2 * (max(1, self.t - self.steps.forgotten) + self.t0))

    def forget(self, scores: Array, label: int, w: float) -> None:
        """Forget steps if more widths err than usual; the machines stay what they are."""
        likeliest = scores.argmax(axis=1) if self.columns > 1 else scores[:, 0] > 0
        before, t = self.scale(), self.t - self.steps.forgotten
        wrong = float(np.mean(likeliest != label))
        self.steps.learn(wrong, w, t, least(self.of.l2, self.t0))
        self.bias, self.alpha = (part * before / self.scale() for part in (self.bias, self.alpha))

    def learn(self, z: Array, label: int, w: float) -> None:
        """Take one step; the vectors keep their places as the kernel's do."""
        scores, gammas = self.scores(z), self.gammas(z)
        apart = float(((self.vectors - z) ** 2).sum(axis=1).mean()) if len(self.vectors) else 0.0
        self.t += 1
        if self.t == kernel.YOUNG:
            self.vectors, self.alpha = self.vectors[:0], self.alpha[:0]
            self.stamps, self.bias, self.spread = self.stamps[:0], 0 * self.bias, 0.0
        if self.t <= kernel.SETTLED and len(self.vectors):
            since = self.t - (kernel.YOUNG if self.t > kernel.YOUNG else 0)
            pace = 1 / since if self.spread > 0 else 1.0
            self.spread += pace * (apart - self.spread)
        if self.of.forgets:
            self.forget(scores, label, w)
        push = np.array([pushes_at(self.of.loss, self.of.multiclass, s, label) for s in scores])
        if not push.any():
            return
        self.bias = self.bias + w * push
        if len(self.vectors) == self.of.most:
            place = self.make_room(gammas)
            self.vectors[place], self.alpha[place], self.stamps[place] = z, w * push, self.t
        else:
            self.vectors = np.vstack([self.vectors, z])
            self.alpha = np.concatenate([self.alpha, [w * push]])
            self.stamps = np.append(self.stamps, self.t)

    def make_room(self, gammas: Array) -> int:
        """Return the place of the weakest vector, once it is merged with another."""
        size = (self.alpha**2).sum(axis=(1, 2))
        a = int(np.lexsort((self.stamps, size))[0])
        if self.of.maintenance != MERGING or len(self.vectors) == 1:
            return a
        others = [v for v in range(len(self.vectors)) if v != a]
        costs = [self.cost(a, v, by_weight(size[a], size[v]), gammas) for v in others]
        b = others[int(np.argmin(costs))]
        h = self.best_place(a, b, gammas)
        self.vectors[b], self.alpha[b] = self.merged(a, b, h, gammas)
        self.stamps[b] = max(self.stamps[a], self.stamps[b])
        return a

    def best_place(self, a: int, b: int, gammas: Array) -> float:
        """Return the h that costs least: in steps of a fortieth, then finer around the best."""
        h, reach = 0.5, 0.5
        for steps in (41, 21):
            places = np.clip(np.linspace(h - reach, h + reach, steps), 0, 1)
            h = float(places[np.argmin([self.cost(a, b, p, gammas) for p in places])])
            reach = 2 / steps
        return h

    def merged(self, a: int, b: int, h: float, gammas: Array) -> tuple[Array, Array]:
        """Return the point between two vectors, and the coefficients that change w least there.

        phi(z) has length 1: it is the projection of what both contribute.
        """
        z = h * self.vectors[a] + (1 - h) * self.vectors[b]
        near = rbf(gammas, self.vectors[[a, b]], z)
        return z, np.einsum("ve,vec->ec", near, self.alpha[[a, b]])

    def cost(self, a: int, b: int, h: float, gammas: Array) -> float:
        """Return |alpha_a phi(a) + alpha_b phi(b) - alpha_z phi(z)|^2, by kernels of pairs."""
        z, alpha = self.merged(a, b, h, gammas)
        points = np.array([self.vectors[a], self.vectors[b], z])
        weights = np.array([self.alpha[a], self.alpha[b], -alpha])
        gram = np.array([rbf(gammas, points, point) for point in points])
        return float(np.einsum("uec,uve,vec->", weights, gram, weights))


def rbf(gammas: Array, points: Array, z: Array) -> Array:
    """Return exp(-gamma |p - z|^2), (points, gammas)."""
    squared = ((points - z) ** 2).sum(axis=1)
    return np.asarray(np.exp(-squared[:, None] * gammas))


def by_weight(a: float, b: float) -> float:
    """Return how near the mean of two vectors lies to the first."""
    return float(np.sqrt(a) / (np.sqrt(a) + np.sqrt(b)))
