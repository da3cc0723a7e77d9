"""The waves: where models have the same ones, their weights become means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.kernels.members.waves import SEEN
from stream_llsvm.merging.parts import Array, Part, by_weight, mean_of


def merge(parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the models' mean, each counted by what it has seen.

    Features that appeared in another order have other waves, whose weights have no mean: then the
    model that has seen the most is taken. Scales are taken for the same: where they have changed,
    the waves are a little longer or shorter than they were.
    """
    seen = [float(part.views["running"][SEEN]) for part in parts]
    first = parts[0].views
    same = all(
        np.array_equal(part.views[name], first[name])
        for part in parts[1:]
        for name in ("frequencies", "phases")
    )
    shares = by_weight(parts, seen)
    if not same:
        shares = np.eye(len(parts))[int(np.argmax(seen))]
    for name in ("running", "frequencies", "phases", "weights", "variance"):
        out[name][:] = mean_of(shares, [part.views[name] for part in parts])
    now = mean_of(by_weight(parts), [np.array(n) for n in seen])
    out["running"][SEEN] = np.round(now)
