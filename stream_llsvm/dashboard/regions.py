"""What the model would say at each place of the picture, where the picture is two features."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.dashboard.plain import number
from stream_llsvm.learners.base import LocalClassifier

CELLS = 48
_MOST_CLASSES = 256


def regions(
    model: LocalClassifier, low: NDArray[np.float64], high: NDArray[np.float64]
) -> dict[str, Any] | None:
    """Return the likeliest class of each cell of a grid, and how sure it is.

    A byte each, row by row from the lowest second feature; a cell is asked for at its middle. None
    if there are more classes than a byte can tell.
    """
    if len(model.classes) > _MOST_CLASSES:
        return None
    middles = (np.arange(CELLS) + 0.5) / CELLS
    xs, ys = (low[i] + (high[i] - low[i]) * middles for i in (0, 1))
    grid = np.stack([np.tile(xs, CELLS), np.repeat(ys, CELLS)], axis=1)
    proba, codes = model._proba_of(model.features, grid)
    sure = np.rint(255 * proba.max(axis=1)).astype(np.uint8)
    return {
        "box": [number(v, 9) for v in (low[0], low[1], high[0], high[1])],
        "columns": CELLS,
        "rows": CELLS,
        "codes": base64.b64encode(codes.astype(np.uint8).tobytes()).decode(),
        "sure": base64.b64encode(sure.tobytes()).decode(),
    }
