"""The oracle's table of cells: kernels/cells.py's equation, one cell after the other."""

from __future__ import annotations

import numpy as np

from stream_llsvm.members.base import Stepping
from stream_llsvm.model.state import columns_of
from tests.oracle_parts import Array, more_columns, pushes_at

#: A cell by its number, and how much of it the record has.
Share = tuple[int, float]


class Cells:
    """H(x) = b + sum_i share_i(x) W[cell_i(x)], raw and averaged, for several step sizes.

    Weights are (cells, copies, rungs, columns), the bias is (copies, rungs, columns).
    """

    def __init__(self, options: Stepping, cells: int, width: int, classes: int) -> None:
        self.options = options
        self.width, self.columns = width, columns_of(classes)
        self.steps = options.rungs(width, self.columns)
        shape = (options.copies, len(self.steps), self.columns)
        self.bias = np.zeros(shape)
        self.weights = np.zeros((cells, *shape))
        self.mass = np.zeros(cells)
        self.seen = 0

    @property
    def experts(self) -> int:
        """How many scores a class it gives."""
        return len(self.steps) * self.options.copies

    def blend(self, touched: list[Share]) -> Array:
        """Add up what the record touches, (experts, columns)."""
        total = self.bias.copy()
        for cell, share in touched:
            total += share * self.weights[cell]
        return total.reshape(self.experts, self.columns)

    def step(self, touched: list[Share], scores: Array, label: int, w: float) -> None:
        """Step the raw weights by the loss's push, then draw the averages towards them."""
        o = self.options
        self.seen += 1
        raw = scores[: len(self.steps)]
        push = np.array([pushes_at(o.loss, o.multiclass, s, label) for s in raw])
        energy = 1 + sum(share**2 for _, share in touched)
        step = w * np.array(self.steps)[:, None] / energy * push
        _take(self.bias, step, w * max(o.average_floor, 1 / self.seen))
        for cell, share in touched:
            self.mass[cell] += w * share
            rate = w * share * max(o.average_floor, 1 / (1 + self.mass[cell]))
            _take(self.weights[cell], share * step, rate)

    def widen(self, width: int, classes: int) -> list[int]:
        """Know more classes; return the experts whose rungs still fit the budget."""
        old, before = self.steps, self.columns
        self.width, self.columns = width, columns_of(classes)
        self.steps = self.options.rungs(width, self.columns)
        rungs = [old.index(s) for s in self.steps]
        kind = self.options.multiclass
        self.weights = more_columns(self.weights[:, :, rungs], 3, self.columns, kind)
        self.bias = more_columns(self.bias[:, rungs], 2, self.columns, kind)
        if self.seen > 0:  # a class that nobody has seen stands at the margin
            self.bias[:, :, max(2, before) :] = -1
        return [c * len(old) + r for c in range(self.options.copies) for r in rungs]


def _take(part: Array, step: Array, rate: float) -> None:
    """Step (copies, rungs, columns): copy 0 is raw, copy 1, if there is one, its average."""
    part[0] += step
    if len(part) > 1:
        part[1] += min(1.0, rate) * (part[0] - part[1])
