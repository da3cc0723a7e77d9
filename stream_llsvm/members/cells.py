"""What the members that are tables of cells have in common; see ``kernels/cells.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.cells import SEEN, STEPS
from stream_llsvm.members.base import Shape, Stepping, Views
from stream_llsvm.members.pooling import Parted, Shares, mean_of

#: Where several models have stepped on the weights of a cell since they parted, it goes farther
#: than their mean by the square root of how many.
RAW_POWER = 0.5


@dataclass(frozen=True, kw_only=True)
class Cells(Stepping):
    """A linear machine over a table of cells, and a bias."""

    average_floor: float = 0.003

    capped = True

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        rungs = len(self.rungs(width, columns))
        return {
            "settings": STEPS + rungs,
            "copies": self.copies,
            "rungs": rungs,
            "loss": self.loss,
            "multiclass": self.multiclass,
        }

    def width_of(self, views: Views) -> int:
        """Return how many features the state has room for."""
        raise NotImplementedError

    def set_up(self, views: Views) -> None:
        """Bring the settings to what the options say."""
        steps = self.rungs(self.width_of(views), views["bias"].shape[2])
        views["settings"][:] = (self.average_floor, *steps)

    def slow_down(self, views: Views, left: float) -> None:
        self.set_up(views)
        views["settings"][STEPS:] *= left

    def kept_rungs(self, before: Shape, after: Shape) -> list[int]:
        """Return which step sizes of a smaller model a larger one still has."""
        rungs = self.rungs(*before)
        return [rungs.index(step) for step in self.rungs(*after)]

    def carry_bias(
        self, old: Views, new: Views, before: Shape, after: Shape, *, begun: bool
    ) -> None:
        """Move the bias; a class that nobody has seen begins at the margin against it."""
        self.widen(new["bias"], old["bias"][:, self.kept_rungs(before, after)], 2)
        if begun:
            new["bias"][:, :, max(2, before[1]) : after[1]] = -1

    def square(self, views: Views) -> float:
        raw = np.moveaxis(views["weights"], -3, 0)[0].ravel(), views["bias"][0].ravel()
        return sum(float(np.dot(part, part)) for part in raw)

    def merge_bias(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Merge what all have: counts and the bias."""
        out["running"][:] = models.counted("running")
        seen = np.stack(models.each("running", SEEN))
        shares = self.shares_of_cells(models, seen)
        bias = models.each("bias")
        out["bias"][0] = mean_of(shares.raw, [own[0] for own in bias])
        out["bias"][1:] = mean_of(shares.means, [own[1:] for own in bias])

    def shares_of_cells(self, models: Parted, mass: NDArray[Any]) -> Shares:
        """Return how far each model's cells count, by how often each has touched them."""
        return models.by_rows(mass, RAW_POWER, self.average_floor)
