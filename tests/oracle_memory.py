"""The oracle's memory: records of late vote, in a metric learned by the soft vote's gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import metric
from stream_llsvm.members.neighbours import kernel
from stream_llsvm.members.neighbours.member import Remembered
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array, follow


@dataclass
class Record:
    """A remembered record."""

    z: Array
    label: int
    stamp: float
    worth: float


@dataclass
class Neighbours:
    """Which places of the window are nearest, and their squared distances, nearest first."""

    near: NDArray[np.int64]
    squared: Array


class MemoryOracle:
    """A memory member: a list of records, in which the newest takes the place of the oldest."""

    def __init__(self, options: Remembered, width: int, classes: int) -> None:
        self.options, self.width, self.classes = options, width, classes
        self.window = options.length(width)
        self.records: list[Record] = []
        self.head = 0
        self.scale, self.ruler = np.ones(width), np.ones(width)
        self.effort = np.full(width, first_effort(options, width))
        self.spread, self.seen = 0.0, 0
        #: What the kernel found; between equal distances rounding decides.
        self.told: Neighbours | None = None

    @property
    def experts(self) -> int:
        """One for each way to count votes, none if there is no room for records."""
        return 3 if self.window > 0 else 0

    def distances(self, z: Array) -> Array:
        """d(x, v) = sum_i a_i^2 (x_i - v_i)^2 to each record, with a as at the last renewal."""
        if not self.records:
            return np.zeros(0)
        return np.array([(self.ruler * (z - r.z) ** 2).sum() for r in self.records])

    def score(self, z: Array) -> Array:
        """Return log shares of the votes, as each expert counts them, (experts, columns)."""
        self.z, d = z, self.distances(z)
        order = np.argsort(d, kind="stable")[: kernel.NEAREST]
        self.found = Neighbours(order, d[order])
        if self.told is not None and self.experts:
            self._check(self.told, d)
            self.found, self.told = self.told, None
        columns = columns_of(self.classes)
        if len(self.found.near) == 0:
            return np.zeros((self.experts, columns))
        return np.array([self._log_shares(counts, columns) for counts in self._counts()])

    def _check(self, told: Neighbours, d: Array) -> None:
        """Whatever the kernel found must be as near as what sorting finds, and truly there."""
        size = 1 + (self.ruler * self.z**2).sum()
        assert len(set(told.near.tolist())) == len(self.found.near), "each record votes once"
        np.testing.assert_allclose(told.squared, self.found.squared, rtol=1e-4, atol=1e-5 * size)
        np.testing.assert_allclose(told.squared, d[told.near], rtol=1e-4, atol=1e-5 * size)
        assert (np.diff(told.squared) >= 0).all()

    def _counts(self) -> list[Array]:
        """Return how much each neighbour's vote counts: by nearness, by age too, by 1 / distance.

        What is of no matter to the shares, a common factor, is left as it comes.
        """
        squared = self.found.squared
        mean = max(float(squared.mean()), 1e-4)
        age = np.array([self.seen - self.records[j].stamp for j in self.found.near])
        spans = np.clip(age / max(1.0, self.window / 4), 0, 50)
        return [
            np.exp(-(squared - squared[0]) / (0.1 * mean)),
            np.exp(-(squared - squared[0]) / (0.3 * mean) - (spans - spans.min())),
            1 / (np.sqrt(squared) + 1e-3),
        ]

    def _log_shares(self, counts: Array, columns: int) -> Array:
        votes = np.zeros(max(2, self.classes))
        for j, count in zip(self.found.near, counts, strict=True):
            votes[self.records[j].label] += self.records[j].worth * count
        logs = np.log(votes / votes.sum() + kernel.FLOOR)
        return np.array([logs[1] - logs[0]]) if columns == 1 else logs

    def learn(self, label: int, w: float, scores: Array) -> None:
        """Learn from the neighbours of the record last scored, then maybe remember it."""
        if self.window == 0:
            return
        self.seen += 1
        if len(self.found.near) > 0:
            mean = float(self.found.squared.mean())
            self.spread = follow(self.spread, mean, kernel.SPREAD_RATE, 10)
            pause = 1 + kernel.NEAREST * self.width // kernel.METRIC_BUDGET
            if self.options.learns_metric and self.seen % pause == 0:
                self._learn_metric(label, w)
        easy = self._easy(label)
        if self.seen == kernel.YOUNG:  # scales were guesses until now, and so is what they scaled
            self.records, self.head = [], 0
        if self.seen % kernel.EASY_ONE_IN == 0 or not easy:
            self._remember(Record(self.z, label, self.seen, w))
        renewed = self.seen % metric.PERIOD == 0 or self.seen < metric.PERIOD
        if self.options.learns_metric and renewed:
            self.ruler = self.scale**2

    def _easy(self, label: int) -> bool:
        """Whether the nearest five all have the record's label."""
        nearest = [self.records[j].label for j in self.found.near[: kernel.AGREEING]]
        return len(nearest) == kernel.AGREEING and set(nearest) == {label}

    def _remember(self, record: Record) -> None:
        if len(self.records) < self.window:
            self.records.append(record)
        else:
            self.records[self.head] = record
        self.head = (self.head + 1) % self.window

    def _learn_metric(self, label: int, w: float) -> None:
        """Step a by RATE / sqrt(faded sum of squared gradients) * d log p / d a."""
        beta = 1 / (self.spread + 1e-4)
        near = [self.records[j] for j in self.found.near]
        soft = np.exp(-beta * (self.found.squared - self.found.squared[0]))
        kind = np.array([r.label == label for r in near])
        p = soft[kind].sum() / soft.sum()
        if not metric.LEAST < p < metric.MOST:
            return
        # d log p / d d_j, over -beta: nearer neighbours of the label help, others harm.
        lessons = soft / soft.sum() - np.where(kind, soft, 0) / soft[kind].sum()
        squares = (self.z - np.array([r.z for r in near])) ** 2
        gradient = self.scale * (lessons @ np.minimum(beta * squares, metric.FARTHEST))
        self.effort = metric.FADE * self.effort + gradient**2
        rate = min(1.0, w) * metric.RATE / np.sqrt(self.effort + 1e-6)
        scale = np.clip(self.scale + rate * gradient, metric.SMALLEST, metric.LARGEST)
        self.scale = scale / math.sqrt((scale**2).mean())

    def grow(self, width: int, classes: int) -> list[int]:
        """Know more features or classes; if the window has to shrink, the oldest records go."""
        more = width - self.width
        oldest = self.head if len(self.records) == self.window else 0
        in_order = self.records[oldest:] + self.records[:oldest]
        self.window = self.options.length(width)
        self.records = in_order[max(0, len(in_order) - self.window) :]
        self.head = len(self.records) % max(1, self.window)
        for record in self.records:
            record.z = np.pad(record.z, (0, more))
        self.scale = np.pad(self.scale, (0, more), constant_values=1)
        self.ruler = np.pad(self.ruler, (0, more), constant_values=1)
        self.effort = np.pad(
            self.effort, (0, more), constant_values=first_effort(self.options, width)
        )
        self.width, self.classes = width, classes
        return list(range(self.experts))


def first_effort(options: Remembered, width: int) -> float:
    """Return what the sum of squared gradients begins with: the options say, no equation does."""
    views = {name: np.zeros(8) for name in ("scale", "ruler", "effort", "running")}
    options.begin(views, width, 1)
    return float(views["effort"][0])
