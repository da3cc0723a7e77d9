"""The waves member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted, mean_of
from stream_llsvm.members.waves import kernel

#: Frequencies that there is time for: wider models have no waves.
_FREQUENCIES = 2**15


@dataclass(frozen=True, kw_only=True)
class Waves(Member):
    """Least squares over random Fourier features. See ``members/waves/kernel.py``."""

    n_waves: int = 128
    seed: int = 0

    kernels = Kernels(kernel.run)
    capped = True
    pace = 0.03
    state = kernel.WavesState

    @property
    def name(self) -> str:
        return f"waves:{self.n_waves}"

    def waves(self, width: int) -> int:
        """Return how many waves there are for records of this width: all or none."""
        return self.n_waves if self.n_waves * width <= _FREQUENCIES else 0

    def experts(self, width: int, columns: int) -> int:
        return 1 if self.waves(width) > 0 else 0

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call its score; a model that is too wide has none."""
        return [""][: self.experts(width, columns)]

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record, of which one in four is learned."""
        waves = self.waves(width)
        return waves * (width + columns + (2 * waves + columns) // 4)

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {"waves": self.waves(width)}

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first: each feature's frequencies are its column's own."""
        waves = self.waves(width)
        if waves == 0:
            return
        np.fill_diagonal(views["variance"], kernel.FIRST)
        views["phases"][1:] = np.random.default_rng(self.seed).random(waves)[1:]
        for column in range(width):
            views["frequencies"][column, 1:] = _frequencies(self.seed, column, waves)

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return list(range(self.experts(*new)))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one; a model that has become too wide has no waves left."""
        new["running"][:] = old["running"]
        if self.waves(after[0]) == 0:
            return
        new["frequencies"][: before[0]] = old["frequencies"]
        new["variance"][:] = old["variance"]
        if before[1] == after[1] or before[1] > 1:
            new["weights"][: before[1]] = old["weights"]
            return
        # Targets of -1 and 1 become 0 and 1, and the first wave is the bias.
        new["weights"][0], new["weights"][1] = -0.5 * old["weights"][0], 0.5 * old["weights"][0]
        new["weights"][:2, 0] += 0.5 if old["running"][kernel.SEEN] > kernel.YOUNG else 0.0

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart.

        On the straight way from the mean record, where all is 0, to this one each feature turns a
        wave by its own part of the angle; how the wave rises and falls on the way is shared out in
        proportion. These are integrated gradients, exact: they add up to the whole way, and what a
        wave is at the mean record is the rest.
        """
        weights = views["weights"].astype(np.float64)
        if weights.shape[1] == 0:
            nothing = np.zeros((0, len(weights), len(z)))
            return Parts(nothing, nothing, nothing[:, :, 0])
        frequencies = views["frequencies"].astype(np.float64)
        rates = 2 * np.pi * frequencies / np.sqrt(views["running"][kernel.SPREAD] + 1e-9)
        begin, way = 2 * np.pi * views["phases"].astype(np.float64), z @ rates
        slopes = -(weights * np.sin(begin + way)) @ rates.T
        # (cos(begin + way) - cos(begin)) / way, also where there is no way at all.
        steepness = -np.sin(begin + way / 2) * np.sinc(way / (2 * np.pi))
        of_features = ((weights * steepness) @ rates.T) * z
        return Parts(of_features[None], slopes[None], (weights @ np.cos(begin))[None])

    def square(self, views: Views) -> float:
        return float(np.square(views["weights"].astype(np.float64)).sum())

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the models' mean, each counted by what it has seen.

        Features that appeared in another order have other waves, whose weights have no mean: then
        the model that has seen the most is taken. Scales are taken for the same: where they have
        changed, the waves are a little longer or shorter than they were.
        """
        seen = models.each("running", kernel.SEEN)
        first = models.parts[0].views
        same = all(
            np.array_equal(part.views[name], first[name])
            for part in models.parts[1:]
            for name in ("frequencies", "phases")
        )
        shares = models.shares(seen)
        if not same:
            shares = np.eye(len(models.parts))[int(np.argmax(seen))]
        for name in ("running", "frequencies", "phases", "weights", "variance"):
            out[name][:] = mean_of(shares, models.each(name))
        out["running"][kernel.SEEN] = models.counted("running", kernel.SEEN)

    def sound(self, views: Views) -> bool:
        variance = views["variance"]
        certain = np.diagonal(variance) >= 0
        return bool(
            (views["running"] >= 0).all()
            and certain.all()
            and (np.abs(variance) < 2 * kernel.FIRST).all()  # it falls, but for roundings
        )


@lru_cache(4_096)
def _frequencies(seed: int, column: int, waves: int) -> NDArray[np.float64]:
    """Return the frequencies of a column, of all waves but the first; nobody may write into it."""
    normal = np.random.default_rng((seed, column)).standard_normal(waves)
    return np.asarray(normal[1:] / (2 * np.pi))


def of_size(size: int, seed: int) -> Member:
    """Make a waves member: least squares over so many random Fourier features."""
    return Waves(n_waves=size, seed=seed)
