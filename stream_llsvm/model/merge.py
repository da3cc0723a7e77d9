"""Merge whole states, in one order of features and classes: scales, members, mixer, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels import calibration
from stream_llsvm.kernels.join import OVER, SHARE
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE
from stream_llsvm.kernels.pending import DIGEST, place_of
from stream_llsvm.kernels.pending import SINCE as FORETOLD_SINCE
from stream_llsvm.kernels.run import MIXED, SEEN, TAUGHT, USUALLY_NAMED, WAITING
from stream_llsvm.kernels.sleep import FOLLOWED
from stream_llsvm.members.base import Views
from stream_llsvm.members.pooling import (
    Array,
    NoMeanError,
    Part,
    Parted,
    Rescale,
    mean_of,
    shares_of,
)
from stream_llsvm.model.foretold import Foretold
from stream_llsvm.model.pool_scales import pooled, rescaling
from stream_llsvm.model.state import ModelState


class Merged(NamedTuple):
    """A merged state, and the members of which the newest model's was taken instead of a mean."""

    state: ModelState
    taken: list[str]


def merged(
    memories: Sequence[ModelState],
    weights: Sequence[float],
    base: ModelState | None = None,
) -> Merged:
    """Return one state of several, of the same members, features and classes in one order.

    Parameters
    ----------
    memories
        The states; none is changed.
    weights
        How much each counts.
    base
        What all of them were when they parted, if it is known.

    Raises
    ------
    ValueError
        If the models have a member that cannot be merged at all.

    """
    # In an order of their own, so that sums are the same to the bit in whatever order they come.
    order = sorted(range(len(memories)), key=lambda k: _rank(memories[k], weights[k]))
    share = shares_of(np.array([weights[k] for k in order], dtype=np.float64))
    share = share if base is None else np.concatenate([[0.0], share])
    all_of_them = [*([] if base is None else [base]), *(memories[k] for k in order)]
    first = all_of_them[-1]
    new = first.like()
    new.begin()
    views = [memory.views(0) for memory in all_of_them]
    own = new.views(0)
    since = base is not None
    seen = [float(each["counters"][SEEN]) for each in views]
    statistics = [each["statistics"] for each in views]
    own["statistics"][:] = pooled(statistics, seen, share, since=since)
    scales = [rescaling(s, own["statistics"], standardize=first.standardize) for s in statistics]
    model = Parted(
        tuple(Part(each, float(w), _AS_IT_IS) for each, w in zip(views, share, strict=True)),
        since,
        len(all_of_them) - 1,
    )
    _merge_mixer(model, own)
    _merge_waiting(model, new)
    units = new.pool_units(all_of_them, share, since=since)
    taken = []
    for i, member in enumerate(new.members):
        width = new.shapes[1 + i][0]
        parts = [
            Part(memory.views(1 + i), float(w), scale.first(width), unit)
            for memory, w, scale, unit in zip(all_of_them, share, scales, units, strict=True)
        ]
        out = new.views(1 + i)
        try:
            member.merge(Parted(tuple(parts), since, model.newest), out)
        except NoMeanError:
            taken.append(member.name)
            member.merge(_alone(parts[model.newest]), out)
    return Merged(new, taken)


def _rank(memory: ModelState, weight: float) -> tuple[float, float, bytes]:
    """Sort models: the last counts for most, or has learned most; else by what they hold."""
    own = memory.views(0)
    told = b"".join(own[name].tobytes() for name in ("counters", "mixer", "statistics"))
    return weight, float(own["counters"][TAUGHT]), told


def _alone(part: Part) -> Parted:
    return Parted((Part(part.views, 1.0, part.rescale, part.units),), since=False, newest=0)


def _merge_mixer(model: Parted, out: dict[str, Array]) -> None:
    """Merge whom to trust: counts are those of all, the rest means by what each has mixed."""
    by_lessons = model.shares(model.each("counters", MIXED))
    for name in ("counters", "mixer", "members", "errors"):
        out[name][:] = mean_of(by_lessons, model.each(name))
    counts = [i for i in range(len(out["counters"])) if i != USUALLY_NAMED]
    out["counters"][counts] = model.counted("counters", counts)
    out["errors"][FOLLOWED] = np.maximum(model.counted("errors", FOLLOWED), 0)
    _merge_joined(model, out, by_lessons)
    _merge_who_works(model, out)
    right, count = calibration.RIGHT, calibration.COUNT
    counted = np.stack(model.each("calibration", count))
    shares = model.by_rows(counted, floor=calibration.SLOWEST).means
    out["calibration"][right] = np.clip(mean_of(shares, model.each("calibration", right)), 0, 1)
    out["calibration"][count] = model.summed(list(counted))


def _merge_joined(model: Parted, out: dict[str, Array], shares: Array) -> None:
    """Merge how what comes on top is joined: of those in which it has spoken."""
    begun = np.array([own[SHARE, OVER] > 0 for own in model.each("joined")])
    if begun.any():
        spoken = shares_of(np.maximum(shares, 1e-12) * begun)
        out["joined"][:] = mean_of(spoken, model.each("joined"))


def _merge_who_works(model: Parted, out: dict[str, Array]) -> None:
    """Merge who rests: a member that works anywhere works; the rest is for the next decision."""
    learners = [part.views["members"] for part in model.learners]
    awake = np.stack([own[AWAKE] for own in learners])
    out["members"][AWAKE] = awake.max(axis=0)
    judged, fewest = model.counted("members", JUDGED), [own[JUDGED] for own in learners]
    agree = (awake == awake[0]).all(axis=0)
    if model.since:  # who was judged anew on the way counts as that one
        agree &= (np.stack(fewest) >= model.parts[0].views["members"][JUDGED]).all(axis=0)
    out["members"][JUDGED] = np.where(agree, judged, np.min(fewest, axis=0))
    clocks = model.clock([float(n) for n in model.each("counters", TAUGHT)])
    told = [clock(own) for clock, own in zip(clocks, model.each("members", SINCE), strict=True)]
    out["members"][SINCE] = np.round(np.max(told, axis=0))


def _merge_waiting(model: Parted, new: ModelState) -> None:
    """Let wait what waits for its label in any model, unless the label has come to one of them."""
    clocks = model.clock([float(n) for n in model.each("counters", TAUGHT)])
    before = _waiting(model.base.views).keys() if model.base else set()
    each = [_waiting(part.views) for part in model.learners]
    gone = {digest for own in each for digest in before - own.keys()}
    places = len(new.views(0)["foretold"])
    waiting: dict[int, tuple[int, int, Array]] = {}
    for own, clock in zip(each, clocks[model.since :], strict=True):
        for digest, (at, scores) in own.items():
            since = int(np.round(np.maximum(0, clock(np.array(float(at))))))
            place = int(place_of(digest, places))
            there = waiting.get(place, (0, -1))
            if digest not in gone and (since, digest) > (there[1], there[0]):
                waiting[place] = digest, since, scores
    if waiting:
        entries = np.array([entry[:2] for entry in waiting.values()], dtype=np.int64)
        new.recall(Foretold(entries, np.stack([entry[2] for entry in waiting.values()])))


def _waiting(views: Views) -> dict[int, tuple[int, Array]]:
    """Return the predictions that wait: of each record's digest, since when, and the scores."""
    if views["memo"][WAITING] == 0:
        return {}
    taken = np.flatnonzero(views["foretold"][:, DIGEST])
    entries = views["foretold"][taken].tolist()
    scores = views["foretold_scores"][taken]
    return {
        entry[DIGEST]: (entry[FORETOLD_SINCE], own)
        for entry, own in zip(entries, scores, strict=True)
    }


_AS_IT_IS = Rescale(np.ones(0), np.zeros(0), np.zeros(0))
