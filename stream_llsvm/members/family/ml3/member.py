"""The ML3 member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.base import Member, Parts, Shape, Stepping, Views, by_expert
from stream_llsvm.members.family.ml3 import kernel

Array = NDArray[np.float64]

_ENDLESS = 2**53  # from here on a float counts no further


@dataclass(frozen=True, kw_only=True)
class Ml3(Stepping):
    """Several machines a class, joined by latent codes. See ``members/family/ml3/kernel.py``."""

    machines: int = 10
    norm: float = 1.5
    seed: int = 0
    steps: tuple[float, ...] = (0.5, 2.0, 8.0)
    average_floor: float = 0.003

    kernels = Kernels(kernel.run)
    capped = True
    state = kernel.Ml3State

    @property
    def name(self) -> str:
        return f"ml3:{self.machines}"

    def sets_of(self, columns: int) -> int:
        """Return how many classes have machines of their own."""
        return max(2, columns)

    def rung_cost(self, width: int, columns: int) -> int:
        return width * self.sets_of(columns) * self.machines * self.copies

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        rungs = len(self.rungs(width, columns))
        return {
            "settings": kernel.STEPS + rungs,
            "rungs": rungs,
            "copies": self.copies,
            "loss": self.loss,
            "multiclass": self.multiclass,
            "sets": self.sets_of(columns),
            "machines": self.machines,
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Draw the machines, each column's from dice of its own: alike, they would stay alike."""
        for column in range(width):
            dice = np.random.default_rng((self.seed, column))
            drawn = dice.standard_normal((self.sets_of(columns), self.machines))
            views["weights"][..., column] = drawn[None, :, None]
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        self.slow_down(views, 1.0)

    def slow_down(self, views: Views, left: float) -> None:
        rungs = self.rungs(views["weights"].shape[4], self._columns(views))
        steps = [step * left for step in rungs]
        views["settings"][:] = (self.average_floor, self.norm, *steps)

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        known = [self.rungs(*before).index(step) for step in self.rungs(*after)]
        sets = self.sets_of(before[1])
        new["running"][:] = old["running"]
        new["mass"][:, :sets] = old["mass"][known]
        new["biases"][:, :sets] = old["biases"][known]
        new["weights"][:, :sets, ..., : before[0]] = old["weights"][known]
        if old["running"][kernel.SEEN] > 0:
            # A class that nobody has seen begins at the margin against it.
            new["biases"][:, sets:] = -1

    def parts(self, views: Views, z: Array) -> Parts:
        """Take the scores of the record last seen apart: each class's machines, by its code.

        The slopes are the same: where a code is the best one, it need not move.
        """
        factor = 1 / np.sqrt(views["running"][kernel.SPREAD] + 1)
        codes = views["codes"].astype(np.float64)  # (rungs, sets, copies, machines)
        weights = factor * views["weights"][..., : len(z)].astype(np.float64)
        slopes = np.einsum("rsem,rsemw->ersw", codes, weights)
        rest = np.einsum("rsem,rsem->ers", codes, views["biases"].astype(np.float64))
        if self._columns(views) == 1:
            slopes, rest = slopes[:, :, 1:] - slopes[:, :, :1], rest[..., 1:] - rest[..., :1]
        return Parts(by_expert(slopes * z), by_expert(slopes), by_expert(rest))

    def square(self, views: Views) -> float:
        raw = [views[name][:, :, 0].ravel() for name in ("weights", "biases")]
        return sum(float(np.dot(part, part)) for part in raw)

    def sound(self, views: Views) -> bool:
        running = views["running"]
        return bool(
            (running >= 0).all() and running[kernel.SEEN] < _ENDLESS and (views["mass"] >= 0).all()
        )

    def _columns(self, views: Views) -> int:
        return len(views["push"])


def of_size(size: int, seed: int) -> Member:
    """Make an ML3 member of so many machines a class."""
    return Ml3(
        machines=size,
        seed=seed,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        steps=(2.0,),
    )
