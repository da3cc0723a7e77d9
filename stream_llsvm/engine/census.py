"""What the fields of a stream were taken for: how many numbers, names, times and texts each had.

It is counted of the first records and of a share of the later ones, so that it costs next to
nothing, and in bounded memory: beyond a number of fields they are counted together.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from math import isnan, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.validation import MOST, counter, part, require
from stream_llsvm.kernels.boxes import CONTENT, FIRST_BOX, KIND_BITS, KIND_SHIFT, NAME, TIME
from stream_llsvm.kernels.expand import epoch_moment
from stream_llsvm.records.boxes import name_code, unboxed
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import read

#: What a value may be taken for; a text is one of three words or more, or a list.
KINDS = ("number", "name", "time", "text", "missing")
_NUMBER, _NAME, _TIME, _TEXT, _MISSING = range(len(KINDS))
_MOST_FIELDS = 1_000
_ALL_OF_FIRST = 20_000  # records; of later batches one in so many is counted
_ONE_IN = 16
_SHOWN = 60  # characters of an example
_PLACES = 2**14  # to count distinct names with
_EXACT = 256  # distinct names of a field that are counted one by one


def is_counted(seen: int, turn: int) -> bool:
    """Whether records are counted at such a turn, when so many were: all first, later some.

    Examples
    --------
    >>> is_counted(100, 7), is_counted(10**6, 7), is_counted(10**6, 32)
    (True, False, True)

    """
    return seen < _ALL_OF_FIRST or turn % _ONE_IN == 0


class Taken(NamedTuple):
    """What a field was taken for, in how many of the records that were looked at.

    ``distinct`` is how many names it had, 0 if none; ``about`` tells that there were too many to
    count one by one. ``example`` is the first of them.
    """

    counts: dict[str, int]
    distinct: int = 0
    example: str = ""
    about: bool = False

    @property
    def said(self) -> int:
        """In how many records it had a value."""
        return sum(n for kind, n in self.counts.items() if kind != "missing")

    @property
    def usual(self) -> str:
        """What it is in most records; ``missing`` if it never had a value."""
        said = {kind: n for kind, n in self.counts.items() if kind != "missing"}
        return max(said, key=said.__getitem__, default="missing")


class _Field:
    """One field's counts; distinct names by their codes, or, if many, the places those take."""

    __slots__ = ("codes", "counts", "example", "places")

    def __init__(self) -> None:
        self.example = ""
        self.counts = np.zeros(len(KINDS), dtype=np.int64)
        self.places: NDArray[np.bool_] | None = None
        self.codes: set[int] | None = set()  # None: there are too many

    def note(self, codes: NDArray[np.int64], first: str) -> None:
        if self.places is None:
            self.places = np.zeros(_PLACES, dtype=np.bool_)
            self.example = first[:_SHOWN]
        self.places[codes % _PLACES] = True
        if self.codes is not None:
            self.codes.update(codes.tolist())
            if len(self.codes) > _EXACT:
                self.codes = None

    def add(self, other: _Field) -> None:
        self.counts += other.counts
        if other.places is None:
            return
        if self.places is None:
            self.places, self.example = np.zeros(_PLACES, dtype=np.bool_), other.example
        self.places |= other.places
        if self.codes is not None:
            both = None if other.codes is None else self.codes | other.codes
            self.codes = None if both is None or len(both) > _EXACT else both

    @property
    def distinct(self) -> int:
        """How many codes there were; of many about, by how many places are free.

        That is linear counting; there are no more of them than names were seen.
        """
        if self.codes is not None or self.places is None:
            return len(self.codes or ())
        free = max(1, _PLACES - int(np.count_nonzero(self.places)))
        return min(int(self.counts[_NAME]), round(_PLACES * log(_PLACES / free)))


class Census:
    """Counts what the fields of a stream are.

    Examples
    --------
    >>> from stream_llsvm.connectors import message_codec
    >>> census = Census()
    >>> raws = [b'{"a": 1, "city": "Oslo"}', b'{"a": 2, "city": "Rome"}']
    >>> census.take(message_codec().decode(raws, list("xy"), {}))
    >>> {name: (taken.usual, taken.distinct) for name, taken in census.fields().items()}
    {'a': ('number', 0), 'city': ('name', 2)}

    """

    def __init__(self) -> None:
        self._fields: dict[str, _Field] = {}
        self._seen = self._batches = 0

    def take(self, batch: Batch) -> None:
        """Count a batch, or pass over it if there were many already."""
        self._batches += 1
        if not is_counted(self._seen, self._batches):
            return
        self._seen += len(batch)
        if batch.names is not None and batch.values is not None:
            self._take_rows(batch.names, batch.values, batch.texts)
        else:
            for record in batch.records or []:
                self._take_record(record)

    def add(self, other: Census) -> None:
        """Count what another one, of other records of the same stream, has counted."""
        self._seen += other._seen
        for name, theirs in other._fields.items():
            field = self._field(name)
            if field is not None:
                field.add(theirs)

    def _field(self, name: str) -> _Field | None:
        found = self._fields.get(name)
        if found is None and len(self._fields) < _MOST_FIELDS:
            found = self._fields[name] = _Field()
        return found

    def _take_rows(
        self, names: tuple[str, ...], values: NDArray[np.float64], texts: Mapping[int, str]
    ) -> None:
        for name, column in zip(names, values.T, strict=True):
            field = self._field(name)
            if field is None:
                continue
            numbers = int(np.count_nonzero(column == column))  # noqa: PLR0124  not NaN
            times = sum(epoch_moment(v) >= 0 for v in column.tolist()) if says_when(name) else 0
            field.counts[_NUMBER] += numbers - times
            field.counts[_TIME] += times
            if numbers == len(column):
                continue
            bits = np.ascontiguousarray(column).view(np.int64)
            boxes = bits[bits >= FIRST_BOX]
            kinds = boxes >> KIND_SHIFT & KIND_BITS
            codes = boxes[kinds == NAME] & CONTENT
            field.counts[_NAME] += len(codes)
            field.counts[_TIME] += np.count_nonzero(kinds == TIME)
            field.counts[_MISSING] += len(column) - numbers - len(boxes)
            if len(codes):
                field.note(codes, texts.get(int(codes[0]), ""))

    def _take_record(self, record: Mapping[str, Any]) -> None:
        for name, value in record.items():
            field = self._field(name)
            if field is None:
                continue
            try:
                # A source's floats may hold a time; a list of records has values as they are.
                said = value if type(value) is float else read(name, value)
            except ValueError:
                continue
            if isinstance(said, str):
                field.counts[_NAME] += 1
                field.note(np.array([name_code(said)]), str(said))
            elif isinstance(said, tuple):
                field.counts[_TEXT] += 1
            elif isnan(said):
                field.counts[_TIME if unboxed(said)[0] == TIME else _MISSING] += 1
            else:
                is_time = says_when(name) and epoch_moment(said) >= 0
                field.counts[_TIME if is_time else _NUMBER] += 1

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def records(self) -> int:
        """How many records were looked at."""
        return self._seen

    def fields(self, most: int | None = None) -> dict[str, Taken]:
        """Return what each field was taken for, or each of so many that came first."""
        return {
            name: Taken(
                {kind: int(n) for kind, n in zip(KINDS, field.counts, strict=True) if n},
                field.distinct,
                field.example,
                field.codes is None,
            )
            for name, field in islice(self._fields.items(), most)
        }

    def report(self) -> dict[str, dict[str, Any]]:
        """Return the same as plain values, to be shown."""
        return {
            name: {"kind": taken.usual, "counts": taken.counts, "distinct": taken.distinct}
            | ({"about": True} if taken.about else {})
            for name, taken in self.fields().items()
        }

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        return {
            name: {
                "counts": dict(zip(KINDS, field.counts.tolist(), strict=True)),
                "example": field.example,
                "places": None if field.places is None else np.packbits(field.places),
                "codes": None if field.codes is None else np.array(sorted(field.codes), np.int64),
            }
            for name, field in self._fields.items()
        }

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit."""
        require(len(payload) <= _MOST_FIELDS and all(type(n) is str for n in payload), "fields")
        found = {}
        for name, kept in payload.items():
            require(type(kept) is dict, "fields")
            counts = counter(kept, "counts", KINDS)
            field = found[name] = _Field()
            field.counts[:] = [counts.get(kind, 0) for kind in KINDS]
            field.example = part(kept, "example", str)
            places = part(kept, "places", np.ndarray, type(None))
            if places is not None:
                require(places.dtype == np.uint8 and places.shape == (_PLACES // 8,), "fields")
                field.places = np.unpackbits(places).astype(np.bool_)
            # An older version kept the places alone.
            unknown = None if places is not None else np.zeros(0, np.int64)
            codes = part({"codes": unknown, **kept}, "codes", np.ndarray, type(None))
            fits = codes is None or (codes.dtype == np.int64 and codes.ndim == 1)
            require(fits and (codes is None or len(codes) <= _EXACT), "fields")
            field.codes = None if codes is None else set(codes.tolist())
        self._fields = found
        self._seen = min(MOST, max((int(f.counts.sum()) for f in found.values()), default=0))
