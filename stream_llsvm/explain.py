"""Why a prediction came out as it did, exactly: contributions that add up to the score.

A blend of linear machines is itself linear at any one record: w(x) = sum_j gamma_j W_j, LL(6, 7).
The mixer adds such machines up with its trust in each, so a class's score is

    score = bias + sum_i weight_i z_i        z: the scaled features

with nothing left over. Where the mixer has clipped an expert, that expert's part is scaled down
alike, so that the sum still is the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.mixer import POWER, TRUST
from stream_llsvm.kernels.scaling import CENTRE, INVERSE, Z_CLIP
from stream_llsvm.memory import Memory

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """One prediction, taken apart.

    Attributes
    ----------
    label
        The label explained: the predicted one, unless another was asked for.
    score
        Its score, as `decision_function_one` gives it.
    bias
        What the score would be if every feature were at its mean.
    contributions
        What each feature of the record adds to that: ``bias + sum(contributions) == score``.
    weights
        How the score changes with each feature, per unit of the feature; 0 for a value so far out
        that it was clipped.

    """

    label: Any
    score: float
    bias: float
    contributions: dict[Any, float]
    weights: dict[Any, float]


@dataclass(frozen=True)
class Anchor:
    """One anchor, in the user's own units.

    Attributes
    ----------
    position
        Where it is: ``{feature: value}``.
    mass
        How many records it has answered, each counted by its share of the answer.
    weights
        Its own machine: for each label ``{feature: change of the score per unit}``.
    bias
        For each label, its machine's score where every feature is 0.

    """

    position: dict[Any, float]
    mass: float
    weights: dict[Any, dict[Any, float]]
    bias: dict[Any, float]


def mixed(memory: Memory, weights: Array, biases: Array, strength: Array) -> tuple[Array, Array]:
    """Blend experts' machines, (experts, columns, width), into one machine a class.

    ``strength`` holds for each expert and class what its score is multiplied with.
    """
    if weights.shape[1] == 1:
        signs = np.array([-0.5, 0.5]) if memory.n_classes == 2 else np.zeros(1)
        weights = signs[None, :, None] * weights
        biases = signs * biases
    else:
        weights = weights - weights.mean(axis=1, keepdims=True)
        biases = biases - biases.mean(axis=1, keepdims=True)
    return np.einsum("ec,ecd->cd", strength, weights), np.einsum("ec,ec->c", strength, biases)


def explain_last(memory: Memory, code: int, n_features: int) -> tuple[float, float, Array, Array]:
    """Explain the class's score for the record that the last call scored.

    Returns
    -------
    score, bias
        Of the class.
    z, weights
        The record's scaled features in column order and, for each, its weight.

    """
    model = memory.views(0)
    locals_ = [m.local(memory.views(1 + i)) for i, m in enumerate(memory.members)]
    weights = np.concatenate([w for w, _ in locals_])[..., :n_features]
    biases = np.concatenate([b for _, b in locals_])
    rms = np.sqrt(model["mixer"][POWER]) + 1e-6
    plain = np.full((len(weights), memory.n_classes), (1 / rms)[:, None])
    scores = model["scores"][0].astype(np.float64)
    if scores.shape[1] == 1:
        unclipped = scores / 2 * np.array([-1.0, 1.0])[: memory.n_classes] / rms[:, None]
    else:
        unclipped = (scores - scores.mean(axis=1, keepdims=True)) / rms[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        clipped = np.where(unclipped == 0, 1.0, model["normal"] / unclipped)
    strength = model["mixer"][TRUST][:, None] * plain * clipped
    by_class, bias = mixed(memory, weights, biases, strength)
    score = float(model["mixer"][TRUST] @ model["normal"][:, code])
    return score, float(bias[code]), model["z"][0].astype(np.float64), by_class[code]


def anchors_of(memory: Memory, names: tuple[Any, ...], labels: tuple[Any, ...]) -> list[Anchor]:
    """List the anchors of the first member, in the user's units."""
    model, n = memory.views(0), len(names)
    trust = model["mixer"][TRUST] / (np.sqrt(model["mixer"][POWER]) + 1e-6)
    strength = np.repeat(trust[:, None], memory.n_classes, axis=1)
    centre, scale = units(memory, n)
    found = []
    for position, mass, weights, biases in memory.members[0].anchors(memory.views(1)):
        w, b = mixed(memory, weights[..., :n], biases, strength)
        w = w * np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
        b = b - w @ centre
        found.append(
            Anchor(
                position=dict(zip(names, (centre + scale * position[:n]).tolist(), strict=True)),
                mass=mass,
                weights={
                    label: dict(zip(names, row.tolist(), strict=True))
                    for label, row in zip(labels, w, strict=True)
                },
                bias=dict(zip(labels, b.tolist(), strict=True)),
            )
        )
    return found


def units(memory: Memory, n_features: int) -> tuple[Array, Array]:
    """Return centre and scale of each feature: value = centre + scale z."""
    statistics = memory.views(0)["statistics"][:n_features]
    if not memory.standardize:
        return np.zeros(n_features), np.ones(n_features)
    inverse = statistics[:, INVERSE]
    return statistics[:, CENTRE], np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), 0)


def per_unit(memory: Memory, z: Array, weights: Array, columns: NDArray[np.int64]) -> Array:
    """Return weights per unit of the features in these columns."""
    if not memory.standardize:
        return weights
    inverse = memory.views(0)["statistics"][columns, INVERSE]
    return np.where(np.abs(z) < Z_CLIP, weights * inverse, 0.0)
