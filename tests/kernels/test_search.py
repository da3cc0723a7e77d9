"""The smallest of many distances: as a stable sort finds them."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels import search
from stream_llsvm.kernels.search import GROUPS
from tests.kernels.alone import alone

smallest = alone(search.smallest)


def found_in(distance: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    near, nearest = np.full(k, -1), np.full(k, np.nan, dtype=np.float32)
    least = np.zeros(GROUPS, dtype=np.float32)
    smallest(distance, least, np.zeros((3, GROUPS), dtype=np.int64), near, nearest)
    return near, nearest


def in_turn(distance: np.ndarray) -> np.ndarray:
    """Return the order in which records are looked at: group after group."""
    numbers = np.arange(len(distance))
    return numbers[np.lexsort((numbers, numbers % GROUPS))]


@pytest.mark.parametrize("n", [1, 5, 8, 100, GROUPS, GROUPS + 1, 700, 2_000])
@pytest.mark.parametrize("k", [1, 8, 20, 50])
@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_the_smallest_are_found_in_order_and_equal_ones_as_they_come(
    n: int, k: int, decimals: int
) -> None:
    rng = np.random.default_rng(n + k)
    for _ in range(20):
        distance = np.abs(rng.normal(size=n)).round(decimals).astype(np.float32)
        k = min(k, n)
        near, nearest = found_in(distance, k)
        turn = in_turn(distance)
        expected = turn[np.argsort(distance[turn], kind="stable")][:k]
        assert near.tolist() == expected.tolist()
        assert nearest.tolist() == distance[expected].tolist()


@pytest.mark.parametrize("n", [GROUPS, 2_000])
def test_more_equal_ones_than_are_compared_with_each_other(n: int) -> None:
    distance = np.full(n, 0.5, dtype=np.float32)
    distance[[3, n - 1]] = 0.25, 0.125
    near, nearest = found_in(distance, 8)
    turn = [j for j in in_turn(distance) if j not in (3, n - 1)]
    assert near.tolist() == [n - 1, 3, *turn[:6]]
    assert nearest.tolist() == [0.125, 0.25] + [0.5] * 6
