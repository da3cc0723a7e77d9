"""The toy member: its first state, how it grows, and how its score is taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted, mean_of
from tests.members.toy import kernel


@dataclass(frozen=True, kw_only=True)
class Toy(Member):
    """One linear machine a class. See ``tests/members/toy/kernel.py``."""

    percent: int = 10

    kernels = Kernels(kernel.run)
    state = kernel.ToyState

    @property
    def name(self) -> str:
        """What the user calls it."""
        return f"toy:{self.percent}"

    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives."""
        return 1

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record."""
        return 2 * columns * width

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""
        return {}

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""
        views["step"][:] = self.percent / 100

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""
        return [0]

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: new features and classes begin at 0."""
        classes, width = old["weights"].shape
        new["weights"][:classes, :width] = old["weights"]
        new["biases"][:classes] = old["biases"]

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores apart: each feature's weight times its value, and the bias."""
        weights = views["weights"][:, : len(z)].astype(np.float64)
        biases = views["biases"].astype(np.float64)
        if len(biases) <= 2:  # they share a score, the second's less the first's
            weights = weights[1:].sum(axis=0, keepdims=True) - weights[:1]
            biases = biases[1:].sum(keepdims=True) - biases[:1]
        return Parts((weights * z)[None], weights[None], biases[None])

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the models' mean, in the scales of the merged one."""
        shares, parts = models.weights, models.parts
        weights = [part.views["weights"] for part in parts]
        scaled = [w * part.rescale.factor for w, part in zip(weights, parts, strict=True)]
        moved = [
            part.views["biases"] + w @ part.rescale.offset
            for w, part in zip(weights, parts, strict=True)
        ]
        out["weights"][:] = mean_of(shares, scaled)
        out["biases"][:] = mean_of(shares, moved)

    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
        return bool(0 < views["step"][0] <= 1)


def of_size(size: int, seed: int) -> Member:
    """Make a toy member: steps of so many percent."""
    return Toy(percent=size)
