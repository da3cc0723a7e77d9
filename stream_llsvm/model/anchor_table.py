"""Many anchors at once, as arrays: what a picture of them needs, also where each is wide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.mixer import ALONE, AWAKE, rms_of
from stream_llsvm.model.explain import mixed, units
from stream_llsvm.model.state import ModelState

Array = NDArray[np.float64]


#: Weights that are added up at once.
_BLOCK = 2**21


class AnchorTable(NamedTuple):
    """What some of a member's anchors say, a row each.

    Attributes
    ----------
    proba
        What each would say of a record that lies on it, if it alone were asked:
        (anchors, classes).
    columns, slopes
        The features that matter most to each, and how much the score of its likeliest class
        changes with them, per standard deviation of the feature (per unit if the model does not
        scale): (anchors, so many), the largest in size first.

    """

    proba: Array
    columns: NDArray[np.int64]
    slopes: Array


def masses_of(memory: ModelState, member: int) -> Array:
    """Return how many records each anchor of a member has answered, counted by its share."""
    return memory.members[member].masses(memory.views(1 + member))


def positions_of(
    memory: ModelState, member: int, which: NDArray[np.int64], columns: NDArray[np.int64]
) -> Array:
    """Return where anchors are in some of the features, in the user's units."""
    seen = columns < memory.shapes[1 + member][0]
    scaled = np.zeros((len(which), len(columns)))  # what it does not see is as usual
    own = memory.members[member].positions(memory.views(1 + member), which, columns[seen])
    scaled[:, seen] = own
    centre, scale = units(memory, memory.width)
    return np.asarray(centre[columns] + scale[columns] * scaled)


def table_of(
    memory: ModelState, member: int, which: NDArray[np.int64], n_features: int, most: int
) -> AnchorTable:
    """Return what the member's anchors of these numbers say, with so many features of each."""
    strength = _own_strength(memory, member)
    width, columns = memory.shapes[1 + member]
    rows = max(1, _BLOCK // max(1, width * columns))
    blocks = [which[i : i + rows] for i in range(0, len(which), rows)] or [which]
    parts = [_rows(memory, member, block, strength, n_features, most) for block in blocks]
    return AnchorTable(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _rows(
    memory: ModelState,
    member: int,
    which: NDArray[np.int64],
    strength: Array,
    n_features: int,
    most: int,
) -> tuple[Array, NDArray[np.int64], Array]:
    one, views = memory.members[member], memory.views(1 + member)
    weights, biases = one.blended(views, which, strength)
    width = memory.shapes[1 + member][0]
    places = one.positions(views, which, np.arange(width))
    heights = np.matmul(weights, places.astype(np.float32)[:, :, None])[:, :, 0] + biases
    scores = _by_class(memory, heights)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    own = _of_class(weights[..., :n_features], scores.argmax(axis=1), memory.n_classes)
    columns, slopes = _largest(own, min(most, n_features, width))
    return shares / shares.sum(axis=1, keepdims=True), columns, slopes


def answering(memory: ModelState, member: int) -> list[tuple[int, float]]:
    """Return the anchors of a member that answered the last record, with their shares."""
    if memory.views(0)["members"][AWAKE, member] == 0:
        return []  # it was not asked
    near, shares = memory.members[member].answering(memory.views(1 + member))
    return list(zip(near.tolist(), shares.tolist(), strict=True))


def _own_strength(memory: ModelState, member: int) -> Array:
    """Return what the member's own mixer, that of its experts alone, multiplies scores with."""
    own, mixer = memory.experts_of(member), memory.views(0)["mixer"]
    return np.asarray(mixer[ALONE, own] / rms_of(mixer)[own])


def _by_class(memory: ModelState, heights: Array) -> Array:
    """Return each class's score, (anchors, classes), from (anchors, columns)."""
    whole: Any = np.ones((1, memory.n_classes))
    return mixed(memory, heights.T[None], whole).T


def _of_class(weights: NDArray[np.float32], codes: Any, n_classes: int) -> NDArray[np.float32]:
    """Return how the score of each anchor's class changes with each feature."""
    if n_classes == 1:
        return np.zeros((len(weights), weights.shape[2]), dtype=np.float32)
    if n_classes == 2:
        return np.asarray((codes - np.float32(0.5)).astype(np.float32)[:, None] * weights[:, 0])
    own = weights[np.arange(len(weights)), codes]
    return np.asarray(own - weights.mean(axis=1))


def _largest(rows: NDArray[np.float32], most: int) -> tuple[NDArray[np.int64], Array]:
    """Return where each row is largest in size, and what it is there, largest first."""
    columns = np.argpartition(-np.abs(rows), most - 1, axis=1)[:, :most]
    values = np.take_along_axis(rows, columns, axis=1)
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    sorted_values = np.take_along_axis(values, order, axis=1).astype(np.float64)
    return np.take_along_axis(columns, order, axis=1), sorted_values
