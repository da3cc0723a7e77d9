"""What a model of numbers knows beside its anchors: the target's scale, and how experts do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.scaling import NEVER_NEGATIVE
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.regression import kernel


@dataclass(frozen=True, kw_only=True)
class Numbers(Member):
    """No machine of its own. See ``members/regression/kernel.py``."""

    loss: int
    epsilon: float

    name = "numbers"
    kernels = Kernels(kernel.run_numbers)
    state = kernel.NumbersState

    def experts(self, width: int, columns: int) -> int:
        """Return how many scores per column it gives: none."""
        return 0

    @property
    def attributes(self) -> bool:
        """Return False: it says nothing of its own."""
        return False

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores."""
        return []

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record."""
        return 0

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        """Return its sizes and choices, as its state names them."""
        return {"loss": self.loss}

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first."""
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        """Bring the settings to what the options say."""
        views["epsilon"][0] = self.epsilon

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        """Return which experts of the old shape (width, columns) are those of the new one."""
        return []

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one.

        If step sizes are dropped as the model grows, the remaining one starts with the lowest loss
        of the old ones.
        """
        new["target"][:] = old["target"]
        n = len(new["losses"])
        new["losses"][:] = old["losses"] if len(old["losses"]) == n else old["losses"].min()

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts | None:
        """Take its scores apart: there are none."""
        return None

    def sound(self, views: Views) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
        never_negative = views["target"][0, NEVER_NEGATIVE]
        return bool((never_negative >= 0).all() and (views["losses"] >= 0).all())
