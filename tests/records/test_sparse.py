"""Sparse matrices as rows: nothing is lost, nothing is made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import as_matrix, frame_like, like
from stream_llsvm.records.sparse import NARROW, SparseRows, is_sparse, sparse_rows

WIDE = 200


def random_matrix(n: int = 30, width: int = WIDE, density: float = 0.05, seed: int = 0) -> Any:
    return sparse.random_array((n, width), density=density, format="csr", rng=seed)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("matrix", [sparse.csr_array, sparse.csr_matrix])
def test_every_format_gives_the_same_rows(kind: str, matrix: Any) -> None:
    X = matrix(random_matrix())
    other = X.asformat(kind)
    assert is_sparse(other)
    assert not is_sparse(X.toarray())
    rows = sparse_rows(other)
    rebuilt = sparse.csr_array((rows.values, rows.columns, rows.starts), shape=rows.shape)
    np.testing.assert_array_equal(rebuilt.toarray(), X.toarray())


def test_unsorted_and_doubled_entries_are_put_in_order_in_a_copy() -> None:
    data, indices = np.array([1.0, 2.0, 3.0]), np.array([5, 2, 5])
    X = sparse.csr_array((data, indices, np.array([0, 3])), shape=(1, WIDE))
    rows = sparse_rows(X)
    assert rows.columns.tolist() == [2, 5]
    assert rows.values.tolist() == [2.0, 4.0]
    assert X.indices.tolist() == [5, 2, 5], "the user's matrix stays as it is"


def test_rows_are_taken_as_an_array_takes_them() -> None:
    X = random_matrix(density=0.02)
    dense, rows = X.toarray(), sparse_rows(X)
    picks: list[Any] = [
        slice(0, 0),
        slice(3, 9),
        slice(7, None),
        np.array([9, 0, 0, 29]),
        np.array([], int),
    ]
    for pick in picks:
        some = rows[pick]
        rebuilt = sparse.csr_array((some.values, some.columns, some.starts), shape=some.shape)
        np.testing.assert_array_equal(rebuilt.toarray(), dense[pick])


def test_who_brings_which_column() -> None:
    X = random_matrix(density=0.03, seed=3)
    rows = np.arange(1, 30, 2)
    found = sparse_rows(X).first_rows(rows)
    known: set[int] = set()
    for row in rows.tolist():
        named = set(np.flatnonzero(X[[row]].toarray()[0]).tolist())
        assert set(found.get(row, ())) == named - known
        known |= named


@pytest.mark.parametrize("density", [0.01, 0.1, 0.6])
def test_encoded_rows_are_those_of_the_records(density: float) -> None:
    X = random_matrix(density=density)
    names, matrix, _ = as_matrix(X)
    space = FeatureSpace([3, 1, *range(20, WIDE)])
    many = space.encode_many(names, matrix)
    filled = np.full((30, len(space)), -np.inf)
    if many.starts.size:
        for i in range(30):
            part = slice(many.starts[i], many.starts[i + 1])
            assert (np.diff(many.columns[part]) > 0).all()
            filled[i, many.columns[part]] = many.values[part]
    else:
        filled = many.values
    for i in range(30):
        row = X[[i]]
        one = space.encode(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)))
        wanted = np.full(len(space), -np.inf)
        wanted[one.columns if one.starts.size else slice(None)] = one.values.reshape(-1)
        np.testing.assert_array_equal(filled[i], wanted)


def test_a_narrow_matrix_has_zeros() -> None:
    X = random_matrix(width=NARROW)
    names, matrix, _ = as_matrix(X)
    assert isinstance(matrix, np.ndarray)
    np.testing.assert_array_equal(matrix, X.toarray())
    assert names == tuple(range(NARROW))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_an_infinite_value_is_named_with_its_row(bad: float) -> None:
    X = random_matrix(density=0.02)
    dense = X.toarray()
    dense[17, 44] = bad
    with pytest.raises(ValueError, match=r"feature 44 in row 17 .* infinite"):
        as_matrix(sparse.csr_array(dense))


def test_what_is_no_matrix_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="must be 2-D"):
        as_matrix(sparse.coo_array(np.ones(100)))
    with pytest.raises(ValueError, match="complex128 is not one of numbers"):
        as_matrix(sparse.csr_array(np.ones((2, WIDE), dtype=complex)))


def test_results_for_a_sparse_matrix_are_arrays() -> None:
    X = random_matrix(3)
    assert like(X, [1, 2, 3]).tolist() == [1, 2, 3]
    assert frame_like(X, {"a": np.ones(3)}).shape == (3, 1)
    assert frame_like(X, {}).shape == (3, 0)


def test_a_matrix_without_rows() -> None:
    rows = sparse_rows(random_matrix(0))
    assert len(rows) == 0 and len(rows[0:0]) == 0
    assert rows.first_rows(np.array([], dtype=np.int64)) == {}
    assert isinstance(rows, SparseRows)
