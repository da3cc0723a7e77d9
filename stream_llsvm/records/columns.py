"""What stands in a column: a field itself, one of its names, or a part of its times and texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from dataclasses import field as option
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.boxes import name_code, name_codes
from stream_llsvm.records.names import all_strings, sort_key

#: Of a name's text so much is kept to be shown; its code is of all of it.
MOST_SHOWN = 200
HOURS, WEEKDAYS, WORD_COUNT = PARTS = ("hour", "weekday", "words")


@dataclass(frozen=True, slots=True, repr=False)
class NameColumn:
    """The column that is 1 where a field has a name, and 0 where it has another.

    Attributes
    ----------
    field
        The field.
    name
        The name; of a long one the beginning.
    code
        What stands for it in a row, see ``boxes.py``.

    Examples
    --------
    >>> print(NameColumn("country", "DE"))
    country=DE

    """

    field: Hashable
    name: str = option(compare=False)
    code: int = -1

    def __post_init__(self) -> None:
        """Work out the code, if it is not given, and cut the name."""
        if self.code < 0:
            object.__setattr__(self, "code", name_code(self.name))
        if len(self.name) > MOST_SHOWN:
            object.__setattr__(self, "name", self.name[: MOST_SHOWN - 3] + "...")

    def __repr__(self) -> str:
        """Return what tells it from others, the code."""
        return f"NameColumn({self.field!r}, {self.code:#x})"

    def __str__(self) -> str:
        """Return ``country=DE``."""
        return f"{self.field}={self.name}"


@dataclass(frozen=True, slots=True)
class PartColumn:
    """The hour or the weekday of a field's times, or the number of words of its texts.

    Attributes
    ----------
    field
        The field.
    part
        One of `PARTS`.

    Examples
    --------
    >>> print(PartColumn("ts", "hour"))
    ts hour

    """

    field: Hashable
    part: str

    def __str__(self) -> str:
        """Return ``ts hour``."""
        return f"{self.field} {self.part}"


def is_derived(columns: Iterable[object]) -> bool:
    """Tell whether one of the columns is not a field's own.

    Parameters
    ----------
    columns
        What names them.

    """
    return any(isinstance(column, NameColumn | PartColumn) for column in columns)


def field_of(column: Any) -> Any:
    """Return which field of a record a column is of.

    Parameters
    ----------
    column
        What names the column: the field itself, if it is its own.

    """
    return column.field if isinstance(column, NameColumn | PartColumn) else column


def column_key(column: object) -> tuple[object, ...]:
    """Return a key that orders columns by their fields, and a field's own before the others.

    Parameters
    ----------
    column
        What names the column.

    """
    if isinstance(column, NameColumn):
        return sort_key(column.field), 2, column.name, column.code
    if isinstance(column, PartColumn):
        return sort_key(column.field), 1, column.part, 0
    return sort_key(column), 0, "", 0


def hash_of(column: object) -> int:
    """Return a number for the field that a column carries, 0 for one that is derived from it.

    Parameters
    ----------
    column
        What names the column.

    """
    if isinstance(column, NameColumn) or (
        isinstance(column, PartColumn) and column.part == WORD_COUNT
    ):
        return 0
    text = str(column) if isinstance(column, str | PartColumn) else repr(column)
    return name_code(text) or 1


def hashes_of(columns: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return a number for the field of each column, 0 for one that is derived.

    Parameters
    ----------
    columns
        What names them.

    """
    columns = tuple(columns)
    if all_strings(columns):
        hashes = name_codes(cast("tuple[str, ...]", columns))
        hashes[hashes == 0] = 1
        return hashes
    return np.array(list(map(hash_of, columns)), dtype=np.int64)


def to_plain(columns: Iterable[Hashable]) -> tuple[Any, ...]:
    """Return what names columns as plain values, for a model's file.

    Parameters
    ----------
    columns
        The columns.

    Examples
    --------
    >>> from_plain(to_plain(("a", PartColumn("t", "hour"), NameColumn("b", "x"))))
    ('a', PartColumn(field='t', part='hour'), NameColumn('b', 0x...))

    """
    return tuple(
        {"field": c.field, "name": c.name, "code": c.code}
        if isinstance(c, NameColumn)
        else {"field": c.field, "part": c.part}
        if isinstance(c, PartColumn)
        else c
        for c in columns
    )


def from_plain(plain: Iterable[Any]) -> tuple[Any, ...]:
    """Return the columns that `to_plain` wrote: a dict cannot be a field's name.

    Parameters
    ----------
    plain
        The values; they may come from a file.

    Raises
    ------
    ValueError
        If they are none.

    """
    return tuple(_from_plain(one) if isinstance(one, dict) else one for one in plain)


def _from_plain(one: dict[str, Any]) -> NameColumn | PartColumn:
    if set(one) == {"field", "part"} and one["part"] in PARTS:
        return PartColumn(one["field"], one["part"])
    code = one.get("code")
    if (
        set(one) != {"field", "name", "code"}
        or type(one["name"]) is not str
        or type(code) is not int
        or not 0 <= code < 1 << 48
    ):
        raise ValueError("the file names a column that is none")
    return NameColumn(one["field"], one["name"], code)
