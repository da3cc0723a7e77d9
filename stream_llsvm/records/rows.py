"""Rows of numbers, as the kernels take them."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: A column that the record does not name at all. Infinity is never legal in a record, so the
#: code point is free; NaN says that the column is named, but has no value.
ABSENT = -inf


class Row(NamedTuple):
    """Rows of numbers, dense or sparse; what the kernels take.

    Attributes
    ----------
    values
        Dense: (n, D), C-contiguous. Sparse: 1-D, the named values of all rows one after the
        other.
    columns
        Dense: empty. Sparse: the column of each value, ascending within a row.
    starts
        Dense: empty. Sparse: (n + 1,), where each row starts.

    """

    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]


def as_sparse(rows: Row) -> Row:
    """Return dense rows as sparse ones, of what they name.

    Parameters
    ----------
    rows
        Dense rows.

    Examples
    --------
    >>> as_sparse(dense(np.array([[1.0, ABSENT], [2.0, 3.0]])))
    Row(values=array([1., 2., 3.]), columns=array([0, 0, 1]), starts=array([0, 1, 3]))

    """
    named = rows.values != ABSENT
    starts = np.zeros(len(named) + 1, dtype=np.int64)
    np.cumsum(named.sum(axis=1), out=starts[1:])
    return Row(rows.values[named], np.nonzero(named)[1].astype(np.int64), starts)


def dense(values: NDArray[np.float64]) -> Row:
    """Return dense rows.

    Parameters
    ----------
    values
        (n, D), C-contiguous.

    """
    nothing = np.zeros(0, dtype=np.int64)
    return Row(values, nothing, nothing)
