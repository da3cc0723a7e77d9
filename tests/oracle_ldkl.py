"""The oracle's LDKL: a tree of gates written as products along paths, its slopes by differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.family.ldkl import kernel
from stream_llsvm.members.family.ldkl.member import Ldkl
from tests.oracle_parts import Array, pushes_at

STATE = ("efforts", "mass", "gates", "gate_biases", "bends", "bend_biases", "weights", "biases")


class LdklOracle:
    """H_c = sum_k phi_k (w_kc . x + d_kc), for each rung, raw and averaged."""

    def __init__(self, of: Ldkl, width: int, columns: int) -> None:
        self.of, self.columns, self.steps = of, columns, of.rungs(width, columns)

    def take(self, views: Mapping[str, NDArray[Any]]) -> None:
        """Begin where the kernel is, so that rounding cannot add up from step to step."""
        self.seen = float(views["running"][kernel.SEEN])
        self.spread = float(views["running"][kernel.SPREAD])
        self.own = {name: views[name].astype(float) for name in STATE}

    def phi(self, z: Array, r: int, gates: Array, bends: Array) -> tuple[Array, Array]:
        """Return the local features of a rung, and how far each node is reached."""
        u = z / np.sqrt(self.spread + 1)
        opened = 1 / (1 + np.exp(-2 * (gates[:, :-1] @ u + gates[:, -1])))
        reached = np.ones(self.of.nodes)
        for k in range(self.of.nodes):
            child = k
            while child > 0:
                parent = (child - 1) // 2
                right = child == 2 * parent + 2
                reached[k] *= opened[parent] if right else 1 - opened[parent]
                child = parent
        told = np.tanh(self.of.sharpness * (bends[:, :-1] @ u) + bends[:, -1])
        return reached * told, reached

    def tree(self, r: int) -> tuple[Array, Array]:
        """Return a rung's gates and bends, each with its bias behind it."""
        own = self.own
        pairs = ("gates", "gate_biases"), ("bends", "bend_biases")
        gates, bends = (np.column_stack([own[a][r], own[b][r]]) for a, b in pairs)
        return gates, bends

    def heights(self, z: Array, r: int) -> Array:
        """Return what the machines say, (nodes, copies, columns)."""
        return np.asarray(self.own["weights"][r] @ z + self.own["biases"][r])

    def scores(self, z: Array) -> Array:
        """Return (experts, columns)."""
        said = [
            np.tensordot(self.phi(z, r, *self.tree(r))[0], self.heights(z, r), 1)
            for r in range(len(self.steps))
        ]
        return np.moveaxis(np.array(said), 1, 0).reshape(-1, self.columns)

    def learn(self, z: Array, label: int, w: float) -> None:
        """Take one step on everything."""
        raw = self.scores(z)[: len(self.steps)]
        self.seen += 1
        for r, scores in enumerate(raw):
            self._learn_rung(z, r, pushes_at(self.of.loss, self.of.multiclass, scores, label), w)
        self.spread += max(kernel.SLOWEST, 1 / self.seen) * (float(z @ z) - self.spread)

    def _learn_rung(self, z: Array, r: int, push: Array, w: float) -> None:
        own, trees = self.own, self.tree(r)
        phi, reached = self.phi(z, r, *trees)
        slopes = self.heights(z, r)[:, 0] @ push
        moves = [self._biases_slopes(z, r, which, slopes) for which in range(2)]
        energy = 1 + (z @ z + 1) * (phi @ phi)
        step = w * self.steps[r] / energy * phi[:, None] * push
        own["weights"][r, :, 0] += step[:, :, None] * z
        own["biases"][r, :, 0] += step
        own["mass"][r] += w * reached
        rate = w * reached * np.maximum(self.of.average_floor, 1 / (1 + own["mass"][r]))
        for name, wide in (("weights", rate[:, None, None]), ("biases", rate[:, None])):
            if self.of.averaged:
                of = own[name][r]
                of[:, 1] += np.minimum(1, wide) * (of[:, 0] - of[:, 1])
        u = z / np.sqrt(self.spread + 1)
        for which, names, pace, along in (
            (kernel.OF_GATES, ("gates", "gate_biases"), kernel.GATE, 1.0),
            (kernel.OF_BENDS, ("bends", "bend_biases"), kernel.BEND, self.of.sharpness),
        ):
            before = own["efforts"][which, r]
            total = float(moves[which] @ moves[which])
            total = min(total, kernel.FARTHEST**2 * before) if before > 0 else total
            own["efforts"][which, r] += max(kernel.SLOWEST, 1 / self.seen) * (total - before)
            usual = np.sqrt(own["efforts"][which, r]) + kernel.LEAST
            far = pace * kernel.FARTHEST
            gone = np.clip(min(1.0, w) * pace * moves[which] / usual, -far, far)
            own[names[0]][r] += along * gone[:, None] * u
            own[names[1]][r] += gone

    def _biases_slopes(self, z: Array, r: int, which: int, slopes: Array) -> Array:
        """Return how sum_c push_c H_c rises with each bias of gates or bends, by differences."""
        found, h = [], 1e-5
        for i in range(len(self.tree(r)[which])):
            ends = []
            for sign in (1, -1):
                moved = self.tree(r)
                moved[which][i, -1] += sign * h
                ends.append(self.phi(z, r, *moved)[0] @ slopes)
            found.append((ends[0] - ends[1]) / (2 * h))
        return np.array(found)
