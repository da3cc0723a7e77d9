"""Pool what models know of each feature's values, and say what that makes of scaled ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.levels import RUN, RUN_MEAN, RUN_VARIANCE
from stream_llsvm.kernels.scaling import (
    ABSENT_BEFORE,
    BORN,
    CENTRE,
    COUNT,
    INVERSE,
    MANY,
    MEAN,
    NAMED,
    VARIANCE,
)
from stream_llsvm.members.pooling import Array, Rescale, mean_of, shares_of

_NO_SPREAD = 1e-24


def pooled(
    statistics: Sequence[Array], seen: Sequence[float], weights: Array, *, since: bool
) -> Array:
    """Return the statistics of all records together, (width, STATISTICS).

    Mean and variance are those of the pooled values, exactly. If the first statistics are those of
    the model that all parted from, its values count once, and counts are those of all records;
    without them counts are means, so that a model merged with its own copies is itself.

    Where a feature's scale began anew in some model, what the others know of it is of a level that
    it has left: only those count. What a feature is watched for goes on where all models that have
    seen it agree, and begins anew where they do not.

    Parameters
    ----------
    statistics
        Each model's.
    seen
        How many records each model has seen.
    weights
        How much each model counts if there is no base; they sum to one.
    since
        Whether the first is the base.

    """
    tables = np.stack(statistics)
    counts = tables[:, :, COUNT]
    if since:
        lost = counts[1:] < counts[0]
        whole = np.where(lost.any(axis=0), lost, 1.0)
        signs = np.concatenate([np.where(lost.any(axis=0), 0.0, 1.0 - len(lost))[None], whole])
        amounts = signs * counts
        now = seen[0] + sum(n - seen[0] for n in seen[1:])
    else:
        signs = np.repeat(weights[:, None], counts.shape[1], axis=1)
        amounts = signs * counts
        now = float(mean_of(weights, [np.array(n) for n in seen]))
    shares = shares_of(amounts)
    # Of values that nobody has seen the signs sum to one as well.
    shares = np.where(amounts.sum(axis=0) > 0, shares, signs)
    out = np.zeros(statistics[0].shape)
    out[:, COUNT] = amounts.sum(axis=0)
    kept = np.concatenate([[1.0 - len(tables[1:])], np.ones(len(tables) - 1)]) if since else weights
    ages = np.array(seen)[:, None] - tables[:, :, BORN]
    out[:, BORN] = np.maximum(now - kept @ ages, 0.0)
    out[:, NAMED] = np.maximum(kept @ tables[:, :, NAMED], 0.0)
    origin = tables[0, :, MEAN]  # sums of differences lose less
    out[:, MEAN] = origin + (shares * (tables[:, :, MEAN] - origin)).sum(axis=0)
    spread = tables[:, :, VARIANCE] + (tables[:, :, MEAN] - out[:, MEAN]) ** 2
    out[:, VARIANCE] = np.maximum((shares * spread).sum(axis=0), 0.0)
    watched = [RUN, RUN_MEAN, RUN_VARIANCE]
    out[:, watched] = _agreed(tables[since:, :, watched], counts[since:] > 0)
    _settle(out, now)
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
    if len(statistics) >= MANY:
        age = age + np.minimum(statistics[:, BORN], ABSENT_BEFORE)
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
