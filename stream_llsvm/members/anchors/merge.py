"""Anchors: positions, weights and biases become means, each model counted by the anchor's mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stream_llsvm.members.anchors.state import (
    ENERGY,
    MASS,
    MOVES,
    N_ANCHORS,
    NORM,
    PLACED,
    SEEN,
    SPREAD,
    VISITS,
    ZOOM,
)
from stream_llsvm.members.pooling import Array, Part, by_weight, mean_of, shares_of

if TYPE_CHECKING:
    from stream_llsvm.members.anchors.member import Anchors

#: Of the mass of a model's anchors, so much must lie at anchors that are nearest to their own.
_ALIKE = 0.5


def merge(member: Anchors, parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the mean of the models' anchors.

    Raises
    ------
    ValueError
        If the models do not share their anchors.

    """
    born = [int(part.views["running"][N_ANCHORS]) for part in parts]
    if len(set(born)) > 1:
        raise ValueError(
            f"models that do not share their anchors cannot be merged: {member.name} has "
            f"{min(born)} anchors in one model and {max(born)} in another; begin all of them "
            "from copies of one model that has its anchors (warm_start, or load_model)"
        )
    n = born[0]
    positions = [
        part.rescale.points(
            part.views["facts"][ZOOM, :n, None].astype(np.float64) * part.views["positions"][:n]
        )
        for part in parts
    ]
    masses = np.stack([part.views["facts"][MASS].astype(np.float64) for part in parts])
    for other, mass in zip(positions[1:], masses[1:], strict=True):
        _refuse_strangers(member, positions[0], other, mass[:n])
    weights = np.array([part.weight for part in parts])
    shares = shares_of(weights[:, None] * masses)
    even = by_weight(parts, [part.views["running"][SEEN] for part in parts])
    idle = masses.sum(axis=0) == 0
    shares[:, idle] = even[:, None]
    answering = np.ones(masses.shape[1], dtype=bool)
    answering[n : member.n_anchors] = False

    plain = by_weight(parts)
    for index in (N_ANCHORS, SPREAD, ENERGY, SEEN, MOVES):
        values = [np.array(part.views["running"][index]) for part in parts]
        whole = index in (N_ANCHORS, SEEN, MOVES)
        mean = mean_of(plain if whole else even, values)
        out["running"][index] = np.round(mean) if whole else mean
    out["running"][PLACED] = max(part.views["running"][PLACED] for part in parts)
    member.begin_settings(out)
    out["hits"][:] = mean_of(plain, [part.views["hits"] for part in parts])
    out["mapped"][:] = np.max([part.views["mapped"] for part in parts], axis=0)
    out["positions"][:n] = mean_of(shares[:, :n], positions)
    for index in (VISITS, MASS):
        out["facts"][index] = mean_of(plain, [part.views["facts"][index] for part in parts])
    out["facts"][ZOOM, :n] = 1
    out["facts"][NORM, :n] = (out["positions"][:n].astype(np.float64) ** 2).sum(axis=1)

    plainly = [_weights_and_biases(member, part) for part in parts]
    weights_of = mean_of(shares, [w for w, _ in plainly])
    biases_of = mean_of(shares, [b for _, b in plainly])
    # All scales at one: u is the raw weight, and p what the average is beyond it.
    out["raw_scale"][:] = 1
    out["keep"][answering] = 1
    out["gain"][answering] = 1
    if member.averaged:
        weights_of[:, 1] -= weights_of[:, 0]
    out["weights"][answering] = weights_of[answering]
    out["biases"][answering] = biases_of[answering]


def _weights_and_biases(member: Anchors, part: Part) -> tuple[Array, Array]:
    """Return plain weights and biases in the merged model's scales, (machines, copies, ...)."""
    views = part.views
    weights = member.plain_weights(views)
    biases = views["biases"].astype(np.float64)
    if not member.flat and not part.rescale.is_none:
        biases = biases + weights @ part.rescale.offset
        weights = weights * part.rescale.factor
    biases = part.units.factor * biases
    biases[: member.n_anchors] += part.units.offset  # of which those that answer share one
    return part.units.factor * weights, biases


def _refuse_strangers(member: Anchors, ours: Array, theirs: Array, mass: Array) -> None:
    """Refuse anchors of which the greater part is not nearest to its namesake."""
    if len(ours) < 2:
        return
    squares = (ours * ours).sum(axis=1)
    # In float64; the anchors, at most 100,000 of them, are compared a block at a time.
    own = np.zeros(len(theirs), dtype=bool)
    for begin in range(0, len(theirs), 1_000):
        some = theirs[begin : begin + 1_000]
        distance = squares - 2 * some @ ours.T
        rows = np.arange(len(some))
        own[begin : begin + 1_000] = distance[rows, begin + rows] <= distance.min(axis=1) + 1e-9
    counted = mass + 1e-9
    if counted[own].sum() < _ALIKE * counted.sum():
        raise ValueError(
            f"models that do not share their anchors cannot be merged: most anchors of "
            f"{member.name} lie nearer to others than to those of the same number; begin all "
            "models from copies of one, and merge before they have drifted so far apart"
        )
