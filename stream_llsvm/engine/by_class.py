"""The scores of each class: of the most frequent ones by themselves, of all others together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

MOST = 20
OTHERS = -1


class PerClass(NamedTuple):
    """How good the answers of the window are for one class.

    Attributes
    ----------
    code
        The class, in the order in which they appeared; `OTHERS` for the rest together.
    support, answered
        How many records had it as their label, and how many were answered with it.
    right
        How many of both.
    foretold
        How many of the last answers it is, whether their labels have come or not.

    """

    code: int
    support: int
    answered: int
    right: int
    foretold: int

    @property
    def precision(self) -> float | None:
        """The share of its answers that was right, None if there was none."""
        return self.right / self.answered if self.answered else None

    @property
    def recall(self) -> float | None:
        """The share of its records that was found, None if there was none."""
        return self.right / self.support if self.support else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both, None if the class did not occur."""
        both = self.support + self.answered
        return 2 * self.right / both if both else None


def by_class(windowed: Table, counts: Table, foretold: Table) -> list[PerClass]:
    """Return the classes that were most frequent of all time, in their order, and the rest.

    Parameters
    ----------
    windowed
        How many records of the window there were of each pair of truth and answer.
    counts
        How many records of each class there were of all time.
    foretold
        How often each class was answered of late.

    Examples
    --------
    >>> table = np.array([[3, 1], [0, 4]])
    >>> [(one.recall, one.precision) for one in by_class(table, table.sum(1), table.sum(0))]
    [(0.75, 1.0), (1.0, 0.8)]

    """
    n = max(len(windowed), len(counts), len(foretold))
    table = np.pad(windowed, (0, n - len(windowed)))
    ever = np.pad(counts, (0, n - len(counts)))
    told = np.pad(foretold, (0, n - len(foretold)))
    support, answered, right = table.sum(axis=1), table.sum(axis=0), np.diag(table)
    kept = np.sort(np.argsort(-ever, kind="stable")[:MOST])
    columns = (support, answered, right, told)
    found = [PerClass(code, *(int(each[code]) for each in columns)) for code in kept.tolist()]
    if n > MOST:
        rest = np.setdiff1d(np.arange(n), kept)
        within = int(table[np.ix_(rest, rest)].sum())  # of one another they are not told apart
        sums = (int(support[rest].sum()), int(answered[rest].sum()))
        found.append(PerClass(OTHERS, *sums, within, int(told[rest].sum())))
    return found
