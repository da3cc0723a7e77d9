"""Rows cut into parts: the same rows, dense or sparse, and no copies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.model.rows import Rows

N = 5
# Five rows of three features; as a sparse record each names those that are not 0.
DENSE = np.array([[1, 0, 2], [0, 0, 0], [3, 4, 5], [0, 6, 0], [7, 0, 0]], dtype=np.float64)


def rows(sparse: bool) -> Rows:
    if sparse:
        values, columns = DENSE[DENSE != 0], np.nonzero(DENSE)[1].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum((DENSE != 0).sum(axis=1))]).astype(np.int64)
    else:
        values, columns, starts = DENSE.reshape(-1), np.zeros(0, np.int64), np.zeros(0, np.int64)
    labels = np.arange(N)
    return Rows(values, columns, starts, labels, labels / 2, np.zeros((N, 2)), np.full(N, -1))


def table(of: Rows) -> NDArray[np.float64]:
    """Return what the rows say, as an array."""
    n = len(of.labels)
    if of.starts.size == 0:
        return of.values.reshape(n, -1)
    table = np.zeros((n, DENSE.shape[1]))
    for q in range(n):
        some = slice(of.starts[q], of.starts[q + 1])
        table[q, of.columns[some]] = of.values[some]
    return table


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("begin", "end"), [(0, 5), (0, 2), (1, 2), (2, 5), (4, 5)])
def test_a_part_says_what_its_rows_say(sparse: bool, begin: int, end: int) -> None:
    part = rows(sparse).part(begin, end)
    assert (table(part) == DENSE[begin:end]).all()
    assert part.labels.tolist() == list(range(begin, end))
    assert (part.importance == part.labels / 2).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_part_of_a_part(sparse: bool) -> None:
    part = rows(sparse).part(1, 5).part(1, 3)
    assert (table(part) == DENSE[2:4]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_answers_to_a_part_are_answers_to_the_whole(sparse: bool) -> None:
    whole = rows(sparse)
    part = whole.part(2, 4)
    part.proba[:], part.likeliest[:] = 0.5, 1
    assert whole.likeliest.tolist() == [-1, -1, 1, 1, -1]
    assert (whole.proba[:, 0] == [0, 0, 0.5, 0.5, 0]).all()
