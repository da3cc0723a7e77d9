"""How well probabilities rank records of two classes: the areas under two curves, from bins.

Records are counted in bins of the log-odds that the model gave to the second class, so that memory
does not grow with the stream. Records in one bin count as ties: an area differs from the exact one
by at most the share of pairs, one of each class, that are in the same bin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Bins, and the log-odds that the outer ones begin at: a probability of 1e-15, as it is floored.
BINS, FARTHEST = 2_048, 34.5
#: Log-odds beyond this are counted ever more coarsely: most records are nearer to even.
_FINE = 6.0
_MOST = FARTHEST / (1 + FARTHEST / _FINE)

Ranks = NDArray[np.int64]


def no_ranks() -> Ranks:
    """Return counts of no record: (class, bin)."""
    return np.zeros((2, BINS), dtype=np.int64)


def ranks_of(truth: NDArray[np.int64], loss: NDArray[np.float64]) -> Ranks:
    """Return the counts of records of two classes.

    Parameters
    ----------
    truth
        Each record's class, 0 or 1.
    loss
        Minus the logarithm of the probability that it was given.

    """
    with np.errstate(divide="ignore"):
        odds = -loss - np.log(-np.expm1(-loss))  # of the truth, and of it alone known exactly
    odds = np.clip(np.where(truth == 1, odds, -odds), -FARTHEST, FARTHEST)
    near = odds / (1 + np.abs(odds) / _FINE)
    bins = np.minimum(((near + _MOST) * (BINS / (2 * _MOST))).astype(np.int64), BINS - 1)
    return np.bincount(truth * BINS + bins, minlength=2 * BINS).reshape(2, BINS)


def roc_auc(ranks: Ranks) -> float | None:
    """Return how often a record of the one class is ranked above one of the other; ties half.

    Examples
    --------
    >>> truth, p = np.array([0, 0, 1, 1]), np.array([0.9, 0.4, 0.55, 0.7])
    >>> roc_auc(ranks_of(truth, -np.log(p)))  # the second of class 0 lies between those of 1
    0.75

    """
    n = ranks.sum(axis=1)
    if not n.all():
        return None
    above = n[1] - np.cumsum(ranks[1])
    return float((ranks[0] / n[0]) @ ((above + 0.5 * ranks[1]) / n[1]))


def pr_auc(ranks: Ranks) -> float | None:
    """Return the average precision of finding the rarer class; None if only one has come.

    Examples
    --------
    >>> truth, p = np.array([0, 0, 0, 1]), np.array([0.9, 0.7, 0.4, 0.55])
    >>> pr_auc(ranks_of(truth, -np.log(p)))  # one of class 0 is ranked above it
    0.5

    """
    n = ranks.sum(axis=1)
    if not n.all():
        return None
    right, wrong = (ranks[1, ::-1], ranks[0, ::-1]) if n[1] <= n[0] else (ranks[0], ranks[1])
    found, told = np.cumsum(right), np.cumsum(right + wrong)
    return float((right / right.sum()) @ (found / np.maximum(told, 1)))
