"""Merge whole states: scales, members, the mixer, and what probabilities mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.kernels.calibration import COUNT, RIGHT
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE
from stream_llsvm.kernels.run import MIXED, SEEN
from stream_llsvm.members.pooling import Array, Part, Rescale, by_weight, mean_of, shares_of
from stream_llsvm.model.merge_scales import pooled, rescaling
from stream_llsvm.model.state import ModelState


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
    for i, member in enumerate(new.members):
        parts = [
            Part(memory.views(1 + i), float(w), scale)
            for memory, w, scale in zip(memories, share, scales, strict=True)
        ]
        own = new.views(1 + i)
        member.merge(parts, own)
    return new


def _merge_mixer(views: Sequence[dict[str, Array]], share: Array, out: dict[str, Array]) -> None:
    parts = [Part(own, float(w), _AS_IT_IS) for own, w in zip(views, share, strict=True)]
    by_lessons = by_weight(parts, [float(own["counters"][MIXED]) for own in views])
    out["counters"][:] = np.round(mean_of(share, [own["counters"] for own in views]))
    out["mixer"][:] = mean_of(by_lessons, [own["mixer"] for own in views])
    facts = [own["members"] for own in views]
    out["members"][:] = mean_of(by_lessons, facts)
    # A member that works anywhere works; the rest is a matter of the next decision.
    out["members"][AWAKE] = np.max([own[AWAKE] for own in facts], axis=0)
    for row in (JUDGED, SINCE):
        out["members"][row] = np.round(mean_of(share, [own[row] for own in facts]))
    tables = [own["calibration"] for own in views]
    counted = shares_of(share[:, None] * np.stack([table[COUNT] for table in tables]))
    out["calibration"][RIGHT] = mean_of(counted, [table[RIGHT] for table in tables])
    out["calibration"][COUNT] = mean_of(share, [table[COUNT] for table in tables])


_AS_IT_IS = Rescale(np.ones(0), np.zeros(0), np.zeros(0))
