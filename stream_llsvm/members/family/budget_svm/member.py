"""The budget member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import HINGE, OVR
from stream_llsvm.kernels.surprise import FORGOTTEN
from stream_llsvm.members.base import Member, Parts, Shape, Stepping, Views
from stream_llsvm.members.clocks import sound_clock
from stream_llsvm.members.family.budget_svm import kernel
from stream_llsvm.members.family.budget_svm.maintenance import MERGING, POWER

#: Widths that stand side by side: factors of gamma, each four times the one before.
WIDTHS = (0.5, 2.0, 8.0)
_FLOATS = 2**22


@dataclass(frozen=True, kw_only=True)
class Budgeted(Stepping):
    """Kernelised Pegasos with bounded support vectors. See ``members/family/budget_svm/kernel.py``.

    Its ``steps`` are widths of the RBF, not step sizes.
    """

    most: int = 200
    maintenance: int = MERGING
    #: Of the RBF; 0 is found from the usual distance, times the widths' factors.
    gamma: float = 0.0
    l2: float = 1e-4
    #: How far the first steps are shortened; below 0 it is 1 / l2, so that they begin at 1.
    t0: float = -1.0
    steps: tuple[float, ...] = WIDTHS
    averaged: bool = False
    #: Whether steps grow again while its errors surprise it.
    forgets: bool = True

    kernels = Kernels(kernel.run)
    capped = True
    state = kernel.BudgetState

    @property
    def attributes(self) -> bool:
        """Return False: no part of a similarity is one feature's."""
        return False

    @property
    def name(self) -> str:
        return f"pegasos:{self.most}"

    def vectors(self, width: int) -> int:
        """Return how many support vectors of this width there may be."""
        return min(self.most, max(2, _FLOATS // max(1, width)))

    def rung_cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record of one width, to score it."""
        return self.vectors(width) * columns

    def search_cost(self, width: int) -> int:
        """Return the multiply-adds per record that all widths share."""
        return self.vectors(width) * width

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: the factor of gamma."""
        return [f"gamma x {s:g}" for s in self.rungs(width, columns)]

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {
            "n_vectors": self.vectors(width),
            "rungs": self.experts(width, columns),
            "loss": self.loss,
            "multiclass": self.multiclass,
            "maintenance": self.maintenance,
            "forgets": int(self.forgets),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        width, columns = views["vectors"].shape[1], views["bias"].shape[1]
        factor = self.rungs(width, columns)[0]
        t0 = self.t0 if self.t0 >= 0 else 1 / self.l2
        views["settings"][:] = self.l2, t0, factor * self.gamma, factor

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: more features, more classes, maybe fewer vectors."""
        kept = self.kept_experts(before, after)
        new["running"][:], new["clock"][:] = old["running"], old["clock"]
        if before[1] != after[1]:
            new["clock"][:FORGOTTEN] = 0  # with one class more other losses are usual
        held = int(old["running"][kernel.HELD])
        newest = np.sort(np.argsort(old["stamps"][:held], kind="stable")[-len(new["vectors"]) :])
        n = len(newest)
        new["running"][kernel.HELD] = n
        new["vectors"][:n, : before[0]] = old["vectors"][newest]
        for name in ("norms", "stamps"):
            new[name][:n] = old[name][newest]
        self.widen(new["coefficients"][:n], old["coefficients"][newest][:, kept], 2)
        self.widen(new["bias"], old["bias"][kept], 1)
        if old["running"][kernel.SEEN] > 0:
            # A class that nobody has seen would have been every record's "not this one".
            margin = -1 / _scale(old)
            new["bias"][:, max(2, before[1]) : after[1]] = margin

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart.

        No part of a similarity is one feature's: the score is the rest, and the slopes are its
        gradient.
        """
        held = int(views["running"][kernel.HELD])
        vectors = views["vectors"][:held].astype(np.float64)
        apart = vectors - z
        squared = np.square(apart).sum(axis=1)
        gammas = _gamma(views, squared) * POWER ** np.arange(len(views["bias"]))
        scale = _scale(views)
        alpha = scale * views["coefficients"][:held].astype(np.float64)
        shares = np.exp(-gammas * squared[:, None])
        rest = scale * views["bias"] + np.einsum("vec,ve->ec", alpha, shares)
        slopes = np.einsum("vec,ve,e,vi->eci", alpha, shares, 2 * gammas, apart)
        return Parts(np.zeros_like(slopes), slopes, rest)

    def square(self, views: Views) -> float:
        """Return the sum of the squares of its coefficients."""
        scale = _scale(views)
        parts = views["coefficients"].ravel(), views["bias"].ravel()
        return scale * scale * sum(float(np.dot(part, part)) for part in parts)

    def sound(self, views: Views) -> bool:
        running = views["running"]
        counts = running[[kernel.SEEN, kernel.HELD, kernel.MADE]]
        return bool(
            ((counts >= 0) & (counts < 2.0**53) & (counts == np.floor(counts))).all()
            and running[kernel.HELD] <= len(views["vectors"])
            and running[kernel.SPREAD] >= 0
            and (views["norms"] >= 0).all()
            and (views["stamps"] >= 0).all()
            and sound_clock(views["clock"], running[kernel.SEEN])
        )


def _scale(views: Views) -> float:
    l2, t0 = views["settings"][[kernel.L2, kernel.T0]]
    t = views["running"][kernel.SEEN] - views["clock"][FORGOTTEN]
    return float(1 / (l2 * (max(1.0, t) + t0)))


def _gamma(views: Views, squared: NDArray[np.float64]) -> float:
    """Return the widest kernel's gamma, given the squared distances to a record."""
    told, factor = views["settings"][[kernel.GAMMA, kernel.BELL]]
    usual = views["running"][kernel.SPREAD] or (squared.mean() if len(squared) else 0.0)
    found = factor / usual if usual > 0 else 0.0
    return float(told if told > 0 else found)


def of_size(size: int, seed: int) -> Member:
    """Make a kernelised Pegasos with at most that many support vectors."""
    return Budgeted(most=size, loss=HINGE, multiclass=OVR)
