"""Features' scales: pooled means and variances, and what becomes of each model's scaled values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.levels import RUN, RUN_MEAN, RUN_VARIANCE
from stream_llsvm.kernels.scaling import (
    BORN,
    CENTRE,
    COUNT,
    INVERSE,
    MEAN,
    NAMED,
    VARIANCE,
)
from stream_llsvm.members.pooling import Array, Rescale, mean_of, shares_of

_NO_SPREAD = 1e-24


def pooled(statistics: Sequence[Array], seen: Sequence[float], weights: Array) -> Array:
    """Return the statistics of all records together, (width, STATISTICS).

    The mean and the variance are those of the pooled values, exactly; counts are means, so that a
    model merged with its own copies is itself. What a feature is watched for goes on where all
    models that have seen it agree, and begins anew where they do not.

    Parameters
    ----------
    statistics
        Each model's.
    seen
        How many records each model has seen.
    weights
        How much each model counts; they sum to one.

    """
    counts = np.stack([own[:, COUNT] for own in statistics])
    shares = shares_of(weights[:, None] * counts)
    out = np.zeros(statistics[0].shape)
    for column in (COUNT, NAMED, BORN):
        out[:, column] = mean_of(weights, [own[:, column] for own in statistics])
    out[:, MEAN] = mean_of(shares, [own[:, MEAN] for own in statistics])
    spreads = [own[:, VARIANCE] + (own[:, MEAN] - out[:, MEAN]) ** 2 for own in statistics]
    out[:, VARIANCE] = mean_of(shares, spreads)
    watched = [RUN, RUN_MEAN, RUN_VARIANCE]
    out[:, watched] = _agreed(np.stack([own[:, watched] for own in statistics]), shares > 0)
    _settle(out, float(mean_of(weights, [np.array(n) for n in seen])))
    return out


def _agreed(runs: Array, counted: NDArray[np.bool_]) -> Array:
    """Return each feature's run, (models, width, 3), if all that count have the same, else none."""
    first = np.take_along_axis(runs, counted.argmax(axis=0)[None, :, None], axis=0)
    same = ((runs == first).all(axis=2) | ~counted).all(axis=0)
    return np.asarray(np.where(same[:, None], first[0], 0.0))


def _settle(statistics: Array, seen: float) -> None:
    """Say where each feature's centre is and what its scale, as ``kernels.scaling.observe``."""
    mean, variance = statistics[:, MEAN], statistics[:, VARIANCE]
    named, age = statistics[:, NAMED], seen - statistics[:, BORN]
    sparse = (2 * named < age) | ((variance == 0) & (named < age))
    statistics[:, CENTRE] = np.where(sparse, 0.0, mean)
    square = variance + np.where(sparse, mean * mean, 0.0)
    known = (square > _NO_SPREAD * mean * mean) & (statistics[:, COUNT] > 0)
    statistics[:, INVERSE] = np.where(known, 1 / np.sqrt(np.where(known, square, 1.0)), 0.0)


def rescaling(before: Array, after: Array, *, standardize: bool) -> Rescale:
    """Return how a model's scaled values become those of the merged one."""
    width = len(before)
    if not standardize:
        return Rescale(np.ones(width), np.zeros(width), np.zeros(width))
    old, new = before[:, INVERSE], after[:, INVERSE]
    apart = after[:, CENTRE] - before[:, CENTRE]
    factor = np.divide(old, new, out=np.zeros(width), where=new > 0)
    constant = np.where((old == 0) & (before[:, COUNT] > 0), -apart * new, 0.0)
    return Rescale(factor, apart * old, constant)
