"""The trees member: its sizes, its first state, how it grows, and who added what to a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.pooling import Parted
from stream_llsvm.members.trees import kernel, merge
from stream_llsvm.members.trees import state as at

#: Histograms a tree: they are shared, and leaves of a tree that has its size need none.
_HISTOGRAMS = 26
#: Two classes that become more: what was one difference is a sum of two.
_TWICE = np.array([2.0, 4.0], dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Trees(Member):
    """Small boosted trees that grow with the stream. See ``members/trees/kernel.py``."""

    n_trees: int = 20
    n_leaves: int = 64
    #: How far all trees together go, a record.
    step: float = 5.0
    eager: bool = True
    seed: int = 0

    kernels = Kernels(kernel.run)
    capped = True
    #: As many as those models take that judge it. By ten passes trees know records by heart.
    passes = 3
    pace = 0.25
    state = at.TreesState
    accounts = True

    @property
    def name(self) -> str:
        return f"trees:{self.n_trees}"

    def experts(self, width: int, columns: int) -> int:
        return 2

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores."""
        return ["", "averaged"]

    def cost(self, width: int, columns: int) -> int:
        """Return the multiply-adds per record: of counting, looking for cuts, and the classes."""
        features = min(at.FEATURES, width)
        look = 12 * features * at.BINS // int(kernel.CHECK)
        return self.n_trees * (at.DEEPEST + 4 * features + look + 16 * columns)

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {
            "trees": self.n_trees,
            "nodes": 2 * self.n_leaves - 1,
            "histograms": self.n_trees * min(_HISTOGRAMS, self.n_leaves),
            "features": min(at.FEATURES, width),
            "eager": int(self.eager),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        """Fill in what is not zero at first: each tree is a leaf that waits for a histogram."""
        views["source"][0] = self.seed
        views["facts"][at.SIZE] = 1
        views["slots"][:] = at.NEVER
        views["slots"][:, 0] = at.WAITS
        views["free"][:] = np.arange(len(views["free"]))
        views["running"][at.FREE] = len(views["free"])
        _everywhere(views, 0)
        self.go_live(views)

    def go_live(self, views: Views) -> None:
        self.slow_down(views, 1.0)

    def slow_down(self, views: Views, left: float) -> None:
        """Take steps, and cuts, of so much of their length; while they shrink no tree begins anew.

        What a tree said that ended then, none of the others could learn any more.
        """
        views["settings"][0] = self.step / (1 + self.n_trees)
        views["pace"][0] = left

    def introduce(self, views: Views, first: int, hashes: NDArray[np.int64]) -> None:
        """Know how many columns are named: features are drawn among them."""
        views["running"][at.KNOWN] = first + len(hashes)

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return [0, 1]

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one: leaves ask about more features, where they have room."""
        same = ("running", "source", "facts", "use", "asks", "cuts", "below", "above", "slots")
        for name in (*same, "mass", "since", "free"):
            new[name][:] = old[name]
        features, columns = old["asked"].shape[1], before[1]
        new["asked"][:, :features], new["bins"][:, :features] = old["asked"], old["bins"]
        new["sums"][:, :, :features] = old["sums"]
        _everywhere(new, features)
        for name in ("values", "bias"):
            new[name][..., :columns] = old[name]
        new["sides"][:, :columns] = old["sides"]
        if columns == after[1]:
            return
        if columns == 1:  # of the second class against the first: half of it each
            for name in ("values", "bias"):
                half = 0.5 * old[name][..., 0]
                new[name][..., 0], new[name][..., 1] = -half, half
            new["sides"][:, 0], new["sides"][:, 1] = -old["sides"][:, 0], old["sides"][:, 0]
            new["sums"][:] *= _TWICE
        classes = np.arange(max(2, columns), after[1])
        if old["running"][at.SEEN] > 0:  # nobody has seen it: it begins behind the others
            new["bias"][:, classes] = -1
        drawn = np.abs(old["sides"][:, :1])
        new["sides"][:, classes] = drawn * np.where(classes % 2 == 0, 1, -1)

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts:
        """Take the scores of the record last seen apart, along its path down each tree.

        What a tree says at its root, before anything is asked, is the mean of its leaves, each
        counted by what it has learned. Each answer leaves fewer of them; what their mean changes
        by is the part of the feature that was asked for. The last mean is the leaf's own value.
        """
        means, bias = _means(views), views["bias"].astype(np.float64)
        of_features = np.zeros((len(z), *bias.shape))
        says_nothing = not self.eager and not views["leaves"].any()
        rest = 0 * bias if says_nothing else bias + means[:, 0].sum(axis=0)
        above, asks = views["above"], views["asks"]
        for t, leaf in enumerate(views["leaves"].tolist()):
            i = leaf
            while i > 0:
                up = int(above[t, i])
                of_features[asks[t, up]] += means[t, i] - means[t, up]
                i = up
        parts = np.moveaxis(of_features, 0, -1)
        return Parts(parts, np.zeros_like(parts), rest)

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the most useful trees of all models, and what all know of them."""
        merge.merge(models, out)

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Let questions ask for the features where they are now."""
        where = np.argsort(columns)
        for name in ("asks", "asked"):
            if len(columns) > 0:
                views[name][:] = where[views[name]]

    def sound(self, views: Views) -> bool:
        width = len(views["dense"])
        numbers = all(
            bool(((views[name] >= 0) & (views[name] < max(1, width))).all())
            for name in ("asks", "asked")
        )
        running, (size, born) = views["running"], views["facts"]
        limits = np.abs(views["sums"]) <= _MOST_COUNTED
        return bool(
            numbers
            and limits.all()
            and 0 <= running[at.SEEN] < 2**53
            and 0 <= running[at.KNOWN] <= width
            and ((born >= 0) & (born <= running[at.SEEN])).all()
            and ((size >= 1) & (size <= views["below"].shape[1])).all()
            and (np.abs(views["use"]) < _MOST_COUNTED).all()
            and (views["sums"][..., 1] >= 0).all()
            and (views["mass"] >= 0).all()
            and (np.abs(views["cuts"]) <= 1.001 * at.EDGE).all()
            and (np.abs(views["bins"][..., at.LOW]) <= 1.001 * at.EDGE).all()
            and (views["bins"][..., at.PACE] > 0).all()
            and (np.abs(views["sides"]) <= 1).all()
            and ((views["since"] >= 0) & (views["since"] < kernel.CHECK)).all()
            and all(_is_tree(views, t) for t in range(len(size)))
            and _each_once(views)
        )


#: No sum of errors grows so far: a record counts as a thousand at most, and sums fade.
_MOST_COUNTED = 1e6


def _everywhere(views: Views, first: int) -> None:
    """Let histograms cover all values of the features from ``first`` on, each of its own column."""
    n = views["asked"].shape[1]
    views["asked"][:, first:] = np.arange(first, n)
    views["bins"][:, first:, at.LOW] = -at.EDGE
    views["bins"][:, first:, at.PACE] = at.BINS / (2 * at.EDGE)


def _means(views: Views) -> NDArray[np.float64]:
    """Return each node's mean over the leaves below it, counted by mass: (trees, nodes, ...)."""
    below, size = views["below"], views["facts"][at.SIZE]
    means = views["values"].astype(np.float64)
    mass = views["mass"].astype(np.float64) + 1e-9
    for i in range(below.shape[1] - 2, -1, -1):  # nodes lie behind those that are above them
        t = np.flatnonzero((below[:, i] != at.LEAF) & (i < size))
        first = below[t, i]
        pair = mass[t, first], mass[t, first + 1]
        mass[t, i] = pair[0] + pair[1]
        shares = [(one / mass[t, i])[:, None, None] for one in pair]
        means[t, i] = shares[0] * means[t, first] + shares[1] * means[t, first + 1]
    return means


def _is_tree(views: Views, t: int) -> bool:
    """Whether each node of a tree but the first lies below one, which stands before it."""
    n = int(views["facts"][at.SIZE, t])
    below, above, slots = (views[name][t, :n] for name in ("below", "above", "slots"))
    inner = np.flatnonzero(below != at.LEAF)
    first = below[inner].astype(np.int64)
    if not ((first > inner) & (first < n - 1)).all():
        return False
    children = np.sort(np.concatenate([first, first + 1]))
    return bool(
        np.array_equal(children, np.arange(1, n))
        and (above[first] == inner).all()
        and (above[first + 1] == inner).all()
        and (slots[inner] == at.NEVER).all()
        and (slots >= at.NEVER).all()
    )


def _each_once(views: Views) -> bool:
    """Whether each histogram is free or has one leaf."""
    n, free = len(views["free"]), int(views["running"][at.FREE])
    if not 0 <= free <= n:
        return False
    nodes = np.arange(views["slots"].shape[1])
    used = views["slots"][nodes < views["facts"][at.SIZE][:, None]]
    numbers = np.concatenate([used[used >= 0], views["free"][:free]])
    return np.array_equal(np.sort(numbers), np.arange(n))


def of_size(size: int, seed: int) -> Member:
    """Make a trees member."""
    return Trees(n_trees=size, seed=seed, eager=False)
