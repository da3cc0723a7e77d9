"""Rows for the kernel, with their labels and answers, which may be cut into parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """What the kernel takes beside a model: rows, their labels, and where the answers go."""

    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    importance: NDArray[np.float64]
    proba: NDArray[np.float64]
    likeliest: NDArray[np.int64]

    def part(self, begin: int, end: int) -> Rows:
        """Return some of the rows, which are no copies."""
        if self.starts.size > 0:
            first, last = self.starts[begin], self.starts[end]
            values, columns = self.values[first:last], self.columns[first:last]
            starts = self.starts[begin : end + 1] - first
        else:
            d = self.values.size // self.labels.size
            values, columns, starts = self.values[begin * d : end * d], self.columns, self.starts
        rows = slice(begin, end)
        return Rows(
            values, columns, starts, self.labels[rows], self.importance[rows], self.proba[rows],
            self.likeliest[rows],
        )  # fmt: skip
