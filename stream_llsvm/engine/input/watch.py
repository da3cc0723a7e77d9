"""Watching the input: each field of late against how it was before, or against a reference.

All that is counted is a function of the records in their order, wherever batches end, so that a run
that was killed goes on with the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Source
from stream_llsvm.engine.input.drift import FieldNow, field_now
from stream_llsvm.engine.input.duplicates import Duplicates
from stream_llsvm.engine.input.fields import Fields
from stream_llsvm.engine.input.tally import NO_CELLS, Cells, count_fields, find_names
from stream_llsvm.engine.validation import MOST, array, count, part, require
from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.records.boxes import boxed, name_code
from stream_llsvm.records.values import read

EVERY = 1_000  # records between two looks at what has moved
NOW, LONG = 1_000, 100_000  # records that either memory spans
MOVED, SETTLED = 0.05, 0.025  # bits of divergence from which on a field has moved, and not any more
_FEWEST = 2_000  # records before anything is said to have moved
_QUIET = 1_000  # records between two events
_LISTED = 5  # fields in an event
_ONE_IN = 8  # records with words are read one by one: one in so many is
_LEAST = 0.05  # that a field counts whatever the model says: it may come to use it
_FIRST = re.compile(r"(?:the )?first ([\d_,]+)")

Matrix = NDArray[np.float64]


#: What a memory still counts after so many more records.
_NOW, _LONG = (1 - 1 / NOW) ** EVERY, (1 - 1 / LONG) ** EVERY


class Moved(NamedTuple):
    """Fields that have just moved, those first that matter most, and at which record."""

    record: int
    fields: list[FieldNow]

    def text(self) -> str:
        """Return it in words."""
        told = [f"{one.name}: {one.what()}" for one in self.fields[:_LISTED]]
        more = len(self.fields) - _LISTED
        return "; ".join(told) + (f"; and {more} more fields" if more > 0 else "")


class InputWatch:
    """Watches what the fields of a stream's records do.

    Parameters
    ----------
    reference
        What the records of late are held against: None, what came before, fading over some 100,000
        records; a number, the first so many records; or a source, whose records are read once.

    Examples
    --------
    >>> watch, chance = InputWatch(), np.random.default_rng(0)
    >>> for begin in range(0, 6_000, 1_000):
    ...     values = chance.normal(size=(1_000, 2)) + [5.0 * (begin >= 4_000), 0.0]
    ...     batch = Batch([None] * 1_000, [None] * 1_000, {}, names=("a", "b"), values=values)
    ...     for moved in watch.take(batch):
    ...         print(moved.record, moved.text())
    5000 a: mean 3.228, before 1.032, 62% out of the range seen

    """

    def __init__(self, reference: Source | int | None = None) -> None:
        if isinstance(reference, int) and reference < EVERY:
            raise ValueError(f"the reference is of at least {EVERY} records; got {reference}")
        self._source = None if isinstance(reference, int) else reference
        self._first = reference if isinstance(reference, int) else 0
        self.fields, self.duplicates = Fields(), Duplicates()
        self.seen = 0  # records that were looked at
        self.frozen = False  # whether the long memory takes nothing any more
        self.alarms = 0
        self._drift: dict[str, float] = {}
        self._moved: dict[str, int] = {}  # since which record
        self._pending: set[str] = set()
        self._told = -_QUIET
        self._records = 0  # all records; of those with words one in so many is looked at
        self._reached = 0  # the last one that was looked at
        #: How much a field counts in the model, 1 on the mean; it is asked when a field has moved.
        self.relevance: Callable[[], Mapping[Any, float]] = dict
        self._relevance: Mapping[Any, float] = {}

    def begin(self) -> None:
        """Read the reference, unless that was done; what was known before is forgotten."""
        if self._source is None or self.frozen:
            return
        self.fields, self.seen = Fields(), 0
        while not self._source.ended:
            batch = self._source.poll(EVERY, 1.0)
            if batch is not None and len(batch):
                for values, columns, cells, n, _ in self._blocks(batch, every=1):
                    self._count(values, columns, cells, learns=True)
                    self.fields.long.take(self.fields.sums, n, 1.0)
                    self.fields.forget()
        self._records = 0
        self._freeze()

    def take(self, batch: Batch) -> list[Moved]:
        """Count a batch; return what has moved."""
        if batch.keys is not None:
            self.duplicates.take(batch.keys)
        found = []
        for values, columns, cells, n, reached in self._blocks(batch, _ONE_IN):
            self._count(values, columns, cells, learns=not self.frozen)
            self.seen += n
            self._reached = reached
            if self.seen % EVERY == 0:
                found += self._look()
        return found

    def _blocks(
        self, batch: Batch, every: int
    ) -> list[tuple[Matrix, NDArray[np.int64], Cells, int, int]]:
        """Return a batch in blocks that end where it is time to look, and where those end."""
        before = self._records
        self._records += len(batch)
        if batch.names is not None and batch.values is not None:
            values = np.ascontiguousarray(batch.values)
            columns = np.array([self.fields.place(name) for name in batch.names], dtype=np.int64)
            self._mark(batch.names, values)
            some, begin, every = None, 0, 1
            n = len(values)
        else:
            begin = -before % every
            some = (batch.records or [])[begin::every]
            values, columns, n = np.zeros((0, 0)), np.zeros(0, dtype=np.int64), len(some)
        found = []
        at = 0
        while at < n:
            end = min(n, at + EVERY - (self.seen + at) % EVERY)
            cells = NO_CELLS if some is None else self._cells(some[at:end])
            reached = before + begin + (end - 1) * every + 1
            found.append((values[at:end], columns, cells, end - at, reached))
            at = end
        return found

    def _mark(self, names: Sequence[str], values: Matrix) -> None:
        """Note names from now on of those fields that have one for the first time."""
        fresh = [i for i, name in enumerate(names) if name not in self.fields.marked]
        if not fresh:
            return
        wanted = np.zeros(len(names), dtype=np.int64)
        wanted[fresh] = 1
        find_names(values.view(np.int64), wanted)
        some = [names[i] for i in np.flatnonzero(wanted).tolist()]
        self.fields.mark(name for name in some if name in self.fields.places)

    def _cells(self, records: Sequence[Mapping[str, Any]]) -> Cells:
        """Return the values of records by themselves; of words, each with its share."""
        cells: list[tuple[int, int, float, float]] = []
        for i, record in enumerate(records):
            for name, value in record.items():
                field = self.fields.place(str(name))
                if field < 0:
                    continue
                try:
                    said = read(name, value)
                except ValueError:
                    continue
                if isinstance(said, float):
                    cells.append((i, field, said, 0.0))
                    continue
                self.fields.mark([str(name)])
                words = (said,) if isinstance(said, str) else said
                share = 0.0 if isinstance(said, str) else 1 / max(1, len(words))
                cells += [(i, field, boxed(NAME, name_code(str(w))), share) for w in words]
        of, fields, values, shares = zip(*cells, strict=True) if cells else ((), (), (), ())
        whole, real = np.int64, np.float64
        return Cells(
            np.array(of, whole), np.array(fields, whole),
            np.array(values, real), np.array(shares, real),
        )  # fmt: skip

    def _count(
        self,
        values: Matrix,
        columns: NDArray[np.int64],
        cells: Cells,
        *,
        learns: bool,
    ) -> None:
        fields = self.fields
        count_fields(
            (values, values.view(np.int64), columns),
            (cells.records, cells.fields, cells.values, cells.values.view(np.int64), cells.shares),
            self.seen, fields.sums, (fields.marks, fields.marks_of), int(learns),
        )  # fmt: skip

    def _look(self) -> list[Moved]:
        """Take what was counted into both memories, and return what has moved."""
        fields = self.fields
        fields.now.take(fields.sums, EVERY, _NOW)
        if not self.frozen:
            fields.long.take(fields.sums, EVERY, 1.0 if self._first else _LONG)
            fields.widen()
        fields.forget()
        if self._first and self.seen >= self._first:
            self.frozen = True
        drift = fields.divergences().tolist()
        self._drift = {name: drift[i] for name, i in fields.places.items()}
        if self.seen < _FEWEST:
            return []
        for name, bits in self._drift.items():
            if bits > MOVED and name not in self._moved:
                self._moved[name] = self._reached
                self._pending.add(name)
            elif bits < SETTLED and name in self._moved:
                del self._moved[name]
                self._pending.discard(name)
        if self._moved:
            self._relevance = self.relevance()
        if not self._pending or self._reached - self._told < _QUIET:
            return []
        moved = Moved(self._reached, self.ranked(self._pending))
        self.alarms += 1
        self._told = self._reached
        self._pending = set()
        return [moved]

    def _freeze(self) -> None:
        self.frozen = True
        self.fields.widen()

    @property
    def moved(self) -> list[FieldNow]:
        """The fields that are others than they were, those first that matter most."""
        return self.ranked(self._moved)

    def why(self) -> str:
        """Return in words which fields are others than they were; empty if none is."""
        return Moved(0, self.moved).text()

    def ranked(self, names: Any = None, most: int | None = None) -> list[FieldNow]:
        """Return these fields, or all, by drift and how much they count in the model."""
        chosen = list(self.fields.places if names is None else names)
        weight = {
            name: self._drift.get(name, 0.0) * (_LEAST + self._relevance.get(name, 1.0))
            for name in chosen
        }
        chosen.sort(key=lambda name: (-weight[name], name))
        phase = self.seen % EVERY
        latest = phase, 0 if self.frozen else phase
        return [
            field_now(
                self.fields, name, latest, self._drift.get(name, 0.0), self._moved.get(name, -1)
            )
            for name in chosen[:most]
        ]

    @property
    def against(self) -> str:
        """What the records of late are held against, in words."""
        if self._first:
            return f"the first {self._first:,} records"
        known = f"the reference, {self.fields.long.total:,.0f} records"
        return known if self.frozen else "what came before"

    def report(self) -> dict[str, Any]:
        """Return what the fields do, as plain values: the first 100 by drift."""
        return {
            "records": self.seen,
            "alarms": self.alarms,
            "duplicates": self.duplicates.count,
            "fields": [one._asdict() for one in self.ranked(most=100)],
        }

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        names = sorted(self.fields.places)
        return {
            "fields": self.fields.payload(),
            "duplicates": self.duplicates.payload(),
            "seen": self.seen, "reached": self._reached, "frozen": self.frozen,
            "alarms": self.alarms, "told": self._told, "records": self._records,
            "drift": np.array([self._drift.get(name, 0.0) for name in names]),
            "moved": np.array([self._moved.get(name, -1) for name in names], dtype=np.int64),
            "pending": sorted(self._pending),
        }  # fmt: skip

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit."""
        fields = Fields.restored(part(payload, "fields", dict))
        duplicates = Duplicates.restored(part(payload, "duplicates", dict))
        names = sorted(fields.places)
        drift = array(payload, "drift", np.float64, (len(names),))
        moved = array(payload, "moved", np.int64, (len(names),))
        require(bool(((drift >= 0) & (drift <= 1)).all()), "drift")
        pending = part(payload, "pending", list)
        since = {name: int(at) for name, at in zip(names, moved, strict=True) if at >= 0}
        require(all(type(name) is str and name in since for name in pending), "pending")
        values = [count(payload, name) for name in ("seen", "alarms", "records", "reached")]
        told = count(payload, "told", -_QUIET, MOST)
        self.frozen = part(payload, "frozen", bool)
        self.fields, self.duplicates = fields, duplicates
        self.seen, self.alarms, self._records, self._reached = values
        self._told = told
        self._drift = dict(zip(names, drift.tolist(), strict=True)) if self.seen >= EVERY else {}
        self._moved, self._pending = since, set(pending)


def reference_of(text: str) -> int | None:
    """Return how many records "the first 10,000" are; None if that is no such text.

    Examples
    --------
    >>> reference_of("the first 10,000"), reference_of("first 500"), reference_of("data.csv")
    (10000, 500, None)

    """
    found = _FIRST.fullmatch(text.strip())
    return None if found is None else int(re.sub("[_,]", "", found[1]))
