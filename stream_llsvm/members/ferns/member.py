"""The ferns member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.kernels.plan import READS_METRIC
from stream_llsvm.members.base import Member, Parts, Shape, Views, by_expert
from stream_llsvm.members.cells import Cells
from stream_llsvm.members.ferns import kernel, merge
from stream_llsvm.members.pooling import Parted

_KEPT_FLOATS = 2**18
_MOST_KEPT = 200
_FEWEST_KEPT = 8


@dataclass(frozen=True, kw_only=True)
class Ferns(Cells):
    """Random partitions, a weight per cell. See ``members/ferns/kernel.py``."""

    n_ferns: int = 60
    depth: int = 8
    steps: tuple[float, ...] = (1.0, 10.0, 50.0)
    budget: int = 4_000
    seed: int = 0

    kernels = Kernels(kernel.run)
    metric = READS_METRIC
    pace, start = 0.2, 900
    state = kernel.FernsState

    @property
    def name(self) -> str:
        return f"ferns:{self.n_ferns}"

    def rung_cost(self, width: int, columns: int) -> int:
        return self.n_ferns * columns * self.copies

    def search_cost(self, width: int) -> int:
        return self.n_ferns * self.depth

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return super().sizes(width, columns) | {
            "ferns": self.n_ferns,
            "depth": self.depth,
            "leaves": 1 << self.depth,
            "kept": min(_MOST_KEPT, max(_FEWEST_KEPT, _KEPT_FLOATS // max(1, width))),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["source"][0] = self.seed
        self.go_live(views)

    def width_of(self, views: Views) -> int:
        """Return how many features the state has room for."""
        return int(views["recent"].shape[1])

    def go_live(self, views: Views) -> None:
        self.set_up(views)

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        kept = self.kept_rungs(before, after)
        for name in ("running", "source", "features", "thresholds", "facts", "mass"):
            new[name][:] = old[name]
        n = len(new["recent"])
        new["recent"][:, : before[0]] = old["recent"][:n]
        new["labels"][:] = old["labels"][:n]
        self.widen(new["weights"], old["weights"][:, :, :, kept], 4)
        self.carry_bias(old, new, before, after, begun=old["running"][kernel.SEEN] > 0)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart, along each fern's comparisons.

        Before the first answer a fern's score is the mean over its cells, each counted by the
        records that touched it; each answer halves the cells, and what the mean changes by is
        the feature's that was asked for. The last mean is the cell's own weight.
        """
        shape = views["bias"].shape
        of_features = np.zeros((*shape, len(z)))
        rest = views["bias"].astype(np.float64)
        if views["running"][kernel.SEEN] >= kernel.FIRST_DRAW and len(z) > 0:
            ferns = np.arange(self.n_ferns)
            cell = views["cells"] - (ferns << self.depth)
            begin, size = np.zeros_like(ferns), 1 << self.depth
            before = _means(views, begin, size)
            rest += before.sum(axis=0)
            for d in range(self.depth):
                size //= 2
                begin += size * (cell >> (self.depth - 1 - d) & 1)
                after = _means(views, begin, size)
                # The feature goes first, to be told apart from those that were not asked for.
                by_feature = np.moveaxis(of_features, -1, 0)
                np.add.at(by_feature, views["features"][:, d], after - before)
                before = after
        return Parts(by_expert(of_features), np.zeros_like(by_expert(of_features)), by_expert(rest))

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the models' ferns: means, or those drawn anew."""
        merge.merge(self, models, out)

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Let questions ask for the features where they are now; labels have their new codes."""
        views["features"][:] = np.argsort(columns)[views["features"]]
        views["labels"][:] = np.argsort(codes)[views["labels"]]

    def sound(self, views: Views) -> bool:
        features, width = views["features"], views["recent"].shape[1]
        labels, classes = views["labels"], len(views["counts"])
        return bool(
            (views["running"] >= 0).all()
            and (views["mass"] >= 0).all()
            and (views["facts"][kernel.BORN] >= 0).all()
            and ((features >= 0) & (features < max(1, width))).all()
            and ((labels >= 0) & (labels < max(1, classes))).all()
        )


def _means(views: Views, begin: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return each fern's mean weight over so many cells, counted by mass; evenly without any.

    That of a single cell is its own weight, whatever its mass.
    """
    at = np.arange(len(begin))[:, None], begin[:, None] + np.arange(size)
    mass = views["mass"][at].astype(np.float64)
    mass[mass.sum(axis=1) <= 0] = 1.0
    share = mass / mass.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("fl,fl...->f...", share, views["weights"][at]))


#: Relative step sizes beside other members: one or two are as good as six there, on the mean of
#: the streams, and cost a fraction.
FERN_STEPS = (5.0,)


def of_size(size: int, seed: int) -> Member:
    """Make a ferns member."""
    return Ferns(
        n_ferns=size,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        seed=seed,
        steps=FERN_STEPS,
    )
