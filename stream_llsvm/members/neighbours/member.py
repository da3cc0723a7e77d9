"""The memory member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.plan import LEAVES_METRIC
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.neighbours import kernel
from stream_llsvm.members.pooling import Array, Part, by_weight, mean_of

#: In a committee, where others are better at thousands of features.
FLOATS = 2**19
#: A window shorter than this is not worth asking.
_SHORTEST = 64


@dataclass(frozen=True, kw_only=True)
class Remembered(Member):
    """The last records, which vote. See ``members/neighbours/kernel.py``."""

    window: int = 2_000
    #: Floats that the window may take: with many features it is shorter.
    floats: int = FLOATS
    learns_metric: bool = True

    kernels = Kernels(kernel.run, asleep=kernel.run_asleep)
    metric = LEAVES_METRIC
    state = kernel.NeighboursState

    @property
    def attributes(self) -> bool:
        """Return False: the records that voted are the reason."""
        return False

    @property
    def name(self) -> str:
        return f"memory:{self.window}"

    def length(self, width: int) -> int:
        """Return how many records of this width are remembered."""
        length = min(self.window, self.floats // max(1, width))
        return length if length >= min(self.window, _SHORTEST) else 0

    def experts(self, width: int, columns: int) -> int:
        return kernel.EXPERTS if self.length(width) > 0 else 0

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: whose votes count for most."""
        return ["closest", "latest", "all"][: self.experts(width, columns)]

    def cost(self, width: int, columns: int) -> int:
        return self.length(width) * width + min(kernel.METRIC_BUDGET, kernel.NEAREST * width)

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {"window": self.length(width), "learns_metric": int(self.learns_metric)}

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["scale"][:] = 1
        views["ruler"][:] = 1
        views["effort"][:] = 1e-3

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return list(range(self.experts(*new)))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one; with many more features the oldest records go."""
        new["running"][:] = old["running"]
        for name in ("scale", "effort", "ruler"):
            new[name][: before[0]] = old[name]
        held, window = int(old["running"][kernel.HELD]), self.length(after[0])
        oldest = int(old["running"][kernel.HEAD]) if held == len(old["norms"]) else 0
        kept = (oldest + np.arange(held)[max(0, held - window) :]) % max(1, held)
        new["norms"][: len(kept)] = old["norms"][kept]
        new["facts"][:, : len(kept)] = old["facts"][:, kept]
        new["store"][: before[0], : len(kept)] = old["store"][:, kept]
        new["running"][kernel.HELD] = len(kept)
        new["running"][kernel.HEAD] = len(kept) % max(1, window)

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Remember in the last pass only: a record must not vote on itself."""
        views["running"][kernel.RESTING] = 0 if last else 1

    def go_live(self, views: Views) -> None:
        views["running"][kernel.RESTING] = 0

    def relevance(self, views: Views) -> NDArray[np.float64] | None:
        """Return how much each feature counts in the distance."""
        if not self.learns_metric or len(views["norms"]) == 0:
            return None
        return np.square(views["scale"].astype(np.float64))

    def parts(self, views: Views, z: NDArray[np.float64]) -> Parts | None:
        """Return None: the records that voted are the reason, not features."""
        return None

    def voters(self, views: Views) -> list[tuple[int, float, float, float]]:
        n = int(views["found"][0]) if len(views["norms"]) > 0 else 0
        near = views["near"][:n]
        labels, stamps, worth = views["facts"][:, near]
        distance = np.sqrt(views["nearest"][:n].astype(np.float64))
        share = worth / (distance + 1e-3)
        age = views["running"][kernel.SEEN] - stamps
        total = share.sum() if n > 0 else 1.0
        rows = zip(labels.astype(int), age, distance, share / total, strict=True)
        return [(int(c), float(a), float(d), float(s)) for c, a, d, s in rows]

    def merge(self, parts: Sequence[Part], out: dict[str, NDArray[Any]]) -> None:
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

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Give the records' labels their new codes."""
        labels = views["facts"][kernel.LABEL]
        labels[:] = np.argsort(codes)[labels.astype(np.int64)]

    def sound(self, views: Views) -> bool:
        running, facts, window = views["running"], views["facts"], len(views["norms"])
        held, head = running[kernel.HELD], running[kernel.HEAD]
        classes = views["votes"].shape[1]
        labels = facts[kernel.LABEL]
        return bool(
            (running >= 0).all()
            and held == int(held) <= window
            and head == int(head) < max(1, window)
            and (facts >= 0).all()
            and ((labels < classes) & (labels == np.floor(labels))).all()
            and (views["effort"] >= 0).all()
            and (views["scale"] > 0).all()
        )


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


def of_size(size: int, seed: int) -> Member:
    """Make a memory member."""
    return Remembered(window=size)
