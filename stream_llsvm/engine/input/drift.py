"""How far the values of each field are from how they were, and what has changed, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.input.fields import Fields
from stream_llsvm.engine.input.tally import KINDS, MOMENTS, NAMES, PLACES, TEXTS

Floats = NDArray[np.float64]

KIND_NAMES = ("number", "name", "time", "text")
_CLEAR = 0.02  # of the records: a share that has changed by less is not worth a word
_WIDER = 0.5  # of the spread: a mean that has moved by less is not


class FieldNow(NamedTuple):
    """What a field is now, and what it was before.

    ``kind`` is what it mostly is, ``was`` what it mostly was; "missing" if it never has a value.
    ``drift`` is the Jensen-Shannon divergence between both in bits: 0 is no difference, 1 is
    nothing in common. ``mean`` and ``spread`` are of its numbers. ``outside`` is the share of its
    numbers beyond the range seen before, ``fresh`` that of names that had never come; ``distinct``
    is about how many names there were. ``began`` is the record that first had it. ``moved`` is the
    record since which it has been another one than it was; -1 if it is not.
    """

    name: str
    kind: str
    was: str
    drift: float
    missing: float
    missing_before: float
    mean: float | None
    mean_before: float | None
    spread: float | None
    spread_before: float | None
    outside: float
    fresh: float
    distinct: int
    began: int
    moved: int

    def what(self) -> str:
        """Return in words what has changed most."""
        told = []
        if self.missing > self.missing_before + _CLEAR:
            told.append(f"missing in {self.missing:.0%}, before in {self.missing_before:.0%}")
        elif self.missing_before > self.missing + _CLEAR:
            told.append(f"there in {1 - self.missing:.0%}, before in {1 - self.missing_before:.0%}")
        if self.kind != self.was and "missing" not in (self.kind, self.was):
            told.append(f"{self.kind}, before {self.was}")
        if self.mean is not None and self.mean_before is not None:
            spread = max(self.spread_before or 0.0, 1e-300)
            if abs(self.mean - self.mean_before) > _WIDER * spread:
                told.append(f"mean {self.mean:.4g}, before {self.mean_before:.4g}")
            elif abs((self.spread or 0.0) - spread) > _WIDER * spread:
                told.append(f"spread {self.spread:.4g}, before {self.spread_before:.4g}")
        if self.outside > _CLEAR:
            told.append(f"{self.outside:.0%} out of the range seen")
        if self.fresh > _CLEAR:
            told.append(f"{self.fresh:.0%} new names")
        return ", ".join(told) or "the shares of its values"


def field_now(
    fields: Fields, name: str, latest: tuple[int, int], drift: float, moved: int
) -> FieldNow:
    """Return what one field is and was; ``latest`` are the records that either memory lacks."""
    i = fields.places[name]
    now, total = fields.now.with_latest(fields.sums, i, latest[0])
    long, total_before = fields.long.with_latest(fields.sums, i, latest[1])
    kinds, before, centre = now["kinds"], long["kinds"], float(fields.sums.centre[i])
    mean, spread = _moments(now["moments"], centre)
    mean_before, spread_before = _moments(long["moments"], centre)
    row = fields.marked.get(name, -1)
    return FieldNow(
        name, _usual(kinds), _usual(before), drift,
        _missing(kinds, total), _missing(before, total_before),
        mean, mean_before, spread, spread_before,
        _ratio(now["outside"], now["moments"][0]),
        _ratio(now["fresh"], kinds[NAMES] + kinds[TEXTS]),
        0 if row < 0 else distinct(fields.marks[row]), int(fields.sums.since[i]), moved,
    )  # fmt: skip


def distinct(marks: NDArray[np.uint8]) -> int:
    """Return about how many names have come, by how many places are free: linear counting."""
    free = max(1, PLACES - int(np.bitwise_count(marks).sum()))
    return round(PLACES * float(np.log(PLACES / free)))


def _moments(sums: Floats, centre: float) -> tuple[float | None, float | None]:
    assert len(sums) == MOMENTS
    weight, first, second = sums.tolist()
    if weight <= 0:
        return None, None
    mean = first / weight
    variance = max(0.0, second / weight - mean * mean)
    found = float(centre + mean), float(variance**0.5)
    return found if all(np.isfinite(found)) else (None, None)


def _usual(kinds: Floats) -> str:
    return KIND_NAMES[int(kinds.argmax())] if kinds.sum() > 1e-9 else "missing"


def _missing(kinds: Floats, total: float) -> float:
    assert len(kinds) == KINDS
    return float(min(1.0, max(0.0, 1.0 - float(kinds.sum()) / total))) if total > 0 else 0.0


def _ratio(part: Any, whole: Any) -> float:
    return min(1.0, float(part) / float(whole)) if whole > 1e-9 else 0.0
