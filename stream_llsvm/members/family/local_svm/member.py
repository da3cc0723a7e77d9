"""The local member: its sizes, its first state, and how it grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.family.local_svm import cache, kernel
from stream_llsvm.members.family.local_svm.smo import LINEAR, RBF, TOLERANCE
from stream_llsvm.members.family.local_svm.window import (
    DIAGONAL,
    FULL,
    LABEL,
    NORM,
    PLAIN,
    SLIDING,
    STAMP,
    WORTH,
)

#: Floats that the window may take in a committee, where others are better at many features.
FLOATS = 2**19
#: A window shorter than this is not worth asking.
_SHORTEST = 64
#: From so many features on a full map costs too much: it is diagonal then.
_WIDEST_FULL = 128
#: Multiply-adds a record that learning the map, and mapping the window anew, may cost each.
_MAP_BUDGET = 2**15
_CACHE_FLOATS = 2**17
_MOST_ENTRIES = 64


@dataclass(frozen=True, kw_only=True)
class LocalMachines(Member):
    """Small SVMs among the nearest. See ``members/family/local_svm/kernel.py``."""

    window: int = 2_000
    #: Neighbours for each doubling of the window: K = k log2(N).
    k: float = 3.0
    kernel_kind: int = RBF
    metric: int = FULL
    penalty: float = 10.0
    #: Of the kernel; 0 is the neighbourhood's own.
    sigma: float = 0.0
    way: int = SLIDING
    seed: int = 0
    #: Floats that the window may take: with many features it is shorter.
    floats: int = FLOATS
    tolerance: float = TOLERANCE

    kernels = Kernels(kernel.run)
    capped = True
    state = kernel.LocalState

    @property
    def name(self) -> str:
        return f"local:{self.window}"

    def length(self, width: int) -> int:
        """Return how many records of this width are remembered."""
        copies = 1 if self.metric == PLAIN else 2
        length = min(self.window, self.floats // (copies * max(1, width)))
        return length if length >= min(self.window, _SHORTEST) else 0

    def map_kind(self, width: int) -> int:
        """Return the map that records of this width are seen through."""
        if self.metric == FULL and width > _WIDEST_FULL:
            return DIAGONAL
        return self.metric

    def neighbours(self, width: int) -> int:
        """Return how many neighbours are asked at most."""
        window = self.length(width)
        return max(1, min(window, math.ceil(self.k * math.log2(max(2, window)))))

    def experts(self, width: int, columns: int) -> int:
        return 1 if self.length(width) > 0 else 0

    @property
    def attributes(self) -> bool:
        """Return whether its machines are linear: for others the neighbours are the reason."""
        return self.kernel_kind == LINEAR

    def cost(self, width: int, columns: int) -> int:
        near = self.neighbours(width)
        learning = 0 if self.map_kind(width) == PLAIN else 2 * _MAP_BUDGET
        # About as many steps as there are neighbours for each machine, of two passes each.
        solving = near * near * (width // 2 + 8 + 6 * min(columns, near))
        return self.length(width) * width + solving + learning

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        near, kind = self.neighbours(width), self.map_kind(width)
        machines = min(max(2, columns), near)
        map_width = 0 if kind == PLAIN else width
        one = width * width if kind == FULL else width
        entries = max(1, min(_MOST_ENTRIES, _CACHE_FLOATS // (machines * near)))
        return {
            "window": self.length(width),
            "neighbours": near,
            "machines": machines,
            "machines_and_one": machines + 1,
            "n_entries": entries,
            "entry_words": cache.STAMPS + near,
            "map_width": map_width,
            "map_height": width if kind == FULL else min(1, map_width),
            "map": kind,
            "kernel": self.kernel_kind,
            "way": self.way,
            "pause": 1 + 2 * kernel.PUPILS * one // _MAP_BUDGET,
            "period": max(64, self.length(width) * one // _MAP_BUDGET),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["source"][0] = self.seed
        for name in ("matrix", "published"):
            np.fill_diagonal(views[name], 1.0)
            if self.map_kind(width) == DIAGONAL:
                views[name][:] = 1
        if self.map_kind(width) == DIAGONAL:
            views["effort"][:] = 1e-3
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        views["settings"][:] = self.k, self.penalty, self.sigma, self.tolerance
        views["running"][kernel.RESTING] = 0

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Remember in the last pass only: a record must not vote on itself."""
        views["running"][kernel.RESTING] = 0 if last else 1

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return list(range(self.experts(*new)))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one; with many more features the oldest records go."""
        new["running"][:] = old["running"]
        new["source"][:] = old["source"]
        held, window = int(old["running"][kernel.HELD]), self.length(after[0])
        places = np.arange(held)
        if held > window or self.way == SLIDING:
            places = np.argsort(old["facts"][STAMP, :held], kind="stable")[max(0, held - window) :]
        kept = len(places)
        new["facts"][:, :kept] = old["facts"][:, places]
        new["store"][: before[0], :kept] = old["store"][:, places]
        new["running"][kernel.HELD] = kept
        new["running"][kernel.HEAD] = kept % max(1, window)
        new["running"][kernel.VERSION] += 1
        self._carry_map(old, new, before, after)
        kind = self.map_kind(after[0])
        if kind == self.map_kind(before[0]):
            new["mapped"][: len(old["mapped"]), :kept] = old["mapped"][:, places]
        else:
            mapped = new["published"][0][:, None] * new["store"][:, :kept]
            new["mapped"][:, :kept] = mapped
            new["facts"][NORM, :kept] = np.square(mapped).sum(axis=0)

    def _carry_map(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move the map; one that has become too large keeps what it says of each feature."""
        was, is_now = self.map_kind(before[0]), self.map_kind(after[0])
        if was == is_now:
            kept = before[0] if is_now == DIAGONAL else min(1, before[0])
            new["effort"][:kept] = old["effort"][:kept]
        for name in ("matrix", "published"):
            if was == is_now:
                new[name][: len(old[name]), : old[name].shape[1]] = old[name]
            else:
                new[name][0, : before[0]] = np.sqrt(np.square(old[name]).sum(axis=0))

    def relevance(self, views: Views) -> NDArray[np.float64] | None:
        """Return how much each feature counts in the distance: the diagonal of A'A."""
        if len(views["matrix"]) == 0 or len(views["facts"][0]) == 0:
            return None
        return np.asarray(np.square(views["published"].astype(np.float64)).sum(axis=0))

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts | None:
        """Take a linear machine's score apart; None for others: the neighbours are the reason."""
        if self.kernel_kind != LINEAR:
            return None
        columns, width = len(views["kept"]), len(z)
        slopes, rest = np.zeros((1, columns, width)), np.zeros((1, columns))
        rest[0] = views["kept"]
        which, k = int(views["memo"][kernel.HIT]), int(views["memo"][kernel.FOUND])
        if k == 0 or which < 0:
            return Parts(slopes, slopes, rest)
        n = int(views["entries"][which, cache.MACHINES])
        points = views["points"][:k].astype(np.float64)
        biases = views["biases"][which]
        machines = biases[-1] * views["coefficients"][which, :n, :k] @ points
        machines = machines @ _matrix(views, width)
        for m, code in enumerate(views["codes"][which, :n]):
            if columns > 1 or code == 1:
                row = code if columns > 1 else 0
                slopes[0, row], rest[0, row] = machines[m], biases[m]
        return Parts(slopes * z, slopes, rest)

    def voters(self, views: Views) -> list[tuple[int, float, float, float]]:
        """Return the neighbours that hold the likeliest class's machine up, or pull it down.

        Each with its part of all that they add, without signs: the support vectors.
        """
        n = int(views["memo"][kernel.FOUND]) if len(views["facts"][0]) > 0 else 0
        pull = dict(zip(views["places"][:n].tolist(), np.abs(views["pulls"][:n]), strict=True))
        total = sum(pull.values()) or 1.0
        told = []
        for place, squared in zip(views["near"][:n], views["nearest"][:n], strict=True):
            if pull[int(place)] > 0:
                age = float(views["running"][kernel.SEEN] - views["facts"][STAMP, place])
                label = int(views["facts"][LABEL, place])
                share = float(pull[int(place)] / total)
                told.append((label, age, math.sqrt(float(squared)), share))
        return told

    def sound(self, views: Views) -> bool:
        running, facts, window = views["running"], views["facts"], views["facts"].shape[1]
        held, head = running[kernel.HELD], running[kernel.HEAD]
        classes = len(views["vote"])
        labels = facts[LABEL]
        return bool(
            ((running >= 0) & (running < 2.0**53) & (running == np.floor(running)))[
                [kernel.SEEN, kernel.HELD, kernel.HEAD, kernel.OFFERED, kernel.VERSION]
            ].all()
            and running[kernel.SPREAD] >= 0
            and held <= window
            and head < max(1, window)
            and ((labels >= 0) & (labels < classes) & (labels == np.floor(labels))).all()
            and (facts[[STAMP, WORTH, NORM]] >= 0).all()
            and (facts[STAMP] <= running[kernel.SEEN]).all()
            and (views["effort"] >= 0).all()
        )


def _matrix(views: Views, width: int) -> NDArray[np.float64]:
    """Return the map that the last query was seen through, as a matrix."""
    published = views["published"].astype(np.float64)
    if len(published) == 0:
        return np.eye(width)
    return np.diag(published[0]) if len(published) < published.shape[1] else published


def of_size(size: int, seed: int) -> Member:
    """Make a local member: small SVMs among the nearest of that many records."""
    return LocalMachines(window=size, seed=seed)
