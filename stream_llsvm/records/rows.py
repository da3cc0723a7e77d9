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


def dense(values: NDArray[np.float64]) -> Row:
    """Return dense rows.

    Parameters
    ----------
    values
        (n, D), C-contiguous.

    """
    nothing = np.zeros(0, dtype=np.int64)
    return Row(values, nothing, nothing)
