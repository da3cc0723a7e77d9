"""Answers to some records among all of them, and records that two models have both answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.learner import Answers


def among(answers: Answers, rows: Sequence[int], n: int) -> Answers:
    """Return answers to some of n records as answers to all; the others have no key.

    Examples
    --------
    >>> some = Answers(["a", "b"], np.array([0.9, 0.8]), np.array([0.9, 0.2]), {})
    >>> every = among(some, [0, 2], 3)
    >>> every.labels, every.sure.tolist(), every.refused
    (['a', None, 'b'], [0.9, 0.0, 0.8], {1: 'no key'})

    """
    labels: list[Any] = [None] * n
    for row, label in zip(rows, answers.labels, strict=True):
        labels[row] = label
    refused = dict.fromkeys(sorted(set(range(n)) - set(rows)), "no key")
    refused |= {rows[i]: why for i, why in answers.refused.items()}

    def wide(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        full = np.zeros(n)
        full[list(rows)] = values
        return full

    full = Answers(labels, wide(answers.sure), wide(answers.truth), refused)
    if answers.probabilities is None:
        return full
    shares: list[dict[Any, float] | None] = [None] * n
    for row, one in zip(rows, answers.probabilities, strict=True):
        shares[row] = one
    return full._replace(probabilities=shares)


def together(one: Sequence[int], other: Sequence[int]) -> tuple[Any, Any]:
    """Return where the rows are that are in both."""
    if len(one) == len(other) and list(one) == list(other):
        return slice(None), slice(None)
    _, here, there = np.intersect1d(
        np.array(one, np.int64), np.array(other, np.int64), assume_unique=True, return_indices=True
    )
    return here, there
