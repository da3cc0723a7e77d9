"""The oracle's words: a dict of names, and the equations of members/words/kernel.py one by one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from stream_llsvm.kernels.losses import CRAMMER_SINGER, LOGISTIC
from stream_llsvm.members.words.member import Words
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array, more_columns, pushes_at

STEPS, ALPHA, FADE, SLOWNESS = (0.1, 0.5), 0.1, 0.9995, 1.0
BIAS = "bias"


@dataclass
class Name:
    """What is known of a name: two machines by AdaGrad, one by AROW, and its count a class."""

    weights: Array  # (2, columns)
    squares: Array
    mean: Array
    variance: Array
    counts: Array


class WordsOracle:
    """A words member. What a record names is given to it, since dense records say nothing."""

    experts = 4

    def __init__(self, options: Words, width: int, classes: int) -> None:
        self.classes = classes
        self.names: dict[Hashable, Name] = {BIAS: self._new()}
        self.totals = np.zeros(classes)
        #: What the record names, with values; None for a dense one.
        self.named: list[tuple[Hashable, float]] = []

    def _new(self) -> Name:
        columns = columns_of(self.classes)
        pair, one = np.zeros((2, columns)), np.zeros(columns)
        return Name(pair.copy(), pair, one.copy(), one + 1, np.zeros(self.classes))

    def _all(self) -> list[tuple[Name, float]]:
        """Return the bias, which every record has, and what the record names."""
        named = [(self.names.setdefault(name, self._new()), x) for name, x in self.named]
        return [(self.names[BIAS], 1.0), *named]

    def score(self, z: Array) -> Array:
        """Return what the four experts say, (4, columns)."""
        columns = columns_of(self.classes)
        if not self.named:
            return np.zeros((4, columns))
        everything = self._all()
        linear = np.array(sum(x * name.weights for name, x in everything))
        confident = np.array(sum(x * name.mean for name, x in everything))
        counted = np.log(self.totals + ALPHA)
        for name, _ in everything[1:]:
            if name.counts.any():
                counted = counted + np.log(name.counts + ALPHA) - np.log(self.totals + 2 * ALPHA)
        if columns == 1:
            counted = np.array([counted[1] - counted[0] if self.classes > 1 else 0.0])
        return np.stack([linear[0], linear[1], counted, confident])

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Step the machines, then count."""
        if not self.named:
            return
        everything = self._all()
        columns = columns_of(self.classes)
        truth = np.arange(columns) == label if columns > 1 else np.array([label == 1])
        y = np.where(truth, 1.0, -1.0)
        for e, step in enumerate(STEPS):
            push = pushes_at(LOGISTIC, CRAMMER_SINGER, scores[e], label)
            for name, x in everything:
                slope = push * x
                name.squares[e] += w * slope**2
                name.weights[e] += w * step * slope / np.sqrt(name.squares[e] + 1e-6)
        short = np.maximum(0, 1 - y * scores[3])
        energy = np.array(sum(name.variance * x * x for name, x in everything))
        part = w / (w * energy + SLOWNESS)
        for name, x in everything:
            pull = name.variance * x
            name.mean += y * short * part * pull
            name.variance -= np.where(short > 0, part * pull**2, 0.0)
        self.totals *= FADE
        self.totals[label] += w
        for name in self.names.values():
            name.counts *= FADE
        for name, _ in everything[1:]:
            name.counts[label] += w

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more classes: one that nobody has seen begins as not this one, by AROW's bias."""
        columns, before = columns_of(classes), columns_of(self.classes)
        for key, name in self.names.items():
            name.weights = more_columns(name.weights, 1, columns, CRAMMER_SINGER)
            squares, variance, mean = name.squares, name.variance, name.mean
            if before == 1 and columns > 1:
                squares, variance = np.repeat(squares, 2, axis=1), np.repeat(variance, 2)
                mean = np.concatenate([-mean, mean])
            name.squares = np.pad(squares, ((0, 0), (0, columns - squares.shape[1])))
            name.variance = np.pad(variance, (0, columns - len(variance)), constant_values=1.0)
            unseen = -1.0 if key == BIAS and self.totals.any() else 0.0
            name.mean = np.pad(mean, (0, columns - len(mean)), constant_values=unseen)
            name.counts = np.pad(name.counts, (0, classes - len(name.counts)))
        self.totals = np.pad(self.totals, (0, classes - len(self.totals)))
        self.classes = classes
        return [0, 1, 2, 3]
