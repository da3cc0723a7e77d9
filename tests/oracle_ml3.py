"""The oracle's ML3: the code of each class found by search, its slopes by differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.family.ml3 import kernel
from stream_llsvm.members.family.ml3.member import Ml3
from tests.oracle_parts import Array, pushes_at

STATE = ("mass", "weights", "biases")


def told_by(norm: float, heights: Array) -> float:
    """Return max_b sum_j b_j h_j over codes of p-norm 1 that are not negative."""
    if heights.max() <= 0:
        return float(heights.max())  # one machine alone: any other code adds something below 0
    above = np.maximum(heights, 0)
    if norm == 1:
        return float(above.max())
    dual = norm / (norm - 1)
    return float(np.sum(above**dual) ** (1 / dual))


def code_of(norm: float, heights: Array) -> Array:
    """Return the code, which is how that score rises with each machine's, by differences."""
    if heights.max() <= 0:  # and there it has no slope if several are 0: the first one counts
        return np.asarray(np.arange(len(heights)) == heights.argmax(), dtype=float)
    h = 1e-6
    moves = h * np.eye(len(heights))
    ends = [told_by(norm, heights + move) - told_by(norm, heights - move) for move in moves]
    return np.array(ends) / (2 * h)


class Ml3Oracle:
    """H_c = max over codes of sum_j b_j (w_cj . u + d_cj), for each rung, raw and averaged."""

    def __init__(self, of: Ml3, width: int, columns: int) -> None:
        self.of, self.columns, self.steps = of, columns, of.rungs(width, columns)

    def take(self, views: Mapping[str, NDArray[Any]]) -> None:
        """Begin where the kernel is, so that rounding cannot add up from step to step."""
        self.seen = float(views["running"][kernel.SEEN])
        self.spread = float(views["running"][kernel.SPREAD])
        self.own = {name: views[name].astype(float) for name in STATE}

    def heights(self, z: Array) -> Array:
        """Return what the machines say, (rungs, sets, copies, machines)."""
        u = z / np.sqrt(self.spread + 1)
        return np.asarray(self.own["weights"] @ u + self.own["biases"])

    def scores(self, z: Array) -> Array:
        """Return (experts, columns)."""
        told = np.apply_along_axis(lambda h: told_by(self.of.norm, h), 3, self.heights(z))
        if self.columns == 1:
            told = told[:, 1:] - told[:, :1]
        return np.moveaxis(told, 2, 0).reshape(-1, self.columns)

    def learn(self, z: Array, label: int, w: float) -> None:
        """Take one step on every machine that a code names."""
        raw, heights = self.scores(z)[: len(self.steps)], self.heights(z)
        u = z / np.sqrt(self.spread + 1)
        self.seen += 1
        for r, scores in enumerate(raw):
            push = pushes_at(self.of.loss, self.of.multiclass, scores, label)
            push = np.array([-push[0], push[0]]) if self.columns == 1 else push
            for c, own in enumerate(push):
                code = code_of(self.of.norm, heights[r, c, 0])
                self._step(r, c, code, u, own, w)
        self.spread += max(kernel.SLOWEST, 1 / self.seen) * (float(z @ z) - self.spread)

    def _step(self, r: int, c: int, code: Array, u: Array, push: float, w: float) -> None:
        weights, biases = self.own["weights"][r, c], self.own["biases"][r, c]
        step = w * self.steps[r] * push * code / (1 + (u @ u + 1) * (code @ code))
        weights[0] += step[:, None] * u
        biases[0] += step
        if not self.of.averaged:
            return
        self.own["mass"][r, c] += w * code
        rate = w * code * np.maximum(self.of.average_floor, 1 / (1 + self.own["mass"][r, c]))
        rate = np.minimum(1, rate)
        weights[1] += rate[:, None] * (weights[0] - weights[1])
        biases[1] += rate * (biases[0] - biases[1])
