"""How good the answers are for each value of a field: of the most frequent values, and of the rest.

A cohort is the records that have one value of a field in common, such as those of one country. Each
is counted by itself, record after record, in bounded memory; wherever batches end, the counts are
the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.validation import MOST, hashable, part, require
from stream_llsvm.records.readable import is_missing, readable_rows

if TYPE_CHECKING:
    from stream_llsvm.engine.progress import Scored

MOST_FIELDS = 5
SHOWN = 20  # values of a field that are told apart; the others are the rest
_KEPT = 200  # values that are counted: which of them are the most frequent turns out later
_FADE = 0.999  # what a record still counts of late when another of its cohort has come
_LABELS = 50  # of a cohort that are counted, to know the most frequent one
_LONGEST = 60  # characters of a value


class Cohort(NamedTuple):
    """How good the answers are for one value of a field.

    Attributes
    ----------
    value
        As a text; None where the field was missing.
    rest
        Whether these are all values together that are not among the most frequent.
    records
        How many were scored.
    error, recent
        The mean error of all of them, and of the last 1,000 or so, None where there is none yet:
        the share of wrong answers, or of numbers the absolute error.
    majority
        The share that the most frequent label has: always naming it would be right so often. None
        of numbers.

    """

    value: str | None
    rest: bool
    records: int
    error: float
    recent: float | None
    majority: float | None

    @property
    def name(self) -> str:
        """What people call it."""
        return "(the rest)" if self.rest else "(missing)" if self.value is None else self.value


class _Counts:
    """What is counted of a cohort."""

    __slots__ = ("error", "faded", "fading", "labels", "n")

    def __init__(self) -> None:
        self.n, self.error = 0, 0.0
        self.faded, self.fading = 0.0, 0.0  # how many records count of late, and their errors
        self.labels: Counter[Any] = Counter()

    def take(self, error: float, label: Any) -> None:
        self.n += 1
        self.error += error
        self.faded = self.faded * _FADE + 1.0
        self.fading = self.fading * _FADE + error
        if label in self.labels or len(self.labels) < _LABELS:
            self.labels[label] += 1

    def add(self, other: _Counts) -> None:
        self.n += other.n
        self.error += other.error
        self.faded += other.faded
        self.fading += other.fading
        for label, n in other.labels.items():
            if label in self.labels or len(self.labels) < _LABELS:
                self.labels[label] += n

    def cohort(self, value: str | None, *, classes: bool, rest: bool = False) -> Cohort:
        recent = self.fading / self.faded if self.faded else None
        most = max(self.labels.values(), default=0) / self.n if classes else None
        return Cohort(value, rest, self.n, self.error / self.n, recent, most)

    def payload(self) -> dict[str, Any]:
        return {
            "n": self.n, "error": self.error, "faded": self.faded, "fading": self.fading,
            "labels": list(self.labels.items()),
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Any) -> Self:
        found = cls()
        require(type(payload) is dict, "cohorts")
        found.n = part(payload, "n", int)
        sums = [part(payload, name, float) for name in ("error", "faded", "fading")]
        require(0 <= found.n <= MOST and all(isfinite(v) and v >= 0 for v in sums), "cohorts")
        found.error, found.faded, found.fading = sums
        labels = part(payload, "labels", list)
        require(len(labels) <= _LABELS, "cohorts")
        for pair in labels:
            require(type(pair) is tuple and len(pair) == 2 and hashable(pair[0]), "cohorts")
            require(type(pair[1]) is int and 0 <= pair[1] <= found.n, "cohorts")
        found.labels.update(dict(labels))
        return found


class _Field:
    """The cohorts of one field."""

    def __init__(self) -> None:
        self.known: dict[str | None, _Counts] = {}
        self.rest = _Counts()

    def take(self, value: str | None, error: float, label: Any) -> None:
        one = self.known.get(value)
        if one is None:
            if len(self.known) >= _KEPT:
                self._make_room()
            one = self.known[value] = _Counts()
        one.take(error, label)

    def _make_room(self) -> None:
        """Leave the rarer half of the values to the rest."""
        ranked = self._ranked()
        self.known = dict(ranked[: _KEPT // 2])
        for _, one in ranked[_KEPT // 2 :]:
            self.rest.add(one)

    def _ranked(self) -> list[tuple[str | None, _Counts]]:
        return sorted(self.known.items(), key=lambda one: -one[1].n)

    def cohorts(self, *, classes: bool) -> list[Cohort]:
        ranked = self._ranked()
        found = [one.cohort(value, classes=classes) for value, one in ranked[:SHOWN]]
        rest = _Counts()
        for one in (*(one for _, one in ranked[SHOWN:]), self.rest):
            rest.add(one)
        return [*found, rest.cohort(None, classes=classes, rest=True)] if rest.n else found

    def payload(self) -> dict[str, Any]:
        return {
            "known": [(value, one.payload()) for value, one in self.known.items()],
            "rest": self.rest.payload(),
        }

    @classmethod
    def restored(cls, payload: Any) -> Self:
        require(type(payload) is dict, "cohorts")
        found, known = cls(), part(payload, "known", list)
        require(len(known) <= _KEPT, "cohorts")
        for pair in known:
            require(type(pair) is tuple and len(pair) == 2, "cohorts")
            value, one = pair
            require(value is None or (type(value) is str and len(value) <= _LONGEST), "cohorts")
            found.known[value] = _Counts.restored(one)
            require(found.known[value].n > 0, "cohorts")
        found.rest = _Counts.restored(payload.get("rest"))
        return found


class Cohorts:
    """Scores of answers by the values of some fields.

    Parameters
    ----------
    fields
        The names of the fields, at most five. A record without one of them counts as missing.
    classes
        Whether the labels are classes, and not numbers.

    Examples
    --------
    >>> cohorts = Cohorts(["country"])
    >>> for country, error in (("DE", 0.0), ("DE", 1.0), ("FR", 0.0)):
    ...     cohorts.take_one({"country": country}, "yes", error)
    >>> [(one.value, one.records, one.error) for one in cohorts.all()["country"]]
    [('DE', 2, 0.5), ('FR', 1, 0.0)]

    """

    def __init__(self, fields: Sequence[str] = (), *, classes: bool = True) -> None:
        if isinstance(fields, str) or not all(isinstance(one, str) and one for one in fields):
            raise ValueError(f"slices are names of fields, as in ['country']; got {fields!r}")
        if len(fields) > MOST_FIELDS:
            raise ValueError(f"slices are at most {MOST_FIELDS} fields; got {len(fields)}")
        if len(set(fields)) < len(fields):
            raise ValueError(f"slices name a field twice: {', '.join(fields)}")
        self._classes = classes
        self._fields = {name: _Field() for name in fields}

    def take(self, batch: Batch, scored: Scored) -> None:
        """Count the answers to a batch that were scored."""
        for name, field in self._fields.items():
            values = _column(batch, name)
            for row, error in zip(scored.rows, scored.errors.tolist(), strict=True):
                field.take(values[row], error, batch.labels[row] if self._classes else None)

    def take_one(self, x: Mapping[str, Any], label: Any, error: float) -> None:
        """Count the answer to one record, as `Batch.record` gives it."""
        for name, field in self._fields.items():
            field.take(_text(x.get(name)), error, label if self._classes else None)

    def begin_anew(self) -> None:
        """Let what is told of late begin with the next record: another model answers."""
        for field in self._fields.values():
            for one in (*field.known.values(), field.rest):
                one.faded = one.fading = 0.0

    def all(self) -> dict[str, list[Cohort]]:
        """Return the cohorts of each field, the largest first and the rest last."""
        return {name: one.cohorts(classes=self._classes) for name, one in self._fields.items()}

    def report(self) -> dict[str, list[dict[str, Any]]]:
        """Return the same as plain values."""
        return {
            field: [
                {"value": one.name, "records": one.records, "error": one.error,
                 "recent_error": one.recent}
                | ({"accuracy": 1 - one.error, "majority": one.majority} if self._classes else {})
                for one in cohorts
            ]
            for field, cohorts in self.all().items()
        }  # fmt: skip

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes any more."""
        return {name: one.payload() for name, one in self._fields.items()}

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue with those fields of a payload that are asked for; the others begin.

        Raises ModelFileError if it does not fit together.
        """
        require(len(payload) <= MOST_FIELDS and all(type(n) is str for n in payload), "cohorts")
        found = {name: _Field.restored(one) for name, one in payload.items()}
        self._fields = {name: found.get(name, one) for name, one in self._fields.items()}


def _column(batch: Batch, name: str) -> list[str | None]:
    """Return a field's value in each record of a batch, as a text."""
    if batch.records is not None:
        return [_text(record.get(name)) for record in batch.records]
    assert batch.names is not None
    assert batch.values is not None
    if name not in batch.names:
        return [None] * len(batch)
    at = batch.names.index(name)
    return [_text(value) for (value,) in readable_rows(batch.values[:, at : at + 1], batch.texts)]


def _text(value: Any) -> str | None:
    """Return a value as a text, None if it is missing.

    Examples
    --------
    >>> _text("DE"), _text(2.0), _text(("two", "words")), _text(float("nan"))
    ('DE', '2', 'two words', None)

    """
    if value is None or is_missing(value):
        return None
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text[:_LONGEST]
