"""The record that was encoded last: whoever predicts it and then learns it encodes it once."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.rows import Row

# What a record may hold to be recognised: nothing that could become something else in its place.
_FIXED = frozenset(
    {float, int, bool, str, type(None)}
    | {np.float64, np.float32, np.int64, np.int32, np.bool_}
)  # fmt: skip


class LastRecord(NamedTuple):
    """A record, and the row that was made of it.

    Attributes
    ----------
    record
        The caller's own.
    contents
        What was in it: the caller may change it.
    row
        Its row.
    ignored
        How many columns it lacks.
    strangers
        Which, if these are fields' own columns: the fields that are not known.

    """

    record: dict[Any, Any]
    contents: dict[Any, Any]
    row: Row
    ignored: int
    strangers: list[Any] | None = None

    def is_still(self, x: object) -> bool:
        """Tell whether a record is this one, and says what it said.

        Parameters
        ----------
        x
            A record.

        """
        try:
            return self.record is x and self.contents == x
        except Exception:  # what it says now may be something that compares in a way of its own
            return False

    def widened(self, first: int, names: Sequence[Any]) -> LastRecord | None:
        """Return it where the columns from one on are those of some names that it lacked.

        Parameters
        ----------
        first
            The first of the columns.
        names
            What names them, in their order.

        """
        if not self.strangers:
            return None
        try:
            told = [self.contents[name] for name in names]
        except KeyError:
            return None
        told = [nan if value is None or value != value else value for value in told]  # noqa: PLR0124
        values = np.frombuffer(struct.pack(f"{len(told)}d", *told))
        columns = np.arange(first, first + len(told))
        row = one_row(
            np.concatenate((self.row.values, values)), np.concatenate((self.row.columns, columns))
        )
        rest: list[Any] = []
        if len(told) < len(self.strangers):
            added = set(names)
            rest = [name for name in self.strangers if name not in added]
        return LastRecord(self.record, self.contents, row, len(rest), rest)


def remembered(
    x: Mapping[Any, Any], row: Row, ignored: int, strangers: list[Any] | None
) -> LastRecord | None:
    """Return a record to recognise, if it can be.

    Parameters
    ----------
    x
        The record.
    row
        Its row, whose arrays nobody writes into.
    ignored
        How many columns it lacks.
    strangers
        Which, if that is known. Its values are then numbers of the usual types, or missing.

    """
    if type(x) is not dict or (strangers is None and not _FIXED.issuperset(map(type, x.values()))):
        return None
    return LastRecord(x, x.copy(), row, ignored, strangers)


def one_row(values: NDArray[np.float64], columns: NDArray[np.int64]) -> Row:
    """Return a single sparse row.

    Parameters
    ----------
    values
        What it holds.
    columns
        In which columns, ascending.

    """
    return Row(values, columns, np.array((0, len(columns)), dtype=np.int64))


def sorted_row(columns: Sequence[int], numbers: Sequence[Any]) -> tuple[Row, list[int]]:
    """Return a record of numbers as a sparse row, and which of them have no column.

    Parameters
    ----------
    columns
        The column of each number; -1 if it has none.
    numbers
        Numbers that ``float`` takes.

    Examples
    --------
    >>> row, lacking = sorted_row([7, -1, 2], [1, 2.5, True])
    >>> row.values, row.columns, row.starts, lacking
    (array([1., 1.]), array([2, 7]), array([0, 2]), [1])

    """
    n = len(columns)
    # struct makes arrays of lists in a third of the time that numpy takes.
    where = np.frombuffer(struct.pack(f"{n}q", *columns), dtype=np.int64)
    order = where.argsort()
    where, values = where[order], np.frombuffer(struct.pack(f"{n}d", *numbers))[order]
    lacking = 0 if n == 0 or where[0] >= 0 else int(where.searchsorted(0))
    return one_row(values[lacking:], where[lacking:]), order[:lacking].tolist()
