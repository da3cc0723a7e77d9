"""Predictions that wait for their labels, taken out of a model's block and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.pending import DIGEST, SINCE, place_of
from stream_llsvm.kernels.run import WAITING


class Foretold(NamedTuple):
    """Predictions that wait for their labels: of which records, and the experts' scores."""

    entries: NDArray[np.int64]
    scores: NDArray[np.float32]


def waiting_of(model: Mapping[str, NDArray[Any]]) -> Foretold:
    """Return copies of those in these sections of a model."""
    taken = np.flatnonzero(model["foretold"][:, DIGEST])
    return Foretold(model["foretold"][taken], model["foretold_scores"][taken])


def put_waiting(model: Mapping[str, NDArray[Any]], foretold: Foretold) -> None:
    """Let these wait in a model, and no others.

    Raises
    ------
    ValueError
        If they cannot be predictions of this model (they may come from a file).

    """
    entries, scores = foretold
    places = place_of(entries[:, DIGEST], len(model["foretold"]))
    if (
        scores.shape != (len(entries), *model["foretold_scores"].shape[1:])
        or (entries[:, DIGEST] == 0).any()
        or (entries[:, SINCE] < 0).any()
        or len(np.unique(places)) < len(places)
        or not np.isfinite(scores).all()
    ):
        raise ValueError("these are no predictions of this model")
    for name, values in (("foretold", entries), ("foretold_scores", scores)):
        model[name][:] = 0
        model[name][places] = values
    model["memo"][WAITING] = len(places)
