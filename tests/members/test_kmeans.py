"""K-means: what it finds, and that nothing in the data can trip it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.members.kmeans import kmeans
from tests.oracle_parts import Array


def _blobs(seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    return middles, np.concatenate([m + 0.1 * rng.normal(size=(50, 2)) for m in middles])


def _sorted(rows: NDArray[np.floating[Any]]) -> Array:
    return rows[np.lexsort(rows.T)].astype(np.float64)


def test_clear_clusters_are_found_and_counted() -> None:
    middles, z = _blobs()
    centres, counts = kmeans(z.astype(np.float32), 4, np.random.default_rng(1))
    np.testing.assert_allclose(_sorted(np.round(centres)), _sorted(middles), atol=1e-6)
    assert counts.tolist() == [50] * 4


def test_every_centre_is_the_mean_of_its_rows_and_has_the_rows_dtype() -> None:
    _, z = _blobs()
    z = z.astype(np.float32)
    centres, counts = kmeans(z, 6, np.random.default_rng(2))
    assert centres.dtype == np.float32
    nearest = ((z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    for j, centre in enumerate(centres):
        np.testing.assert_allclose(centre, z[nearest == j].mean(axis=0), atol=1e-3)
    assert counts.sum() == len(z)


def test_more_blocks_than_one_give_the_same_clusters() -> None:
    z = np.random.default_rng(0).normal(size=(9_000, 3))
    centres, counts = kmeans(z, 10, np.random.default_rng(0))
    nearest = ((z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert counts.sum() == len(z)
    # Twenty rounds need not settle 9,000 rows, but only a few still change their centre.
    assert np.abs(np.bincount(nearest, minlength=10) - counts).sum() < 0.05 * len(z)


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_fewer_distinct_rows_give_fewer_centres(offset: float) -> None:
    z = np.tile(np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]), (20, 1)) + offset
    centres, counts = kmeans(z.astype(np.float32), 10, np.random.default_rng(0))
    assert len(centres) == 3
    np.testing.assert_allclose(_sorted(centres), _sorted(z[:3]), rtol=1e-6)
    assert counts.tolist() == [20] * 3


def test_one_row_and_equal_rows() -> None:
    for rows in (1, 30):
        centres, counts = kmeans(np.zeros((rows, 4)), 5, np.random.default_rng(0))
        assert centres.tolist() == [[0, 0, 0, 0]]
        assert counts.tolist() == [rows]


def test_it_depends_on_the_seed_alone() -> None:
    z = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    one, two, other = (kmeans(z, 8, np.random.default_rng(s))[0] for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
