"""Bring a state to other features and classes: room for more, and another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.run import SharedState
from stream_llsvm.kernels.sections import sections_of
from stream_llsvm.model.foretold import Foretold
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace

Order = NDArray[np.int64]
_OF_FEATURES = ("width", "machine_width", "mapped_width")


def grown_to(
    old: ModelState,
    known: int,
    features: FeatureSpace,
    width: int,
    n_classes: int,
    local: int | None = None,
) -> ModelState:
    """Return a copy of a state with room for so much; columns from ``known`` on are new."""
    new = old.grown(width, n_classes, local)
    if (width, n_classes, new.local_width) == (old.width, old.n_classes, old.local_width):
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
    entries, scores = model.foretold()  # of records that are told otherwise from here on
    model.recall(Foretold(entries[:0], scores[:0]))
    for view, dimensions, width in _sections(model):
        for axis, name in enumerate(dimensions):
            if name in _OF_FEATURES and view.shape[axis] == width:
                view[:] = np.take(view, _among_the_first(width, columns), axis=axis)
            elif name == "classes" or (name == "columns" and view.shape[axis] > 1):
                view[:] = np.take(view, codes, axis=axis)
            elif name == "columns" and list(classes) == [1, 0]:
                np.negative(
                    view, out=view
                )  # two classes share one score, of the second against the first
    for i, member in enumerate(model.members):
        width = model.shapes[1 + i][0]
        member.reorder(model.views(1 + i), _among_the_first(width, columns), codes)


def _among_the_first(width: int, columns: Order) -> Order:
    """Return an order of all columns as one of the first.

    What comes from behind them is none of those that the member has seen: it is as good as any
    other that it has not.
    """
    own = columns[:width].copy()
    behind = own >= width
    own[behind] = np.setdiff1d(np.arange(width), own[~behind])
    return own


def _sections(model: ModelState) -> Iterator[tuple[NDArray[Any], Sequence[int | str], int]]:
    """Yield each section, its dimensions, and how many columns there are to its owner."""
    for row, kind in enumerate([SharedState, *(member.state for member in model.members)]):
        views = model.views(row)
        for section in sections_of(kind):
            if section.where == "state":
                yield views[section.name], section.flat_dimensions, model.shapes[row][0]
