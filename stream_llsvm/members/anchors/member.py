"""The anchors member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.anchors import kernel as anchors
from stream_llsvm.members.anchors import merge, together
from stream_llsvm.members.anchors import state as kernel
from stream_llsvm.members.anchors.codes import RECONSTRUCTION, SOFTMAX
from stream_llsvm.members.base import Member, Parts, Shape, Stepping, Views, by_expert
from stream_llsvm.members.kmeans import kmeans
from stream_llsvm.members.pooling import Parted

#: Relative step sizes that stand side by side. Two rungs are as good as three (mean accuracy over
#: eleven streams) and cost two thirds; one, the long step, comes within half a point.
LADDER = (0.5, 5.0)
#: Where |v|^2 is above so many times the mean |x|^2, passes over history drive an anchor no farther
#: out: few anchors would drive each other out of the data, and codes alone, without weights, are
#: spoilt by what is far out when steps are long again.
_OUTERMOST = 2.0
#: What history has placed where it helps, live k-means follows at such a share of its pace.
_PLACED_PACE = 0.1


@dataclass(frozen=True, kw_only=True)
class Anchors(Stepping):
    """Linear machines over local codes. See ``members/anchors/kernel.py``."""

    n_anchors: int
    n_neighbors: int
    coding: int
    schedule: int
    supervised: bool
    flat: bool
    common_share: float
    l2: float
    t0: float
    skip: int
    sharpness: float = 2.0
    anchor_step: float = 0.1
    patience: float = 10.0
    #: The supervised step in passes over history, beside that on weights.
    rehearsed_step: float = 0.35
    #: There averages forget sooner: what weights were in early passes shall not be in them.
    rehearsed_floor: float = 0.01
    cluster_floor: float = 0.01
    #: How many times as far as LL(12) says a bias goes in a step.
    bias_step: float = 1.0
    #: Whether some columns are phi(x), for the machines only, and the others for the codes only.
    mapped: bool = False

    kernels = Kernels(anchors.run, together.run)
    capped = True
    state = kernel.AnchorState
    reads_pieces = True

    @property
    def answers_together(self) -> bool:  # type: ignore[override]
        """Whether ``members/anchors/together.py`` knows its codes."""
        return not self.mapped and self.coding != RECONSTRUCTION

    @property
    def name(self) -> str:
        return f"anchors:{self.n_anchors}"

    @property
    def attributes(self) -> bool:
        """Return whether features count at all: a flat machine's answer is its anchors' alone."""
        return not self.flat

    def rung_cost(self, width: int, columns: int) -> int:
        machine = (1 if self.flat else width) * columns * self.copies
        return machine * (self.n_neighbors + 1)

    def search_cost(self, width: int) -> int:
        k = self.n_neighbors if self.coding == RECONSTRUCTION else 0
        return self.n_anchors * width + k * (k - 1) // 2 * width

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        rungs = self.rungs(width, columns)
        machines = self.n_anchors + (self.common_share > 0)
        solved = self.n_neighbors if self.coding == RECONSTRUCTION else 0
        return {
            "settings": kernel.STEPS + len(rungs),
            "anchors": self.n_anchors,
            "machines": machines,
            "neighbours": self.n_neighbors,
            "reach": self.n_neighbors + machines - self.n_anchors,
            "copies": self.copies,
            "rungs": len(rungs),
            "loss": self.loss,
            "multiclass": self.multiclass,
            "coding": self.coding,
            "schedule": self.schedule,
            "supervised": int(self.supervised),
            "machine_width": 0 if self.flat else width,
            "gram_rows": solved,
            "gram_columns": solved + 1,
            "mapped_width": width if self.mapped else 0,
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        self.begin_settings(views)
        views["raw_scale"][:] = 1
        if self.common_share > 0:
            views["keep"][-1] = 1
            views["gain"][-1] = 1

    def begin_settings(self, views: Views) -> None:
        """Fill in the settings of a live model."""
        placed = views["running"][kernel.PLACED] > 0
        floor = self.cluster_floor * (_PLACED_PACE if placed else 1)
        # fmt: off
        views["settings"][:] = (
            self.sharpness, self.common_share, self.anchor_step, self.patience, 1.0,
            floor, self.average_floor, self.l2, self.t0, self.skip, self.bias_step,
            *self.rungs(*self._shape_of(views)),
        )
        # fmt: on

    def _shape_of(self, views: Views) -> Shape:
        return views["positions"].shape[1], views["biases"].shape[3]

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        rungs = self.rungs(*before)
        kept = [rungs.index(s) for s in self.rungs(*after)]
        for name in ("running", "facts", "gain"):
            new[name][:] = old[name]
        self.begin_settings(new)
        new["positions"][:, : before[0]] = old["positions"]
        new["mapped"][: len(old["mapped"])] = old["mapped"]
        new["hits"][:] = old["hits"][self.kept_experts(before, after)]
        new["raw_scale"][:] = old["raw_scale"][kept]
        new["keep"][:] = old["keep"][:, kept]
        width = old["weights"].shape[-1]
        # Where all rungs go on, their weights, which may be most of the model, are copied once.
        which = kept if len(kept) < len(rungs) else slice(None)
        self.widen(new["weights"][..., :width], old["weights"][:, :, which], 3)
        self.widen(new["biases"], old["biases"][:, :, which], 3)
        # A class that nobody has seen would have been every record's "not this one": the machines
        # that have answered records begin at the margin against it.
        born = int(old["running"][kernel.N_ANCHORS])
        new["biases"][:born, :, :, max(2, before[1]) : after[1]] = -1

    def place(
        self, views: Views, sample: Callable[[], NDArray[np.float32]], rng: np.random.Generator
    ) -> None:
        """Put the anchors of a model that has none where k-means finds the sample's clusters."""
        z = sample()
        if self.mapped:
            z[:, views["mapped"][: z.shape[1]] > 0] = 0
        views["running"][kernel.REACH] = _OUTERMOST * float((z * z).sum(axis=1).mean())
        if views["running"][kernel.N_ANCHORS] > 0:
            return
        centres, counts = kmeans(z, self.n_anchors, rng)
        born = len(centres)
        views["running"][kernel.N_ANCHORS] = born
        views["positions"][:born, : centres.shape[1]] = centres
        views["facts"][kernel.ZOOM, :born] = 1
        views["facts"][kernel.NORM, :born] = (centres * centres).sum(axis=1)
        views["facts"][kernel.VISITS, :born] = 1 + counts
        views["keep"][:born] = views["raw_scale"]
        views["gain"][:born] = 1

    def slow_down(self, views: Views, left: float) -> None:
        """Take steps of so much of their length; k-means has placed the anchors, and is over.

        Anchors take steps relative to their gradient, as weights do, SAPL(16) to (18): the mass
        that live slows them down is no measure of how far they still have to go. They come to rest
        before the weights do.
        """
        settings = views["settings"]
        settings[kernel.CLUSTERING] = 0
        if self.schedule != kernel.LADDER:
            return
        settings[kernel.STEPS :] = self.rungs(*self._shape_of(views))
        settings[kernel.STEPS :] *= left
        settings[kernel.ANCHOR_STEP] = self.rehearsed_step * left
        settings[kernel.PATIENCE] = 0
        settings[kernel.AVERAGE_FLOOR] = self.rehearsed_floor
        if self.supervised:
            views["running"][kernel.PLACED] = 1
            # An anchor of few visits would first follow live k-means at 1 / visits.
            visits = views["facts"][kernel.VISITS, : int(views["running"][kernel.N_ANCHORS])]
            np.maximum(visits, 1 / (_PLACED_PACE * self.cluster_floor), out=visits)

    def go_live(self, views: Views) -> None:
        self.begin_settings(views)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart: w(x) . x + b(x), LL(6).

        w(x) is the blend of the anchors' weights, SAPL(8), and b(x) of their biases, SAPL(9).
        """
        n = int(views["found"][0]) + (self.common_share > 0)
        near, code = views["near"][:n], views["shares"][2, :n].astype(np.float64)
        weights = by_expert(np.einsum("j,j...->...", code, self._machines(views, near)))
        biases = np.einsum("j,j...->...", code, views["biases"][near].astype(np.float64))
        return Parts(weights * z, weights, by_expert(biases))

    def plain_weights(
        self, views: Views, which: slice | NDArray[np.int64] = slice(None)
    ) -> NDArray[np.float64]:
        """Return (machines, copies, rungs, columns, width): weights without their scales.

        A flat member has none, and a width of 0.
        """
        held = views["weights"][which].astype(np.float64)
        weights = np.zeros_like(held)
        weights[:, 0] = held[:, 0] * views["raw_scale"][None, :, None, None]
        if self.averaged:
            keep = views["keep"][which].astype(np.float64)[:, :, None, None]
            gain = views["gain"][which].astype(np.float64)[:, None, None, None]
            weights[:, 1] = keep * held[:, 0] + gain * held[:, 1]
        return weights

    def _machines(self, views: Views, which: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return plain weights of as many features as the model has, all 0 if it is flat."""
        weights = self.plain_weights(views, which)
        return (
            np.zeros((*weights.shape[:-1], views["positions"].shape[-1])) if self.flat else weights
        )

    def anchors(
        self, views: Views
    ) -> Iterator[tuple[NDArray[np.float64], float, NDArray[np.float64], NDArray[np.float64]]]:
        facts = views["facts"].astype(np.float64)
        for a in range(int(views["running"][kernel.N_ANCHORS])):
            weights = self._machines(views, np.array([a]))[0]
            biases = views["biases"][a].astype(np.float64)
            yield (
                facts[kernel.ZOOM, a] * views["positions"][a],
                float(facts[kernel.MASS, a]),
                by_expert(weights),
                by_expert(biases),
            )

    def masses(self, views: Views) -> NDArray[np.float64]:
        born = int(views["running"][kernel.N_ANCHORS])
        return np.asarray(views["facts"][kernel.MASS, :born].astype(np.float64))

    def positions(
        self, views: Views, which: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        zoom = views["facts"][kernel.ZOOM, which].astype(np.float64)
        return np.asarray(zoom[:, None] * views["positions"][np.ix_(which, columns)])

    def blended(
        self, views: Views, which: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return some anchors' machines, all experts added up, each with a strength.

        The common machine's share is among it: it is what a record would be answered with that
        lies on the anchor, far from all others. Weights are (anchors, columns, width), biases
        (anchors, columns).
        """
        own = self._added_up(views, which, strength)
        if self.common_share == 0:
            return own
        common = self._added_up(views, np.array([self.n_anchors]), strength)
        share = views["settings"][kernel.COMMON_SHARE]
        return own[0] + np.float32(share) * common[0], own[1] + share * common[1]

    def _added_up(
        self, views: Views, which: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Add up experts without laying out the weights of each, which may be many."""
        weights, biases = views["weights"], views["biases"]
        copies, rungs, columns, width = weights.shape[1:]
        by_copy = strength.reshape(copies, rungs)
        # Averaged weights are kept in two parts; see members/anchors/machines.py.
        factors = np.zeros((len(which), copies, rungs))
        factors[:, 0] = by_copy[0] * views["raw_scale"]
        if self.averaged:
            factors[:, 0] += by_copy[1] * views["keep"][which]
            factors[:, 1] = by_copy[1] * views["gain"][which][:, None]
        each = factors.reshape(len(which), 1, copies * rungs).astype(np.float32)
        if self.flat:
            summed = np.zeros((len(which), columns, views["positions"].shape[1]), np.float32)
        else:
            parts = weights[which].reshape(len(which), copies * rungs, columns * width)
            summed = (each @ parts).reshape(len(which), columns, width)
        flat = biases[which].reshape(len(which), copies * rungs, columns)
        return summed, np.einsum("e,nec->nc", strength, flat.astype(np.float64))

    def answering(self, views: Views) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        n = int(views["found"][0])
        return views["near"][:n].copy(), np.asarray(views["shares"][2, :n].astype(np.float64))

    def moves(self, views: Views) -> int:
        return int(views["running"][kernel.MOVES])

    def square(self, views: Views) -> float:
        total = float(np.square(views["biases"][:, 0].astype(np.float64)).sum())
        for r, scale in enumerate(views["raw_scale"].tolist()):
            raw = views["weights"][:, 0, r].ravel()
            total += scale * scale * float(np.dot(raw, raw))
        return total

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the mean of the models' anchors, if they share them."""
        merge.merge(self, models, out)

    def sound(self, views: Views) -> bool:
        running, facts = views["running"], views["facts"]
        n_anchors = running[kernel.N_ANCHORS]
        if not (0 <= n_anchors <= self.n_anchors and n_anchors == int(n_anchors)):
            return False
        born = int(n_anchors)
        return bool(
            (running >= 0).all()
            and ((views["raw_scale"] > 0) & (views["raw_scale"] <= 1)).all()
            and (facts[kernel.ZOOM, :born] != 0).all()
            and (facts[[kernel.NORM, kernel.VISITS, kernel.MASS]] >= 0).all()
            and (views["hits"] >= 0).all()
            and ((views["gain"] >= 0) & (views["gain"] <= 1)).all()
            and (views["gain"][:born] > 0).all()
            and np.isin(views["mapped"], (0, 1)).all()
        )


#: Relative step sizes beside other members: one or two are as good as six there, on the mean of
#: the streams, and cost a fraction.
LINEAR_STEPS = (0.5, 5.0)
ANCHOR_STEPS = (3.0,)
NEIGHBORS = 8
#: The supervised step in a warm start, shorter than alone: letter is 0.3 points better.
REHEARSED_STEP = 0.1


def of_size(size: int, seed: int) -> Member:
    """Make an anchors member."""
    return Anchors(
        n_anchors=size,
        n_neighbors=min(NEIGHBORS, size),
        coding=SOFTMAX,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        schedule=kernel.LADDER,
        steps=LINEAR_STEPS if size == 1 else ANCHOR_STEPS,
        averaged=True,
        supervised=size > 1,
        flat=False,
        common_share=0.0,
        l2=0.0,
        t0=1_000,
        skip=100,
        rehearsed_step=REHEARSED_STEP,
    )
