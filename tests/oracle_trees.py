"""The oracle's trees: nodes that know each other, and a histogram in each leaf that has one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.trees import growth, kernel
from stream_llsvm.members.trees import state as at
from stream_llsvm.members.trees.member import Trees
from stream_llsvm.model.state import columns_of
from tests.oracle_ferns import Dice
from tests.oracle_parts import Array, pushes_at


@dataclass
class Histogram:
    """For each feature and bin the sums of errors and variances."""

    features: list[int]
    #: Where each feature's first bin begins, and bins a unit: float32, which decides about edges.
    low: NDArray[np.float32]
    pace: NDArray[np.float32]
    sums: Array
    sides: Array
    since: float = 0.0

    def bins_of(self, z: Array) -> list[int]:
        """Return in which bin of each feature a record lies."""
        values = z[self.features].astype(np.float32)
        places = (values - self.low) * self.pace
        return [int(b) for b in np.clip(places, 0, at.BINS - 1)]

    def edge(self, f: int, b: int) -> float:
        """Return where bin b of a feature ends."""
        return float(self.low[f] + np.float32(b + 1) / self.pace[f])


@dataclass
class Node:
    """A question and two nodes below, or a leaf: what it adds, and a histogram if it has one."""

    values: Array
    above: Node | None = None
    is_upper: bool = False
    mass: float = 0.0
    below: list[Node] = field(default_factory=list)
    feature: int = 0
    cut: float = 0.0
    histogram: Histogram | None = None
    waits: bool = True

    def path(self) -> list[Node]:
        """Return the nodes from this one up to the root."""
        return [self, *(self.above.path() if self.above else [])]


@dataclass
class Tree:
    """All nodes, in the order in which they were made."""

    nodes: list[Node]
    born: int = 0
    use: float = 0.0

    def leaf_of(self, z: Array) -> Node:
        """Return the leaf that holds a record."""
        node = self.nodes[0]
        while node.below:
            node = node.below[1 if z[node.feature] > node.cut else 0]
        return node


class TreesOracle:
    """A trees member: (2 experts, columns) scores, raw and averaged."""

    experts = 2

    def __init__(self, options: Trees, width: int, classes: int) -> None:
        self.options, self.width = options, width
        self.columns = columns_of(classes)
        sizes = options.sizes(width, self.columns)
        self.most_nodes, self.free = sizes["nodes"], sizes["histograms"]
        self.bias = np.zeros((2, self.columns))
        self.trees = [Tree([self._leaf()]) for _ in range(options.n_trees)]
        self.seen = 0
        self.left = 1.0  # of the steps' length, in passes over history
        self.dice = Dice(options.seed)

    def _leaf(self) -> Node:
        return Node(np.zeros((2, self.columns)))

    def score(self, z: Array) -> Array:
        """Return bias and leaves' values, added up."""
        self.z = z
        self.leaves = [tree.leaf_of(z) for tree in self.trees]
        if not self.options.eager and all(leaf.above is None for leaf in self.leaves):
            return 0 * self.bias
        total: Array = self.bias + sum(leaf.values for leaf in self.leaves)
        return total

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Teach each tree by the error of those up to it, then count and maybe cut."""
        self.seen += 1
        eta = w * self.left * self.options.step / (1 + len(self.trees))
        H = self.bias[0].copy()
        for tree, leaf in zip(self.trees, self.leaves, strict=True):
            H += leaf.values[0]
            push = pushes_at(LOGISTIC, CRAMMER_SINGER, H, label)
            average = leaf.values[1]
            pull = average[label] - average.mean() if self.columns > 1 else 0.0
            if self.columns == 1:
                pull = average[0] * (1 if label == 1 else -1)
            tree.use += kernel.USE_RATE * (pull - tree.use)
            leaf.mass += w
            self._step(leaf.values, eta * push, w, 1 + leaf.mass)
            self._count(tree, leaf, push, label, w)
        self._step(self.bias, eta * push, w, self.seen)
        if self.seen % kernel.PERIOD == 0 and self.left == 1:
            old = [t for t in self.trees if self.seen - t.born >= kernel.GRACE]
            if old:
                self._begin_anew(min(old, key=lambda tree: tree.use))

    @staticmethod
    def _step(values: Array, step: Array, w: float, mass: float) -> None:
        values[0] += step
        values[1] += min(1.0, w * max(0.003, 1 / mass)) * (values[0] - values[1])

    def _count(self, tree: Tree, leaf: Node, push: Array, label: int, w: float) -> None:
        if leaf.waits and leaf.histogram is None:
            self._give(leaf)
        own = leaf.histogram
        if own is None or not push.any():
            return
        error = float(own.sides @ push)
        p = (np.arange(self.columns) == label) - push  # of each class
        variance = 1 - float(own.sides @ p) ** 2
        if self.columns == 1:
            variance = abs(push[0]) * (1 - abs(push[0]))
        for f, b in enumerate(own.bins_of(self.z)):
            own.sums[f, b] += w * error, w * variance
        own.since += w
        if own.since >= kernel.CHECK:
            own.since = 0.0
            self._look(tree, leaf, own)

    def _look(self, tree: Tree, leaf: Node, own: Histogram) -> None:
        """Cut a leaf in two where that explains most, if it is more than chance."""
        best: tuple[float, int, int] = float(growth.GAIN), -1, -1
        for f, sums in enumerate(own.sums):
            G, V = sums.sum(axis=0)
            for b in range(at.BINS - 1):
                g, v = sums[: b + 1].sum(axis=0)
                gain = g * g / (v + 1) + (G - g) ** 2 / (V - v + 1) - G * G / (V + 1)
                if gain > best[0] + 1e-9 and v >= 1 and V - v >= 1:
                    best = gain, f, b
        if best[1] >= 0:
            self._cut(tree, leaf, own, *best[1:])
        elif (self.columns > 1 or self.width > at.FEATURES) and (
            self.dice.uniform() < growth.REDRAW
        ):
            leaf.histogram = self._histogram(leaf)
        else:
            own.sums *= 0.9

    def _cut(self, tree: Tree, leaf: Node, own: Histogram, f: int, b: int) -> None:
        leaf.feature, leaf.cut = own.features[f], own.edge(f, b)
        for side in range(2):
            g, v = own.sums[f, b + 1 :].sum(axis=0) if side else own.sums[f, : b + 1].sum(axis=0)
            step = 0.5 * self.left * g / (v + 1)
            node = Node(leaf.values + step * own.sides, leaf, bool(side))
            node.mass = min(20.0, leaf.mass / 2)
            leaf.below.append(node)
            tree.nodes.append(node)
        self._take_away(leaf)
        if len(tree.nodes) + 2 > self.most_nodes:
            for node in tree.nodes:
                self._take_away(node)

    def _take_away(self, node: Node) -> None:
        self.free += node.histogram is not None
        node.histogram, node.waits = None, False

    def _begin_anew(self, tree: Tree) -> None:
        for node in tree.nodes:
            self._take_away(node)
        tree.nodes, tree.born, tree.use = [self._leaf()], self.seen, 0.0

    def _give(self, leaf: Node) -> None:
        if len(leaf.path()) > at.DEEPEST:
            leaf.waits = False
        elif self.free > 0:
            self.free -= 1
            leaf.histogram = self._histogram(leaf)

    def _histogram(self, leaf: Node) -> Histogram:
        features, sides = self._features(), self._sides()
        low = np.full(len(features), -at.EDGE, dtype=np.float32)
        high = -low
        for node in leaf.path()[:-1]:
            above = node.above
            assert above is not None
            for f, feature in enumerate(features):
                if feature == above.feature and node.is_upper:
                    low[f] = max(low[f], np.float32(above.cut))
                elif feature == above.feature:
                    high[f] = min(high[f], np.float32(above.cut))
        pace = np.float32(at.BINS) / np.maximum(high - low, np.float32(1e-6))
        return Histogram(features, low, pace, np.zeros((len(features), at.BINS, 2)), sides)

    def _features(self) -> list[int]:
        room = min(at.FEATURES, self.width)
        if self.width <= room:
            return list(range(room))
        drawn: list[int] = []
        for last in range(self.width - room, self.width):
            column = self.dice.below(last + 1)
            drawn.append(last if column in drawn else column)
        return drawn

    def _sides(self) -> Array:
        if self.columns == 1:
            return np.ones(1)
        left, sides = (self.columns + 1) // 2, np.zeros(self.columns)
        for c in range(self.columns):
            sides[c] = 1 if self.dice.below(self.columns - c) < left else -1
            left -= sides[c] > 0
        return sides

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features, which leaves have room for, or more classes."""
        before, self.columns = self.columns, columns_of(classes)
        known, self.width = self.width, width
        nodes = [node for tree in self.trees for node in tree.nodes]
        for node in nodes:
            node.values = self._widened(node.values)
            if node.histogram is not None:
                self._widen(node.histogram, before, known)
        self.bias = self._widened(self.bias)
        if self.seen > 0 and self.columns > before:
            self.bias[:, max(2, before) :] = -1
        return [0, 1]

    def _widened(self, values: Array) -> Array:
        more = self.columns - values.shape[1]
        if more > 0 and values.shape[1] == 1:
            half = values / 2
            return np.hstack([-half, half, np.zeros((2, more - 1))])
        return np.pad(values, ((0, 0), (0, more)))

    def _widen(self, own: Histogram, before: int, known: int) -> None:
        more = min(at.FEATURES, self.width) - len(own.features)
        own.features += range(known, known + more)
        own.low = np.append(own.low, np.full(more, -at.EDGE, dtype=np.float32))
        pace = np.full(more, at.BINS / (2 * at.EDGE), dtype=np.float32)
        own.pace = np.append(own.pace, pace)
        own.sums = np.pad(own.sums, ((0, more), (0, 0), (0, 0)))
        if self.columns > before == 1:
            own.sides = np.array([-own.sides[0], own.sides[0]])
            own.sums *= [2, 4]  # the error of a difference, and its variance
        if self.columns > before:
            new = np.arange(len(own.sides), self.columns)
            own.sides = np.append(own.sides, np.where(new % 2 == 0, 1, -1))
