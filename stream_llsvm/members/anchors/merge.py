"""Anchors: positions, weights and biases become means, each model counted by the anchor's mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_llsvm.members.anchors.pool import add_machines, find_gaps, find_own
from stream_llsvm.members.anchors.state import (
    MASS,
    MOVES,
    N_ANCHORS,
    NORM,
    PLACED,
    REACH,
    SEEN,
    VISITS,
    ZOOM,
)
from stream_llsvm.members.pooling import Array, NoMeanError, Part, Parted, Shares, mean_of

if TYPE_CHECKING:
    from stream_llsvm.members.anchors.member import Anchors

#: Of the mass of a model's anchors, so much must lie at anchors that are nearest to their own.
_ALIKE = 0.5


def merge(member: Anchors, models: Parted, out: dict[str, Array]) -> None:
    """Fill ``out`` with the mean of the models' anchors.

    Raises
    ------
    NoMeanError
        If the models do not share their anchors.

    """
    n = _number(member, models)
    positions = [_positions(part, n) for part in models.parts]
    _refuse_strangers(member, models, positions)
    shares = models.by_rows(np.stack(models.each("facts", MASS)), 0.0, member.average_floor)
    by_lessons = models.shares(models.each("running", SEEN))
    out["running"][:] = mean_of(by_lessons, models.each("running"))
    for index in (SEEN, MOVES):
        out["running"][index] = models.counted("running", index)
    out["running"][N_ANCHORS] = n
    for index in (PLACED, REACH):
        out["running"][index] = max(part.views["running"][index] for part in models.parts)
    member.begin_settings(out)
    out["hits"][:] = mean_of(by_lessons, models.each("hits"))
    out["mapped"][:] = np.max(models.each("mapped"), axis=0)
    out["positions"][:n] = mean_of(shares.raw[:, :n], positions)
    for index in (VISITS, MASS):
        out["facts"][index] = np.maximum(models.summed(models.each("facts", index)), 0)
    out["facts"][ZOOM, :n] = 1
    out["facts"][NORM, :n] = (out["positions"][:n].astype(np.float64) ** 2).sum(axis=1)
    _merge_machines(member, models, shares, n, out)


def _merge_machines(
    member: Anchors, models: Parted, shares: Shares, n: int, out: dict[str, Array]
) -> None:
    """Fill in weights and biases, all scales at one: u is raw, and p what the mean is beyond it."""
    machines = len(out["gain"])
    half, copies = out["raw_scale"].size * out["biases"].shape[-1], member.copies
    weights = out["weights"].reshape(machines, copies * half, -1)
    biases = out["biases"].reshape(machines, copies * half)
    for raw, means, part in zip(*shares, models.parts, strict=True):
        own, rescale = part.views, part.rescale
        add_machines(
            own["weights"].reshape(weights.shape),
            own["biases"].reshape(biases.shape),
            own["raw_scale"],
            own["keep"],
            own["gain"],
            rescale.factor.astype(np.float32),
            rescale.offset.astype(np.float32),
            np.array(part.units),
            member.n_anchors,
            member.averaged,
            np.stack([raw, means]),
            weights,
            biases,
        )
    answering = np.ones(machines, dtype=bool)
    answering[n : member.n_anchors] = False
    weights[~answering], biases[~answering] = 0, 0
    if member.averaged:
        weights[:, half:] -= weights[:, :half]
    out["raw_scale"][:] = 1
    out["keep"][answering] = 1
    out["gain"][answering] = 1


def _positions(part: Part, n: int) -> Array:
    """Return where a model's first anchors lie in the merged model's scales."""
    zoom = part.views["facts"][ZOOM, :n, None].astype(np.float64)
    return part.rescale.points(zoom * part.views["positions"][:n])


def _number(member: Anchors, models: Parted) -> int:
    """Return how many anchors the models share."""
    born = [int(part.views["running"][N_ANCHORS]) for part in models.parts]
    if len(set(born)) > 1:
        least, most = min(born), max(born)
        raise NoMeanError(f"{member.name} has {least} anchors in one model, {most} in another")
    return born[0]


def _refuse_strangers(member: Anchors, models: Parted, positions: list[Array]) -> None:
    """Refuse anchors of which the greater part is nearer to others than to their namesakes."""
    n = len(positions[0])
    if n < 2 or len(models.parts) < 2:
        return
    ours = positions[models.newest].astype(np.float32)
    gaps, own = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
    find_gaps(ours, gaps)
    for p in range(models.since, len(models.parts)):
        if p == models.newest:
            continue
        find_own(positions[p].astype(np.float32), ours, gaps, own)
        mass = models.parts[p].views["facts"][MASS, :n].astype(np.float64) + 1e-9
        if mass[own > 0].sum() < _ALIKE * mass.sum():
            raise NoMeanError(f"most anchors of {member.name} lie nearer to others")
