"""Merge whole states, in one order of features and classes: scales, members, mixer, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import calibration
from stream_llsvm.kernels.levels import RUN, RUN_MEAN, RUN_VARIANCE
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE
from stream_llsvm.kernels.run import MIXED, SEEN, SharedState
from stream_llsvm.kernels.scaling import (
    BORN,
    CENTRE,
    COUNT,
    INVERSE,
    MEAN,
    NAMED,
    VARIANCE,
)
from stream_llsvm.kernels.sections import sections_of
from stream_llsvm.members.pooling import Array, Part, Rescale, by_weight, mean_of, shares_of
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace


def merged(memories: Sequence[ModelState], weights: Sequence[float]) -> ModelState:
    """Return one state of several, of the same members, features and classes in one order.

    Raises
    ------
    ValueError
        If the models have nothing in common that could be averaged.

    """
    # In an order of their own, so that sums are the same to the bit in whatever order they come.
    order = sorted(range(len(memories)), key=lambda k: (memories[k].state.tobytes(), weights[k]))
    memories = [memories[k] for k in order]
    share = shares_of(np.array([weights[k] for k in order], dtype=np.float64))
    first = memories[0]
    new = first.grown(first.width, first.n_classes)
    new.begin()
    views = [memory.views(0) for memory in memories]
    out = new.views(0)
    seen = [float(own["counters"][SEEN]) for own in views]
    statistics = [own["statistics"] for own in views]
    out["statistics"][:] = pooled(statistics, seen, share)
    scales = [rescaling(s, out["statistics"], standardize=first.standardize) for s in statistics]
    _merge_mixer(views, share, out)
    units = new.pool_units(memories, share)
    for i, member in enumerate(new.members):
        parts = [
            Part(memory.views(1 + i), float(w), scale, unit)
            for memory, w, scale, unit in zip(memories, share, scales, units, strict=True)
        ]
        own = new.views(1 + i)
        member.merge(parts, own)
    return new


def _merge_mixer(views: Sequence[dict[str, Array]], share: Array, out: dict[str, Array]) -> None:
    parts = [Part(own, float(w), _AS_IT_IS) for own, w in zip(views, share, strict=True)]
    by_lessons = by_weight(parts, [float(own["counters"][MIXED]) for own in views])
    out["counters"][:] = np.round(mean_of(share, [own["counters"] for own in views]))
    out["mixer"][:] = mean_of(by_lessons, [own["mixer"] for own in views])
    out["joined"][:] = mean_of(by_lessons, [own["joined"] for own in views])
    facts = [own["members"] for own in views]
    out["members"][:] = mean_of(by_lessons, facts)
    # A member that works anywhere works; the rest is a matter of the next decision.
    out["members"][AWAKE] = np.max([own[AWAKE] for own in facts], axis=0)
    for row in (JUDGED, SINCE):
        out["members"][row] = np.round(mean_of(share, [own[row] for own in facts]))
    tables = [own["calibration"] for own in views]
    right, count = calibration.RIGHT, calibration.COUNT
    counted = shares_of(share[:, None] * np.stack([table[count] for table in tables]))
    out["calibration"][right] = mean_of(counted, [table[right] for table in tables])
    out["calibration"][count] = mean_of(share, [table[count] for table in tables])


_AS_IT_IS = Rescale(np.ones(0), np.zeros(0), np.zeros(0))


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


Order = NDArray[np.int64]
_OF_FEATURES = ("width", "machine_width", "mapped_width")


def grown_to(
    old: ModelState, known: int, features: FeatureSpace, width: int, n_classes: int
) -> ModelState:
    """Return a copy of a state with room for so much; columns from ``known`` on are new."""
    new = old.grown(width, n_classes)
    if (width, n_classes) == (old.width, old.n_classes):
        new.allocate(old.state)
    else:
        old.carry_to(new)
    new.introduce(known, features.field_hashes(known))
    return new


def reorder(model: ModelState, features: Sequence[int], classes: Sequence[int]) -> None:
    """Put column ``features[i]`` of the model in the place of column i; classes likewise."""
    columns = np.arange(model.width)
    columns[: len(features)] = features
    codes = np.array(classes, dtype=np.int64)
    if np.array_equal(columns, np.arange(model.width)) and np.array_equal(
        codes, np.arange(len(codes))
    ):
        return
    for view, dimensions in _sections(model):
        for axis, name in enumerate(dimensions):
            if name in _OF_FEATURES and view.shape[axis] == model.width:
                view[:] = np.take(view, columns, axis=axis)
            elif name == "classes" or (name == "columns" and view.shape[axis] > 1):
                view[:] = np.take(view, codes, axis=axis)
            elif name == "columns" and list(classes) == [1, 0]:
                np.negative(
                    view, out=view
                )  # two classes share one score, of the second against the first
    for i, member in enumerate(model.members):
        member.reorder(model.views(1 + i), columns, codes)


def _sections(model: ModelState) -> Iterator[tuple[NDArray[Any], Sequence[int | str]]]:
    for row, kind in enumerate([SharedState, *(member.state for member in model.members)]):
        views = model.views(row)
        for section in sections_of(kind):
            if section.where == "state":
                yield views[section.name], section.flat_dimensions
