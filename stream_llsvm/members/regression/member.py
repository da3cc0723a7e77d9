"""What a model of numbers is made of: anchors that learn numbers, and what is known of the target.

The member in front is any that learns numbers (``Pegasos`` does by its loss). `Numbers` is last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.run_numbers import NumbersState
from stream_llsvm.kernels.scaling import COUNT, NEVER_NEGATIVE
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted, mean_of
from stream_llsvm.members.regression import kernel


@dataclass(frozen=True, kw_only=True)
class NumberAnchors(Anchors):
    """Anchors that learn numbers: ``loss`` is one of those. See ``kernel.py``."""

    kernels = Kernels(kernel.run)
    answers_together = False
    reads_pieces = False


@dataclass(frozen=True, kw_only=True)
class Numbers(Member):
    """The target's scale, and how far off each expert is. See ``kernels/run_numbers.py``."""

    epsilon: float
    farthest: int

    name = "numbers"
    kernels = Kernels(None)
    state = NumbersState

    def experts(self, width: int, columns: int) -> int:
        return 0

    @property
    def attributes(self) -> bool:
        """Return False: it says nothing of its own."""
        return False

    def expert_names(self, width: int, columns: int) -> list[str]:
        return []

    def cost(self, width: int, columns: int) -> int:
        return 0

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {"farthest": self.farthest}

    def begin(self, views: Views, width: int, columns: int) -> None:
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        views["epsilon"][0] = self.epsilon

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
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
        return None

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the experts' mean losses; the target is pooled already."""
        losses = [part.units.factor * part.views["losses"] for part in models.parts]
        seen = models.shares(models.each("target", (0, COUNT)))
        out["losses"][:] = mean_of(seen, losses)
        self.go_live(out)

    def sound(self, views: Views) -> bool:
        never_negative = views["target"][0, NEVER_NEGATIVE]
        return bool((never_negative >= 0).all() and (views["losses"] >= 0).all())
