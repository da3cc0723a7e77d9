"""Bring a model's state to another order of features and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.run import SharedState
from stream_llsvm.kernels.sections import sections_of
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace

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
