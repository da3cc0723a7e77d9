"""How much a record counts: checks of what users pass as ``w``."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST_WEIGHT = 1e6


def checked_weight(w: Any) -> float:
    """Return w as a number, if it is one that a record can count."""
    weight = float(w) if isinstance(w, Real) else math.nan
    if not 0 <= weight <= _LARGEST_WEIGHT:
        raise ValueError(f"the weight w must be a number from 0 to {_LARGEST_WEIGHT:g}, got {w!r}")
    return weight


def all_fit(weights: NDArray[np.float64]) -> bool:
    """Whether records can count all of these."""
    return bool(((weights >= 0) & (weights <= _LARGEST_WEIGHT)).all())


def checked_weights(w: Any, n: int) -> NDArray[np.float64]:
    """Return a weight for each of n rows, from one number or one a row."""
    if isinstance(w, Real | str | bytes) or w is None:
        return np.full(n, checked_weight(w))
    listed = list(w.to_pylist() if hasattr(w, "to_pylist") else w)  # pyarrow's own scalars
    if getattr(w, "ndim", 1) != 1 or len(listed) != n:
        raise ValueError(
            f"{getattr(w, 'size', len(listed))} weights for {n} rows: give one number, or one a row"
        )
    return np.array([checked_weight(weight) for weight in listed], dtype=np.float64)
