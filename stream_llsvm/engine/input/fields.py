"""The sums of all fields: by name, growing with new fields, bounded, kept in checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.input.tally import (
    BINS,
    BINS_OF_NUMBERS,
    FIRST,
    KINDS,
    MOMENTS,
    PLACES,
    SHARES,
    FieldSums,
    diverge,
)
from stream_llsvm.engine.validation import MOST, array, number, part, require
from stream_llsvm.records.times import says_when

MOST_FIELDS = 1_000
MOST_MARKED = 128  # fields of which it is known which names have come: 16 kB each
_SUMS: dict[str, tuple[int, ...]] = {
    "bins": (BINS,),
    "kinds": (KINDS,),
    "moments": (MOMENTS,),
    "outside": (),
    "fresh": (),
}
_SHAPES: dict[str, tuple[type, tuple[int, ...]]] = {
    **{name: (np.float64, shape) for name, shape in _SUMS.items()},
    "edges": (np.float64, (BINS_OF_NUMBERS - 1,)),
    "first": (np.float64, (FIRST,)),
    "filled": (np.int64, ()),
    "centre": (np.float64, ()),
    "low": (np.float64, ()),
    "high": (np.float64, ()),
    "next_low": (np.float64, ()),
    "next_high": (np.float64, ()),
    "since": (np.int64, ()),
    "clock": (np.int64, ()),
}
_MARK_BYTES = PLACES // 8


class Memory:
    """The sums of many records, as a memory that fades has them."""

    def __init__(self, room: int) -> None:
        self.sums = {name: np.zeros((room, *shape)) for name, shape in _SUMS.items()}
        self.total = 0.0  # how many records it spans

    def take(self, sums: FieldSums, records: int, fade: float) -> None:
        """Let what is known fade, and take what was counted of so many records."""
        for name, known in self.sums.items():
            np.multiply(known, fade, out=known)
            np.add(known, getattr(sums, name), out=known)
        self.total = self.total * fade + records

    def with_latest(self, sums: FieldSums, i: int, records: int) -> tuple[dict[str, Any], float]:
        """Return one field's sums with so many records since, and how many records they span."""
        return {
            name: known[i] + getattr(sums, name)[i] if records else known[i]
            for name, known in self.sums.items()
        }, self.total + records


class Fields:
    """What is known of each field, in arrays that compiled code counts in."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.marked: dict[str, int] = {}
        self.sums = _empty(16)
        self.now, self.long = Memory(16), Memory(16)
        self.marks = np.zeros((0, _MARK_BYTES), dtype=np.uint8)
        self.marks_of = np.full(16, -1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.places)

    def place(self, name: str) -> int:
        """Return a field's row, -1 if there are too many."""
        found = self.places.get(name)
        if found is None:
            if len(self.places) == MOST_FIELDS:
                return -1
            found = self.places[name] = len(self.places)
            if found == len(self.marks_of):
                self._grow(2 * found)
            self.sums.clock[found] = says_when(name)
        return found

    def _grow(self, room: int) -> None:
        fresh = _empty(room)
        for new, old in zip(fresh, self.sums, strict=True):
            new[: len(old)] = old
        self.sums = fresh
        for memory in (self.now, self.long):
            grown = Memory(room)
            for name, known in memory.sums.items():
                grown.sums[name][: len(known)] = known
            memory.sums = grown.sums
        more = room - len(self.marks_of)
        self.marks_of = np.concatenate([self.marks_of, np.full(more, -1, dtype=np.int64)])

    def mark(self, names: Iterable[str]) -> None:
        """Note from now on which names these fields have had, as far as there is room."""
        for name in names:
            if name in self.marked or len(self.marked) == MOST_MARKED:
                continue
            row = self.marked[name] = len(self.marked)
            self.marks_of[self.places[name]] = row
            if row == len(self.marks):
                self.marks = np.pad(self.marks, ((0, max(1, row)), (0, 0)))

    def forget(self) -> None:
        """Begin to count anew: what was counted is in the memories."""
        for name in _SUMS:
            getattr(self.sums, name)[...] = 0.0

    def divergences(self) -> NDArray[np.float64]:
        """Return how far each field of late is from what it was, in bits."""
        found = np.zeros(len(self))
        now, long = self.now, self.long
        if now.total > 0 and long.total > 0:
            both = [(one.sums["bins"], one.sums["kinds"]) for one in (now, long)]
            diverge(both[0], both[1], (now.total, long.total), np.zeros((2, SHARES)), found)
        return found

    def widen(self) -> None:
        """Let the range of each field be what has come by now."""
        np.copyto(self.sums.low, self.sums.next_low)
        np.copyto(self.sums.high, self.sums.next_high)

    def payload(self) -> dict[str, Any]:
        """Return everything in the order of names: rows follow how batches came."""
        names = sorted(self.places)
        rows = [self.places[name] for name in names]
        marked = sorted(self.marked)
        return {
            "names": names,
            **{key: getattr(self.sums, key)[rows] for key in _SHAPES},
            **{
                kind: {"total": one.total, **{key: one.sums[key][rows] for key in _SUMS}}
                for kind, one in (("now", self.now), ("long", self.long))
            },
            "marked": marked,
            "marks": self.marks[[self.marked[name] for name in marked]],
        }

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Fields:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        names = _names(payload, "names", MOST_FIELDS)
        marked = _names(payload, "marked", MOST_MARKED)
        require(set(marked) <= set(names), "marked")
        found = cls()
        n = len(names)
        for name in names:
            found.place(name)
        for key, (kind, shape) in _SHAPES.items():
            values = array(payload, key, kind, (n, *shape))
            require(bool((np.abs(values) <= 1e300).all()), key)
            getattr(found.sums, key)[:n] = values
        sums = found.sums
        for side, memory in (("now", found.now), ("long", found.long)):
            known = part(payload, side, dict)
            memory.total = number(known, "total")
            for key, shape in _SUMS.items():
                values = array(known, key, np.float64, (n, *shape))
                require(bool((np.abs(values) <= 1e300).all()), key)
                require(key == "moments" or bool((values >= 0).all()), key)
                memory.sums[key][:n] = values
        for key in ("bins", "kinds", "outside", "fresh"):
            require(bool((getattr(sums, key) >= 0).all()), key)
        require(bool(((sums.filled >= 0) & (sums.filled <= FIRST)).all()), "filled")
        require(bool(((sums.since >= -1) & (sums.since <= MOST)).all()), "since")
        require(bool((np.diff(sums.edges, axis=1) >= 0).all()), "edges")
        require(bool(np.isin(sums.clock, (0, 1)).all()), "clock")
        marks = array(payload, "marks", np.uint8, (len(marked), _MARK_BYTES))
        found.mark(marked)
        found.marks[: len(marked)] = marks
        return found


def _names(payload: Mapping[str, Any], key: str, most: int) -> Sequence[str]:
    names: list[str] = part(payload, key, list)
    require(all(type(name) is str for name in names), key)
    require(len(set(names)) == len(names) <= most, key)
    return names


def _empty(room: int) -> FieldSums:
    def zeros(kind: type, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.zeros((room, *shape), dtype=kind)

    sums = FieldSums(**{name: zeros(*what) for name, what in _SHAPES.items()})
    sums.since[:] = -1
    return sums
