"""The oracle's ferns: the same questions of every record, answers that number a cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.members.ferns import kernel
from stream_llsvm.members.ferns.draw import ATTEMPTS, CANDIDATES, TIE
from stream_llsvm.members.ferns.member import Ferns
from tests.oracle_cells import Cells, Share
from tests.oracle_parts import Array

WORD = 2**64


class Dice:
    """The generator splitmix64, on Python's own integers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def word(self) -> int:
        """Return the next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        x = self.state
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
        return x ^ (x >> 31)

    def uniform(self) -> float:
        """Return a number from 0 to 1, 1 excluded: the upper 53 bits."""
        return float((self.word() >> 11) / 2**53)

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1."""
        return int(self.uniform() * n)


class FernsOracle(Cells):
    """A ferns member: cell number ``fern * leaves + answers``."""

    def __init__(self, options: Ferns, width: int, classes: int) -> None:
        self.ferns, self.leaves = options, 2**options.depth
        super().__init__(options, options.n_ferns * self.leaves, width, classes)
        shape = (options.n_ferns, options.depth)
        self.features, self.thresholds = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        self.born, self.use = np.zeros((2, options.n_ferns))
        self.recent: list[Array] = [np.zeros(width)] * self._kept(width)
        self.labels = np.zeros(self._kept(width), dtype=np.int64)
        self.dice = Dice(options.seed)
        #: Whether the least useful fern is drawn anew after this record: the model says when.
        self.due = False
        #: What a memory has learned about the features; nothing, if there is none.
        self.relevance = np.zeros(width)

    def _kept(self, width: int) -> int:
        return self.ferns.sizes(width, self.columns)["kept"]

    @property
    def _stride(self) -> int:
        """Of very wide records not every one is kept."""
        return 1 + self.width // kernel.WIDE

    def score(self, z: Array) -> Array:
        """Return the sum of what the ferns answer; before the first draw they say nothing."""
        self.z = z
        self.touched: list[Share] = []
        drawn = range(self.ferns.n_ferns) if self.seen >= kernel.FIRST_DRAW else ()
        for f in drawn:
            answers = z[self.features[f]] > self.thresholds[f]
            number = int("".join("1" if yes else "0" for yes in answers), 2)
            self.touched.append((f * self.leaves + number, 1.0))
        self.scores = self.blend(self.touched)
        return self.scores

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Rate the ferns, step their cells, keep the record, and now and then draw anew."""
        for cell, _ in self.touched:
            fern = cell // self.leaves
            self.use[fern] += kernel.USE_RATE * (self._pull(cell, label) - self.use[fern])
        self.step(self.touched, self.scores, label, w)
        if self.seen % self._stride == 0:
            place = (self.seen // self._stride - 1) % len(self.recent)
            self.recent[place], self.labels[place] = self.z, label
        if self.seen == kernel.FIRST_DRAW:
            n = max(1, min(len(self.recent), self.seen // self._stride))
            for f in range(self.ferns.n_ferns):
                self._draw(f, n, np.zeros(self.width))
        if self.due:
            old = np.flatnonzero(self.seen - self.born >= min(kernel.GRACE, self.seen / 2))
            if len(old) > 0:
                self._replace(int(old[np.argmin(self.use[old])]))

    def _pull(self, cell: int, label: int) -> float:
        """How far the middle rung's answer pulls towards the label, averaged weights if any."""
        w = self.weights[cell, -1, len(self.steps) // 2]
        if len(w) == 1:
            return float(w[0] if label == 1 else -w[0])
        return float(w[label] - w.mean())

    def _replace(self, fern: int) -> None:
        self._draw(fern, len(self.recent), self.relevance)
        cells = slice(fern * self.leaves, (fern + 1) * self.leaves)
        self.mass[cells], self.weights[cells] = 0, 0
        self.born[fern], self.use[fern] = self.seen, 0

    def _draw(self, fern: int, n: int, relevance: Array) -> None:
        """Choose each question by the records' labels, as the best of some."""
        paths = np.zeros(n, dtype=np.int64)
        for d in range(self.ferns.depth):
            # Once every record is alone in its cell, the first question that is drawn is asked.
            alone = len(set(paths.tolist())) == n
            drawn = [self._question(n, relevance) for _ in range(1 if alone else CANDIDATES)]
            gains = np.array([self._gain(paths, *question) for question in drawn])
            feature, threshold = drawn[int(np.flatnonzero(gains > gains.max() - TIE)[0])]
            self.features[fern, d], self.thresholds[fern, d] = feature, threshold
            paths = 2 * paths + self._answers(n, feature, threshold)

    def _question(self, n: int, relevance: Array) -> tuple[int, float]:
        """Draw a feature by relevance, and a threshold halfway between two recent records."""
        for _ in range(ATTEMPTS):
            reach = np.cumsum(relevance) if relevance.sum() > 0 else 1.0 + np.arange(self.width)
            dart = self.dice.uniform() * reach[-1]
            feature = min(int(np.searchsorted(reach, dart, side="right")), self.width - 1)
            a, b = (np.float32(self.recent[self.dice.below(n)][feature]) for _ in range(2))
            if a != b:
                break
        return feature, float(np.float32(0.5) * (a + b))

    def _answers(self, n: int, feature: int, threshold: float) -> NDArray[np.int64]:
        return np.array([int(z[feature] > threshold) for z in self.recent[:n]])

    def _gain(self, paths: NDArray[np.int64], feature: int, threshold: float) -> float:
        """Add up n_kc^2 / (n_k + 1), but for cells of a single record."""
        answers, labels = self._answers(len(paths), feature, threshold), self.labels[: len(paths)]
        gain = 0.0
        for path in sorted(set(paths.tolist())):
            if (paths == path).sum() == 1:
                continue
            halves = [labels[(paths == path) & (answers == side)] for side in (1, 0)]
            above, below = (float((np.bincount(h) ** 2).sum()) / (len(h) + 1) for h in halves)
            gain += above + below
        return gain

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features or classes; ferns ask for new features when they are drawn anew."""
        more = width - self.width
        self.recent = [np.pad(z, (0, more)) for z in self.recent[: self._kept(width)]]
        self.labels = self.labels[: self._kept(width)]
        self.relevance = np.zeros(width)
        return self.widen(width, classes)
