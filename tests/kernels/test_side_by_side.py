"""The smallest distances of rows side by side are each row's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from stream_llsvm.kernels.side_by_side import MOST, ROWS, smallest_side_by_side


@njit
def _compiled(distances: Any, near: Any, nearest: Any) -> None:
    smallest_side_by_side(distances, near, nearest)


def _found(table: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    near, nearest = np.full((2, MOST * ROWS), 7, dtype=np.float32)
    _compiled(np.ascontiguousarray(table, dtype=np.float32).reshape(-1), near, nearest)
    return near.reshape(MOST, ROWS), nearest.reshape(MOST, ROWS)


@pytest.mark.parametrize("count", [1, 3, MOST, MOST + 1, 100, 1_000])
@pytest.mark.parametrize("kind", ["random", "many equal", "falling", "rising"])
def test_they_are_those_that_numpy_finds(count: int, kind: str) -> None:
    rng = np.random.default_rng(count)
    table = rng.uniform(size=(count, ROWS)).astype(np.float32)
    if kind == "many equal":  # the first of them comes first
        table = np.floor(4 * table)
    elif kind != "random":
        table = np.sort(table, axis=0)[:: 1 if kind == "rising" else -1]
    near, nearest = _found(table)
    plain = np.zeros((2, MOST * ROWS), dtype=np.float32)
    smallest_side_by_side(table.reshape(-1), plain[0], plain[1])
    some = min(count, MOST)
    assert near[:some].tolist() == plain[0].reshape(MOST, ROWS)[:some].tolist()
    assert nearest[:some].tolist() == plain[1].reshape(MOST, ROWS)[:some].tolist()
    assert np.isinf(nearest[some:]).all()


def test_what_is_endless_or_no_number_is_not_among_them() -> None:
    table = np.ones((20, ROWS))
    table[:10, 3], table[10:18, 3] = np.inf, np.nan
    near, nearest = _found(table)
    assert near[:2, 3].tolist() == [18, 19]
    assert nearest[:3, 3].tolist() == [1, 1, np.inf]
    assert near[:, 4].tolist() == list(range(MOST))
