"""Many anchors at once, as arrays: what a picture of them needs, also where each is wide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.explain import mixed, units
from stream_llsvm.kernels import state as at
from stream_llsvm.kernels.mixer import ALONE, AWAKE, POWER
from stream_llsvm.memory import Memory

Array = NDArray[np.float64]


class AnchorTable(NamedTuple):
    """Some of a member's anchors, a row each.

    Attributes
    ----------
    which
        Their numbers, which stay theirs.
    positions
        Where they are, in the user's units: (anchors, features).
    proba
        What each would say of a record that lies on it, if it alone were asked:
        (anchors, classes).
    slopes
        How much the score of its likeliest class changes with a feature, per standard deviation
        of the feature (per unit if the model does not scale): (anchors, features).

    """

    which: NDArray[np.int64]
    positions: Array
    proba: Array
    slopes: NDArray[np.float32]


def masses_of(memory: Memory, member: int) -> Array:
    """Return how many records each anchor of a member has answered, counted by its share."""
    return memory.members[member].masses(memory.views(1 + member))


def positions_of(
    memory: Memory, member: int, which: NDArray[np.int64], columns: NDArray[np.int64]
) -> Array:
    """Return where anchors are in some of the features, in the user's units."""
    scaled = memory.members[member].positions(memory.views(1 + member), which)[:, columns]
    centre, scale = units(memory, memory.width)
    return np.asarray(centre[columns] + scale[columns] * scaled)


def table_of(memory: Memory, member: int, which: NDArray[np.int64], n_features: int) -> AnchorTable:
    """Return a member's anchors of these numbers."""
    one, views = memory.members[member], memory.views(1 + member)
    scaled = one.positions(views, which)
    weights, biases = one.blended(views, which, _own_strength(memory, member))
    heights = np.einsum("ncw,nw->nc", weights, scaled) + biases
    scores = _by_class(memory, heights)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    centre, scale = units(memory, n_features)
    return AnchorTable(
        which,
        centre + scale * scaled[:, :n_features],
        shares / shares.sum(axis=1, keepdims=True),
        _of_class(weights[..., :n_features], scores.argmax(axis=1), memory.n_classes),
    )


def answering(memory: Memory, member: int) -> list[tuple[int, float]]:
    """Return the anchors of a member that answered the last record, with their shares."""
    if memory.views(0)["members"][AWAKE, member] == 0:
        return []  # it was not asked
    near, shares = memory.members[member].answering(memory.views(1 + member))
    return list(zip(near.tolist(), shares.tolist(), strict=True))


def _own_strength(memory: Memory, member: int) -> Array:
    """Return what the member's own mixer, that of its experts alone, multiplies scores with."""
    row, mixer = memory.plan[1 + member], memory.views(0)["mixer"]
    own = slice(row[at.FIRST_EXPERT], row[at.FIRST_EXPERT] + row[at.OWN_EXPERTS])
    return np.asarray(mixer[ALONE, own] / (np.sqrt(mixer[POWER, own]) + 1e-6))


def _by_class(memory: Memory, heights: Array) -> Array:
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
