"""What a feature map is to a classifier that learns on it, LL section 3.2."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from stream_llsvm.kernels.boxes import TIME
from stream_llsvm.kernels.expand import epoch_moment
from stream_llsvm.records.boxes import time_of, unboxed
from stream_llsvm.records.column_space import flat
from stream_llsvm.records.columns import HOURS, WEEKDAYS, WORD_COUNT, NameColumn, PartColumn
from stream_llsvm.records.texts import Read
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import read

#: A feature of phi(x): the feature of x that it is made of, or None if of all, and its number.
Made = tuple[Hashable, int]


@runtime_checkable
class FeatureMap(Protocol):
    """A fixed map from a record to finitely many features: K(x, y) = phi(x) . phi(y)."""

    def made_of(self, names: Iterable[Hashable]) -> list[Made]:
        """Return what it makes of records that name these features."""
        ...

    def map_one(self, x: Mapping[Any, float]) -> list[float]:
        """Return phi of a record, in the order of ``made_of``; NaN for what has no value."""
        ...


def as_numbers(x: Mapping[Any, Any]) -> dict[Any, float]:
    """Return what a record is to a map: a name is a feature that is 1.

    Parameters
    ----------
    x
        The record.

    Examples
    --------
    >>> {str(name): number for name, number in as_numbers({"a": 2, "sky": "blue"}).items()}
    {'a': 2.0, 'sky=blue': 1.0}

    """
    return {
        name: number
        for field, value in flat(x).items()
        for name, number in numbers_of(field, read(field, value)).items()
    }


def numbers_of(field: Any, told: Read | tuple[float, ...]) -> dict[Any, float]:
    """Return what a value is to a map: a time is an hour and a weekday, a text how many words.

    Parameters
    ----------
    field
        The field.
    told
        What `read` gave, or boxes of it.

    """
    if isinstance(told, tuple):
        return {PartColumn(field, WORD_COUNT): float(len(told))}
    if isinstance(told, str):
        return {NameColumn(field, told): 1.0}
    kind, content = unboxed(told)
    if kind != TIME:
        content = epoch_moment(told) if says_when(field) else -1
    if content < 0:
        return {field: told}
    hour, weekday = time_of(content)
    return {PartColumn(field, HOURS): hour, PartColumn(field, WEEKDAYS): weekday}
