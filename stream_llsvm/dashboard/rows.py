"""Records as rows of numbers, in a model's own columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.learners.base import LocalClassifier

Array = NDArray[np.float64]


def row_of(model: LocalClassifier, x: Mapping[Any, Any]) -> tuple[NDArray[np.int64], Array] | None:
    """Return the columns that a record names and their values, None if it cannot be used."""
    try:
        row = model._features.encode(x)
    except (ValueError, TypeError):
        return None
    values = row.values.reshape(-1)
    columns = row.columns if row.starts.size > 0 else np.arange(values.size)
    named = np.isfinite(values)
    return columns[named], values[named].astype(np.float64)


def filled(
    row: tuple[NDArray[np.int64], Array], columns: NDArray[np.int64], otherwise: Array
) -> Array:
    """Return the row's values in these columns, which are sorted, and something otherwise."""
    found = otherwise.copy()
    if len(columns) > 0:
        at = np.minimum(np.searchsorted(columns, row[0]), len(columns) - 1)
        there = columns[at] == row[0]
        found[at[there]] = row[1][there]
    return found
