"""Rows of which most values are not there: a sparse matrix, as far as records need one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.nans import with_plain_nans

#: Up to so many columns a sparse matrix is made a dense one: zeros are then values like others.
NARROW = 64


@dataclass(frozen=True)
class SparseRows:
    """Rows in compressed form (CSR): the stored values of all rows, one row after the other.

    Attributes
    ----------
    values
        The stored values; a missing one is NaN.
    columns
        The column of each value, ascending within a row.
    starts
        (n + 1,), where each row starts.
    width
        How many columns there are.

    Examples
    --------
    >>> starts = np.array([0, 1, 3])
    >>> rows = SparseRows(np.array([5.0, 6.0, 7.0]), np.array([2, 0, 2]), starts, width=3)
    >>> len(rows), rows[1:].columns, rows[np.array([1, 0])].values
    (2, array([0, 2]), array([6., 7., 5.]))

    """

    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, as of an array."""
        return len(self), self.width

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> SparseRows:
        """Return some rows: a slice of them, or those numbered, in that order."""
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(self))
            first, last = self.starts[begin], self.starts[max(begin, end)]
            starts = self.starts[begin : max(begin, end) + 1] - first
            return SparseRows(self.values[first:last], self.columns[first:last], starts, self.width)
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return SparseRows(self.values[places], self.columns[places], starts, self.width)

    def first_rows(self, rows: NDArray[np.int64]) -> dict[int, list[int]]:
        """Return which columns each of these rows is the first of them to name.

        Parameters
        ----------
        rows
            Ascending numbers of rows; others are passed over.

        """
        some = self[rows]
        named, first = np.unique(some.columns, return_index=True)
        owners = rows[np.searchsorted(some.starts, first, side="right") - 1]
        found: dict[int, list[int]] = {}
        for column, row in zip(named.tolist(), owners.tolist(), strict=True):
            found.setdefault(row, []).append(column)
        return found


def is_sparse(X: Any) -> bool:
    """Tell whether X is one of scipy's sparse matrices or arrays, which need not be installed."""
    return type(X).__module__.startswith("scipy.sparse")


def sparse_rows(X: Any) -> SparseRows:
    """Return scipy's sparse matrix as rows: sorted, and each column once a row.

    Parameters
    ----------
    X
        A 2-D sparse matrix or array of any of scipy's formats; CSR is not copied where it fits.

    """
    csr = X.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy() if csr is X else csr
        csr.sum_duplicates()
    if csr.data.dtype.kind not in "biuf":
        raise ValueError(f"a sparse matrix of {csr.data.dtype} is not one of numbers")
    with np.errstate(over="ignore"):  # a long double may become infinite, and is refused
        values = np.require(csr.data, np.float64, ["C", "A", "W", "E"])
    columns, starts = (
        np.require(part, np.int64, ["C", "A", "W"]) for part in (csr.indices, csr.indptr)
    )
    return SparseRows(with_plain_nans(values), columns, starts, int(csr.shape[1]))
