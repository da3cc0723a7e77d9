"""The LDKL member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.base import Member, Parts, Shape, Stepping, Views, by_expert
from stream_llsvm.members.family.ldkl import kernel, merge
from stream_llsvm.members.pooling import Parted

Array = NDArray[np.float64]

#: Of a bend, at first: how much of it is the same everywhere, so that a machine begins as a line.
_BEND = 1.0
_ENDLESS = 2**53  # from here on a float counts no further


class Climbed(NamedTuple):
    """How trees, (rungs, ...), share a record out, and how that changes with the record."""

    phi: Array
    slopes: Array


@dataclass(frozen=True, kw_only=True)
class Ldkl(Stepping):
    """A tree of soft gates with a machine at each node. See ``members/family/ldkl/kernel.py``."""

    depth: int = 3
    sharpness: float = 1.0
    seed: int = 0
    steps: tuple[float, ...] = (0.5, 2.0, 8.0)
    average_floor: float = 0.003

    kernels = Kernels(kernel.run)
    capped = True
    state = kernel.LdklState

    @property
    def name(self) -> str:
        return f"ldkl:{self.depth}"

    @property
    def inner(self) -> int:
        """How many gates there are."""
        return int(2**self.depth - 1)

    @property
    def nodes(self) -> int:
        """How many nodes there are: the gates, and the leaves below them."""
        return int(2 ** (self.depth + 1) - 1)

    def rung_cost(self, width: int, columns: int) -> int:
        return int(width * (self.inner + self.nodes * (1 + columns * self.copies)))

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        rungs = len(self.rungs(width, columns))
        return {
            "settings": kernel.STEPS + rungs,
            "rungs": rungs,
            "copies": self.copies,
            "loss": self.loss,
            "multiclass": self.multiclass,
            "inner": self.inner,
            "nodes": self.nodes,
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Draw gates and bends, each column's from dice of its own; machines say nothing yet."""
        inner = self.inner
        views["gate_biases"][:] = np.random.default_rng(self.seed).standard_normal(inner)
        views["bend_biases"][:] = _BEND
        for column in range(width):
            dice = np.random.default_rng((self.seed, column))
            drawn = dice.standard_normal(inner + self.nodes)
            views["gates"][:, :, column], views["bends"][:, :, column] = (
                drawn[:inner],
                drawn[inner:],
            )
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        self.slow_down(views, 1.0)

    def slow_down(self, views: Views, left: float) -> None:
        rungs = self.rungs(views["gates"].shape[2], views["biases"].shape[3])
        steps = [step * left for step in rungs]
        views["settings"][:] = (self.average_floor, left, self.sharpness, *steps)

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        known = [self.rungs(*before).index(step) for step in self.rungs(*after)]
        new["running"][:] = old["running"]
        new["efforts"][:] = old["efforts"][:, known]
        for name in ("mass", "gate_biases", "bend_biases"):
            new[name][:] = old[name][known]
        for name in ("gates", "bends"):
            new[name][..., : before[0]] = old[name][known]
        self.widen(new["weights"][..., : before[0]], old["weights"][known], 3)
        self.widen(new["biases"], old["biases"][known], 3)
        if old["running"][kernel.SEEN] > 0:
            # A class that nobody has seen begins at the margin against it, where phi is 1.
            new["biases"][..., max(2, before[1]) : after[1]] = -1

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart: each node's machine, times its phi.

        The slopes are those of the whole: machines, bends and gates.
        """
        weights = views["weights"][..., : len(z)].astype(np.float64)
        biases = views["biases"].astype(np.float64)
        climbed = self._climb(views, z)
        heights = weights @ z + biases  # (rungs, nodes, copies, columns)
        machines = np.einsum("rk,rkecw->ercw", climbed.phi, weights)
        turns = np.einsum("rkw,rkec->ercw", climbed.slopes, heights)
        rest = np.einsum("rk,rkec->erc", climbed.phi, biases)
        return Parts(by_expert(machines * z), by_expert(machines + turns), by_expert(rest))

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the base's tree, moved by the mean of the models' changes.

        Without a base two trees have no mean.
        """
        if not models.since:
            super().merge(models, out)
        merge.merge(models, out, self.average_floor, self.sharpness)

    def square(self, views: Views) -> float:
        raw = [views[name][:, :, 0].ravel() for name in ("weights", "biases")]
        return sum(float(np.dot(part, part)) for part in raw)

    def sound(self, views: Views) -> bool:
        running = views["running"]
        return bool(
            (running >= 0).all()
            and running[kernel.SEEN] < _ENDLESS
            and (views["efforts"] >= 0).all()
            and (views["mass"] >= 0).all()
        )

    def _climb(self, views: Views, z: Array) -> Climbed:
        """Return phi, (rungs, nodes), and its slopes, (rungs, nodes, features)."""
        factor = 1 / np.sqrt(views["running"][kernel.SPREAD] + 1)
        gates = factor * views["gates"][..., : len(z)].astype(np.float64)
        bends = factor * self.sharpness * views["bends"][..., : len(z)].astype(np.float64)
        turned = np.clip(gates @ z + views["gate_biases"], -kernel.STEEPEST, kernel.STEEPEST)
        opened = 1 / (1 + np.exp(-2 * turned))
        bent = np.tanh(bends @ z + views["bend_biases"])
        rungs, width = len(opened), len(z)
        reached, moved = np.ones((rungs, self.nodes)), np.zeros((rungs, self.nodes, width))
        for g in range(self.inner):
            swing = (2 * opened[:, g] * (1 - opened[:, g]))[:, None] * gates[:, g]
            for child, share, sign in (
                (2 * g + 1, 1 - opened[:, g], -1.0),
                (2 * g + 2, opened[:, g], 1.0),
            ):
                reached[:, child] = reached[:, g] * share
                moved[:, child] = share[:, None] * moved[:, g]
                moved[:, child] += sign * reached[:, g, None] * swing
        steep = (reached * (1 - bent**2))[:, :, None] * bends
        return Climbed(reached * bent, steep + bent[:, :, None] * moved)


def of_size(size: int, seed: int) -> Member:
    """Make an LDKL member: a tree with so many levels of gates."""
    return Ldkl(
        depth=size,
        seed=seed,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        steps=(2.0,),
    )
