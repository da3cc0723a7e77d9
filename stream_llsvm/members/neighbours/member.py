"""The memory member: its sizes, its first state, and how it grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.kernels.plan import LEAVES_METRIC
from stream_llsvm.members.base import Member, Parts, Shape, Views
from stream_llsvm.members.neighbours import kernel, merge
from stream_llsvm.members.pooling import Parted

#: In a committee, where others are better at thousands of features.
FLOATS = 2**19
#: A window shorter than this is not worth asking.
_SHORTEST = 64
#: What history may leave: so many records, and so many floats.
_REACH, _REACH_FLOATS = 20_000, 2**22


@dataclass(frozen=True, kw_only=True)
class Remembered(Member):
    """The last records, which vote. See ``members/neighbours/kernel.py``."""

    window: int = 2_000
    #: Floats that the window may take: with many features it is shorter.
    floats: int = FLOATS
    learns_metric: bool = True
    #: Records of history for which there is room beyond the window.
    history_room: int = 0

    kernels = Kernels(kernel.run)
    metric = LEAVES_METRIC
    capped = True
    pace = 0.05
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

    def with_history_room(self, records: int) -> Remembered:
        """Return this member with room for so many records of history, within bounds."""
        return replace(self, history_room=min(records, _REACH))

    def room(self, width: int) -> int:
        """Return for how many records there is room: the window, or what history may leave."""
        length = self.length(width)
        return (
            max(length, min(self.history_room, _REACH_FLOATS // max(1, width))) if length > 0 else 0
        )

    def settled(self, views: Views) -> bool:
        """Whether the window is the usual one (again)."""
        return bool(views["running"][kernel.PLACES] == self.length(len(views["scale"])))

    def experts(self, width: int, columns: int) -> int:
        return kernel.EXPERTS if self.length(width) > 0 else 0

    def expert_names(self, width: int, columns: int) -> list[str]:
        """Return what people call each of its scores: whose votes count for most."""
        return ["closest", "latest", "all"][: self.experts(width, columns)]

    def cost(self, width: int, columns: int) -> int:
        return self.length(width) * width + min(kernel.METRIC_BUDGET, kernel.NEAREST * width)

    def sizes(self, width: int, columns: int) -> dict[str, int]:
        return {
            "usual": self.length(width),
            "window": self.room(width),
            "learns_metric": int(self.learns_metric),
        }

    def begin(self, views: Views, width: int, columns: int) -> None:
        views["scale"][:] = 1
        views["ruler"][:] = 1
        views["effort"][:] = 1e-3
        views["running"][kernel.PLACES] = self.length(width)
        views["running"][kernel.LIVE] = 1

    def kept_experts(self, old: Shape, new: Shape) -> list[int]:
        return list(range(self.experts(*new)))

    def carry(self, old: Views, new: Views, before: Shape, after: Shape) -> None:
        """Move a state into a larger one; with many more features the oldest records go."""
        new["running"][:] = old["running"]
        for name in ("scale", "effort", "ruler"):
            new[name][: before[0]] = old[name]
        held = int(old["running"][kernel.HELD])
        usual, room = self.length(after[0]), len(new["norms"])
        if before == after and old["running"][kernel.PLACES] == usual >= room:
            kept = np.arange(held)  # only the room that history took goes: all stay in their places
        else:
            # A window that history has made longer, or is about to, keeps that.
            more = old["running"][kernel.PLACES] > self.length(before[0])
            places = room if more or len(old["norms"]) == self.length(before[0]) else usual
            new["running"][kernel.PLACES] = places
            oldest = int(old["running"][kernel.HEAD])
            oldest = oldest if held == old["running"][kernel.PLACES] else 0
            kept = (oldest + np.arange(held)[max(0, held - places) :]) % max(1, held)
            new["running"][kernel.HEAD] = len(kept) % max(1, places)
        new["norms"][: len(kept)] = old["norms"][kept]
        new["facts"][:, : len(kept)] = old["facts"][:, kept]
        new["store"][: before[0], : len(kept)] = old["store"][:, kept]
        new["running"][kernel.HELD] = len(kept)

    def rehearse(self, views: Views, *, last: bool) -> None:
        """Remember in the last pass only: a record must not vote on itself."""
        views["running"][kernel.RESTING] = 0 if last else 1
        views["running"][kernel.LIVE] = 0

    def go_live(self, views: Views) -> None:
        views["running"][kernel.RESTING] = 0
        views["running"][kernel.LIVE] = 1

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

    def merge(self, models: Parted, out: dict[str, NDArray[Any]]) -> None:
        """Fill ``out`` with the newest records that any model remembers, each of them once."""
        merge.merge(models, out, self.length(len(out["scale"])))

    def reorder(self, views: Views, columns: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Give the records' labels their new codes."""
        labels = views["facts"][kernel.LABEL]
        labels[:] = np.argsort(codes)[labels.astype(np.int64)]

    def sound(self, views: Views) -> bool:
        running, facts, window = views["running"], views["facts"], len(views["norms"])
        held, head, places = running[[kernel.HELD, kernel.HEAD, kernel.PLACES]]
        usual = self.length(len(views["scale"]))
        classes = views["votes"].shape[1]
        labels = facts[kernel.LABEL]
        return bool(
            (running >= 0).all()
            and places == int(places)
            and usual <= places <= window
            and held == int(held) <= places
            and head == int(head) < max(1, places)
            # What history left lies in its order.
            and (places == usual or head == held % max(1, places))
            and (facts >= 0).all()
            and ((labels < classes) & (labels == np.floor(labels))).all()
            and (views["effort"] >= 0).all()
            and (views["scale"] > 0).all()
        )


def of_size(size: int, seed: int) -> Member:
    """Make a memory member."""
    return Remembered(window=size)
