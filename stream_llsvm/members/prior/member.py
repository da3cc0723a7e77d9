"""The prior member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted, mean_of
from stream_llsvm.members.prior import kernel

#: The second expert looks back on so much less.
_NEARER = 6.4


@dataclass(frozen=True, kw_only=True)
class Prior(Member):
    """How often each class has come of late. See ``members/prior/kernel.py``."""

    reach: int = 32

    kernels = Kernels(kernel.run)
    state = kernel.PriorState
    #: Less than others: it knows nothing of the record.
    first_trust = 2.0

    @property
    def name(self) -> str:
        return f"prior:{self.reach}"

    @property
    def reaches(self) -> tuple[float, float]:
        """How many records each expert looks back on."""
        return float(self.reach), max(1.0, self.reach / _NEARER)

    def experts(self, width: int, columns: int) -> int:
        return kernel.EXPERTS

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: how many labels it looks back on."""
        return [f"last {reach:g}" for reach in self.reaches]

    def price(self, width: int, columns: int) -> int:
        """Return 0: it takes hardly any time."""
        return 0

    def cost(self, width: int, columns: int) -> int:
        return 2 * kernel.EXPERTS * columns

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {}

    def begin(self, views: Views, width: int, columns: int) -> None:
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        views["reaches"][:] = self.reaches

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return list(range(kernel.EXPERTS))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: a class that nobody has seen has no share."""
        new["shares"][:, : old["shares"].shape[1]] = old["shares"]

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores apart: nothing of them is any feature's."""
        shares = views["shares"].astype(np.float64)
        if shares.shape[1] <= 2:  # they share a score, the second's less the first's
            shares = shares[:, 1:].sum(axis=1, keepdims=True) - shares[:, :1]
        nothing = np.zeros((*shares.shape, len(z)))
        return Parts(nothing, nothing, shares)

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the mean of the models' shares."""
        out["shares"][:] = mean_of(models.weights, models.each("shares"))

    def sound(self, views: Views) -> bool:
        shares = views["shares"]
        return bool(((shares >= 0) & (shares < 2)).all())  # rounding may carry one above 1


def of_size(size: int, seed: int) -> Member:
    """Make a prior member: how often each class came among the last so many."""
    return Prior(reach=size)
