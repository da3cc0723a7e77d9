"""The landmarks member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.anchors.state import MASS, NORM, VISITS, ZOOM
from stream_llsvm.members.base import Member, Parts, Shape, Views, by_expert
from stream_llsvm.members.cells import Cells
from stream_llsvm.members.family.landmarks import kernel
from stream_llsvm.members.family.landmarks.projection import LINEAR, PRINCIPAL, RANDOM, RBF
from stream_llsvm.members.kmeans import kmeans

#: As many landmarks as there are features, and no more than this, unless the user says so. How far
#: the true risk may be above the measured one grows with their number: L3(1), L3(2), L3(3) and
#: L3(4) make the machine's stability c L M^2 / m, L3(5) and L3(6) bound its loss.
USUAL = 100
_FLOATS = 2**22
#: Multiply-adds a record that learning the components may cost.
_COMPONENT_BUDGET = 2**15
_WIDEST_SOLVED = 1_024


@dataclass(frozen=True, kw_only=True)
class Landmarks(Cells):
    """A linear machine per cluster over landmarks. See ``members/family/landmarks/kernel.py``."""

    n_clusters: int = 30
    n_landmarks: int = 0  # 0: as many as are usual
    projection: int = LINEAR
    choice: int = PRINCIPAL
    #: Of the RBF: its width, relative to the usual squared distance.
    bell: float = 1.0
    #: The penalty on a cluster's weights, taken with each of its records.
    l2: float = 0.0
    steps: tuple[float, ...] = (1.0, 10.0)
    seed: int = 0

    kernels = Kernels(kernel.run)
    state = kernel.LandmarksState

    @property
    def name(self) -> str:
        return f"landmarks:{self.n_clusters}"

    def landmarks(self, width: int) -> int:
        """Return how many landmarks there are for records of this width.

        More directions than features say nothing more.
        """
        wanted = self.n_landmarks or USUAL
        if self.projection == LINEAR:
            wanted = min(wanted, width)
        return min(wanted, max(1, _FLOATS // max(1, width)))

    def directions(self, width: int) -> int:
        """Return how many components are learned.

        None where there are as many landmarks as features: then any orthonormal basis gives the
        same machine (L3 section 2.1), and the axes are one.
        """
        n = self.landmarks(width)
        return n if self.choice == PRINCIPAL and n < width else 0

    @property
    def attributes(self) -> bool:
        """Return whether the similarities are linear: no part of others is one feature's."""
        return self.projection == LINEAR

    def rung_cost(self, width: int, columns: int) -> int:
        return self.landmarks(width) * columns * self.copies

    def search_cost(self, width: int) -> int:
        learned = min(_COMPONENT_BUDGET, 3 * self.directions(width) * width)
        return (self.n_clusters + self.landmarks(width)) * width + learned

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return super().sizes(width, columns) | {
            "clusters": self.n_clusters,
            "n_landmarks": self.landmarks(width),
            "directions": self.directions(width),
            "pause": 1 + 3 * self.directions(width) * width // _COMPONENT_BUDGET,
            "projection": self.projection,
            "choice": self.choice,
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["source"][0] = self.seed
        if self._of_axes(width):
            np.fill_diagonal(views["landmarks"], 1)
            views["norms"][:] = 1
            views["running"][kernel.HELD] = width
        self.go_live(views)

    def _of_axes(self, width: int) -> bool:
        return self.choice == PRINCIPAL and self.directions(width) == 0

    def width_of(self, views: Views) -> int:
        """Return how many features the state has room for."""
        return int(views["positions"].shape[1])

    def go_live(self, views: Views) -> None:
        self.set_up(views)
        views["form"][:] = self.bell, self.l2
        views["running"][kernel.RESTING] = 0

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Prepare for passes over history: clusters and landmarks stay, once all are found."""
        running = views["running"]
        found = running[kernel.BORN] == self.n_clusters
        found &= running[kernel.HELD] == len(views["landmarks"])
        running[kernel.RESTING] = 1 if found else 0

    def place(
        self, views: Views, sample: Callable[[], NDArray[np.float32]], rng: np.random.Generator
    ) -> None:
        """Find the clusters and landmarks of a model that has none in a sample of history."""
        running = views["running"]
        if running[kernel.BORN] > 0:
            return
        z = sample()
        centres, counts = kmeans(z, self.n_clusters, rng)
        born, width = centres.shape
        running[kernel.BORN] = born
        views["positions"][:born, :width] = centres
        views["facts"][ZOOM, :born] = 1
        views["facts"][NORM, :born] = (centres * centres).sum(axis=1)
        views["facts"][VISITS, :born] = 1 + counts
        running[kernel.OFFERED] = max(kernel.YOUNG, len(z))
        most = len(views["landmarks"])
        if self.choice == RANDOM:
            told = z[(z != 0).any(axis=1)]
            chosen = told[rng.permutation(len(told))[:most]]
            self._settle(views, chosen)
            if self.projection == RBF:
                # The passes to come need it: while landmarks rest, nothing measures it.
                running[kernel.SPREAD] = _mean_square_between(z, chosen)
        elif len(views["components"]) > 0 and width <= _WIDEST_SOLVED:
            values, vectors = np.linalg.eigh(z.T.astype(np.float64) @ z / len(z))
            kept = [i for i in np.argsort(-values)[:most] if values[i] > 1e-9 * values.max()]
            views["components"][: len(kept), :width] = (vectors[:, kept] * values[kept]).T
            running[kernel.FOUND] = len(kept)
            running[kernel.NEXT] = running[kernel.OFFERED] + kernel.LONGEST
            self._settle(views, vectors[:, kept].T)

    def _settle(self, views: Views, chosen: NDArray[np.float32]) -> None:
        """Let these be the landmarks."""
        n, width = chosen.shape
        views["landmarks"][:n, :width] = chosen
        views["norms"][:n] = np.square(views["landmarks"][:n].astype(np.float64)).sum(axis=1)
        views["running"][kernel.HELD] = n

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        rungs, width = self.kept_rungs(before, after), before[0]
        for name in ("running", "source", "facts"):
            new[name][:] = old[name]
        new["positions"][:, :width] = old["positions"]
        n = min(len(old["landmarks"]), len(new["landmarks"]))
        new["landmarks"][:n] = 0
        new["landmarks"][:n, :width] = old["landmarks"][:n]
        new["norms"][:n] = old["norms"][:n]
        held = min(n, int(old["running"][kernel.HELD]))
        new["running"][kernel.HELD] = after[0] if self._of_axes(after[0]) else held
        found = min(len(old["components"]), len(new["components"]))
        new["components"][:found, :width] = old["components"][:found]
        found = min(found, int(old["running"][kernel.FOUND]))
        new["running"][kernel.FOUND] = found
        if self.directions(after[0]) > found:
            # They were the axes, or have room for more: what is missing is learned first.
            new["running"][kernel.NEXT] = old["running"][kernel.OFFERED] + kernel.YOUNG
        self.widen(new["weights"][:, :n], old["weights"][:, :n][:, :, :, rungs], 4)
        self.carry_bias(old, new, before, after, begun=old["running"][kernel.SEEN] > 0)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart.

        Linear landmarks make a linear machine, theta_k L. With others no part of a similarity is
        one feature's: the score is the rest, and the slopes are its gradient.
        """
        k, n = max(0, int(views["found"][0])), int(views["found"][1])
        theta = views["weights"][k, :n].astype(np.float64)
        landmarks = views["landmarks"][:n].astype(np.float64)
        norms, bias = views["norms"][:n], views["bias"].astype(np.float64)
        if self.projection == LINEAR:
            unit = np.divide(landmarks, np.sqrt(norms)[:, None], out=np.zeros_like(landmarks),
                             where=norms[:, None] > 0)  # fmt: skip
            slopes = by_expert(np.einsum("p...,pi->...i", theta, unit))
            return Parts(slopes * z, slopes, by_expert(bias))
        shares = views["shares"][:n].astype(np.float64)
        rest = by_expert(bias + np.einsum("p...,p->...", theta, shares))
        usual = self.bell * float(views["running"][kernel.SPREAD])
        factors = 2 / usual * shares if usual > 0 else np.zeros(n)
        slopes = by_expert(np.einsum("p...,p,pi->...i", theta, factors, landmarks - z))
        return Parts(np.zeros_like(slopes), slopes, rest)

    def sound(self, views: Views) -> bool:
        running, facts = views["running"], views["facts"]
        most = {
            kernel.BORN: len(views["positions"]),
            kernel.HELD: len(views["landmarks"]),
            kernel.FOUND: len(views["components"]),
            kernel.SEEN: 2**53 - 1,
            kernel.OFFERED: 2**53 - 1,
            kernel.NEXT: 2**53 - 1,
        }
        if any(
            not (0 <= running[i] <= m and running[i] == int(running[i])) for i, m in most.items()
        ):
            return False
        born = int(running[kernel.BORN])
        return bool(
            running[kernel.SPREAD] >= 0
            and (facts[ZOOM, :born] != 0).all()
            and (facts[[NORM, VISITS, MASS]] >= 0).all()
            and (views["norms"] >= 0).all()
        )


def _mean_square_between(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Return the mean squared distance of all pairs of rows."""
    squares = sum(float(np.square(rows, dtype=np.float64).sum(axis=1).mean()) for rows in (a, b))
    return squares - 2 * float(a.mean(axis=0) @ b.mean(axis=0))


#: Relative step sizes beside other members: one or two are as good as six there, on the mean of
#: the streams, and cost a fraction.
LANDMARK_STEPS = (10.0,)


def of_size(size: int, seed: int) -> Member:
    """Make a landmarks member: so many clusters."""
    return Landmarks(
        n_clusters=size,
        loss=LOGISTIC,
        multiclass=CRAMMER_SINGER,
        averaged=True,
        steps=LANDMARK_STEPS,
        seed=seed,
    )
