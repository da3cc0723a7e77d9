"""The Pegasos member: its sizes, its first state, how it grows, and how machines are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import EPSILON_INSENSITIVE, HINGE, curvature_of
from stream_llsvm.kernels.surprise import FORGOTTEN
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.clocks import merged_clock, sound_clock
from stream_llsvm.members.family.pegasos import kernel, steps
from stream_llsvm.members.pooling import Part, Parted, mean_of

#: No weight is greater, unless somebody has made a file up.
_GREATEST = 1e100
#: What changes its sign where the second of two classes is scored instead of the first.
_SIGNED = ("weights", "bias", "slope", "slope_bias")


@dataclass(frozen=True, kw_only=True)
class Pegasos(Member):
    """One linear machine a class, or one for numbers if ``loss`` is one of theirs.

    See ``members/family/pegasos/steps.py``.
    """

    l2: float = 1e-2
    batch_size: int = 1
    projection: bool = True
    loss: int = HINGE
    t0: int = 0
    #: Whether steps grow again while its losses surprise it.
    forgets: bool = True
    #: Of losses of numbers.
    epsilon: float = 0.0

    kernels = Kernels(kernel.run)
    state = kernel.PegasosState

    @property
    def name(self) -> str:
        return f"linear:{self.batch_size}"

    def experts(self, width: int, columns: int) -> int:
        return 1

    def cost(self, width: int, columns: int) -> int:
        return 2 * width * columns

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {
            "machines": columns,
            "loss": self.loss,
            "batch_size": self.batch_size,
            "projection": int(self.projection),
            "forgets": int(self.forgets),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["scale"][:] = 1
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        views["head"][[steps.L2, steps.EPSILON, steps.T0]] = self.l2, self.epsilon, self.t0

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return [0]

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one; the machine of two classes becomes one for each."""
        for name in ("head", "clock", "scale", "norm", *_SIGNED):
            new[name][tuple(slice(0, extent) for extent in old[name].shape)] = old[name]
        one, more = before[1], after[1]
        if one == more:
            return
        new["clock"][:FORGOTTEN] = 0  # with one class more other losses are usual
        if one == 1:
            for name in _SIGNED:
                new[name][1] = new[name][0]
                new[name][0] *= -1
            new["scale"][1], new["norm"][1] = new["scale"][0], new["norm"][0]
        # A class that nobody has seen would have been every record's "not this one".
        first, seen = max(2, one), old["head"][steps.STEPS] > 0
        new["bias"][first:], new["norm"][first:] = (-1, 1) if seen else (0, 0)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores apart: each feature adds its weight times its value."""
        weights, bias = _plain(views)
        return Parts((weights * z)[None], weights[None].copy(), bias[None])

    def square(self, views: Views) -> float:
        weights, bias = _plain(views)
        return float(np.square(weights).sum() + np.square(bias).sum())

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the models' mean machine, each counted by the steps it has taken.

        With steps of 1 / t, which all losses of classes without a curvature have, a machine is the
        mean of all that has pushed it, and so is the merged one. Of batches that are held the mean
        is held, too.
        """
        taken = models.each("head", steps.STEPS)
        shares = models.shares(taken)
        pushed = models.by_rows(np.stack(taken) + self.t0 - 1).means
        exact = self.loss < EPSILON_INSENSITIVE and curvature_of.py_func(self.loss) == 0
        moved = [_moved(part) for part in models.parts]
        for i, name in enumerate(_SIGNED):
            weighed = pushed if exact and name in ("weights", "bias") else shares
            out[name][:] = mean_of(weighed, [each[i] for each in moved])
        out["scale"][:] = 1
        out["norm"][:] = np.square(out["weights"]).sum(axis=1) + np.square(out["bias"])
        heads = models.each("head")
        out["head"][:] = mean_of(shares, heads)
        counts = [steps.SEEN, steps.STEPS]
        out["head"][counts] = models.counted("head", counts)
        out["head"][steps.HELD] = np.floor(mean_of(shares, models.each("head", steps.HELD)))
        out["clock"][:] = merged_clock(models, out["head"][steps.STEPS], taken)
        self.go_live(out)  # a mean of settings may be off by its last bit

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Say class ``i`` for ``codes[i]`` in what does not change its sign with the classes."""
        for name in ("scale", "norm"):
            if len(views[name]) > 1:
                views[name][:] = views[name][codes]

    def sound(self, views: Views) -> bool:
        head, weights, bias = views["head"], views["weights"], views["bias"]
        counts = head[[steps.SEEN, steps.STEPS, steps.HELD]]
        parts = (weights, bias, views["norm"], views["scale"], views["slope"], views["slope_bias"])
        return bool(
            (head >= 0).all()
            and (views["norm"] >= 0).all()
            and (views["scale"] > 0).all()
            and all((np.abs(part) < _GREATEST).all() for part in parts)
            and ((counts < 2.0**53) & (counts == np.floor(counts))).all()
            and head[steps.HELD] < max(2, self.batch_size)
            and sound_clock(views["clock"], head[steps.STEPS])
        )


def _plain(views: Views) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each machine's weights, and its bias."""
    return views["scale"][:, None] * views["weights"], views["scale"] * views["bias"]


def _moved(part: Part) -> tuple[NDArray[np.float64], ...]:
    """Return a model's machines, and what its batch adds, over the merged model's scales."""
    own, units = part.views, part.units
    weights, bias = _plain(own)
    slope, slope_bias = own["slope"], own["slope_bias"]
    factor, offset = part.rescale.factor, part.rescale.offset
    if not part.rescale.is_none:
        weights, bias = weights * factor, bias + weights @ offset
        # The batch's is a sum over records, and z = (z_old - offset) / factor.
        slope = slope - slope_bias[:, None] * offset
        slope = np.divide(slope, factor, out=np.zeros_like(slope), where=factor != 0)
    moved = (weights, bias, slope, slope_bias)
    weights, bias, slope, slope_bias = (units.factor * part for part in moved)
    return weights, bias + units.offset, slope, slope_bias


def of_size(size: int, seed: int) -> Member:
    """Make a linear machine by Pegasos that steps once in so many records."""
    return Pegasos(batch_size=size)
