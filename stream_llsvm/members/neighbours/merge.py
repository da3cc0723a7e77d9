"""The memory: the union of what the models remember, the newest that fit, and one metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_llsvm.members.neighbours import kernel
from stream_llsvm.members.pooling import Array, Part, by_weight, mean_of


def merge(parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the newest records that any model remembers, each of them once."""
    plain = by_weight(parts)
    seen = [float(part.views["running"][kernel.SEEN]) for part in parts]
    shares = by_weight(parts, seen)
    out["running"][:] = mean_of(shares, [part.views["running"] for part in parts])
    now = float(np.round(mean_of(plain, [np.array(n) for n in seen])))
    out["running"][kernel.SEEN] = now
    out["running"][kernel.RESTING] = 0
    # The metric is one of scaled values: where the scales change, it changes with them.
    factors = [np.where(part.rescale.factor > 0, part.rescale.factor, 1.0) for part in parts]
    pairs = list(zip(parts, factors, strict=True))
    scale = mean_of(shares, [part.views["scale"] * factor for part, factor in pairs])
    ruler = mean_of(shares, [part.views["ruler"] * factor**2 for part, factor in pairs])
    change = 1 / np.sqrt((scale * scale).mean()) if len(scale) > 0 else 1.0
    out["scale"][:] = scale * change
    out["ruler"][:] = ruler * change**2
    out["effort"][:] = mean_of(shares, [part.views["effort"] for part in parts])

    window = len(out["norms"])
    facts, store = _union(parts, now)
    kept = slice(max(0, facts.shape[1] - window), None)
    facts, store = facts[:, kept], store[:, kept]
    held = facts.shape[1]
    out["facts"][:, :held] = facts
    out["store"][:, :held] = store
    square = out["store"][:, :held].astype(np.float64) ** 2
    out["norms"][:held] = out["ruler"].astype(np.float64) @ square
    out["running"][kernel.HELD] = held
    out["running"][kernel.HEAD] = held % max(1, window)


def _union(parts: Sequence[Part], now: float) -> tuple[Array, Array]:
    """Return the records of all models, oldest first: facts, (3, n), and store, (width, n)."""
    found: dict[bytes, tuple[float, Array, Array]] = {}
    for part in parts:
        held = int(part.views["running"][kernel.HELD])
        facts, store = part.views["facts"][:, :held], part.views["store"][:, :held]
        values = store.T.astype(np.float64)
        moved = np.where(values == 0, 0.0, part.rescale.points(values))
        for j in range(held):
            # What models remember of the time before they parted, they remember alike.
            key = facts[:, j].tobytes() + store[:, j].tobytes()
            age = float(part.views["running"][kernel.SEEN] - facts[kernel.STAMP, j])
            if key not in found or age < found[key][0]:
                fact = facts[:, j].copy()
                fact[kernel.STAMP] = max(0.0, now - age)
                found[key] = (age, fact, moved[j])
    order = sorted(found, key=lambda key: (-found[key][0], key))
    width = parts[0].views["store"].shape[0]
    if not order:
        return np.zeros((3, 0)), np.zeros((width, 0))
    chosen = [found[key] for key in order]
    return np.stack([fact for _, fact, _ in chosen], 1), np.stack([row for _, _, row in chosen], 1)
