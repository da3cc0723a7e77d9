"""Records and matrices as the float64 rows that the kernels take."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from math import hypot, inf, nan
from operator import itemgetter
from typing import Any

import numpy as np

from stream_llsvm.kernels.expand import ALL, EXTENT, expand_dense, expand_sparse
from stream_llsvm.records.column_space import flat, only_numbers, plain_numbers
from stream_llsvm.records.last_record import LastRecord, remembered, sorted_row
from stream_llsvm.records.layout import Layout
from stream_llsvm.records.matrix_rows import MatrixRows
from stream_llsvm.records.names import check_name
from stream_llsvm.records.nans import clear_nans
from stream_llsvm.records.rows import ABSENT, Row, dense
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import show

_NONE = np.zeros(0, dtype=np.int64)


def _boxed(values: Iterable[Any], known: Callable[..., Any]) -> list[Any]:
    """Return values with the boxes of texts that are known, and no NaN but the plain one."""
    return [
        known(v, v) if type(v) is str else nan if v is None or v != v else v  # noqa: PLR0124
        for v in values
    ]


class FeatureSpace(MatrixRows):
    """Records to rows, over columns in order of appearance.

    Names that appear together are added in one sorted order, so that the order of a dict
    cannot matter. Encoding never changes the space: what is not known is ignored, and
    a learner that wants it calls `unknown` and `add`, after `encode` has found every value
    of the record sound.

    Parameters
    ----------
    names
        Columns to start with, in order (a saved model's).

    Attributes
    ----------
    ignored
        How many columns the last encoded record lacks, or the last matrix does.

    Notes
    -----
    `encode` reuses its buffer, so a space serves one thread at a time.

    Examples
    --------
    >>> space = FeatureSpace()
    >>> space.add({"wind": 3.0, "rain": None})
    >>> space.names
    ('rain', 'wind')
    >>> space.encode({"wind": 3.0, "rain": None, "snow": 1}).values
    array([[nan,  3.]])
    >>> space.ignored, space.unknown({"wind": 3.0, "snow": 1})
    (1, ['snow'])

    A name is in the field's own column, where members for numbers see nothing, and in 0/1 columns:

    >>> space.add({"sky": "blue"})
    >>> space.add({"sky": "grey"})
    >>> print(*space.names)
    rain wind sky sky=blue sky=grey
    >>> space.encode({"wind": 3.0, "rain": 0.5, "sky": "grey"}).values
    array([[0.5, 3. , nan, 0. , 1. ]])

    """

    __slots__ = (
        "_buffer",
        "_codes",
        "_fixed",
        "_get",
        "_is_sparse",
        "_last",
        "_out",
        "_pack",
        "_raw",
        "_row",
        "_stale",
        "_width",
    )
    _row: Row
    _last: LastRecord | None

    def append(self, names: Iterable[Hashable]) -> None:
        """Add these columns as they come: some of those that `unknown` returned.

        Parameters
        ----------
        names
            What names the columns.

        """
        names, known = list(names), len(self._columns)
        if not names and known > 0:
            return
        last = self._last if known > 0 else None
        super().append(names)
        new = len(self._columns) - known
        if last is not None and new == len(names) and self.is_sparse(last.row.columns.size + new):
            self._last = last.widened(known, names)
        else:
            self._last = None
        # What depends on the width is made again when it is next needed: a text stream brings
        # new names with every record, and must not pay for all the old ones each time.
        self._stale = True
        self._width = self._fixed = -1

    def encode(self, x: Mapping[Any, Any]) -> Row:
        """Turn one record into one row.

        Parameters
        ----------
        x
            The record, ``{name: value}``. Every value is checked, also of unknown names.

        Returns
        -------
        Row
            Dense, or sparse if the record names few of many features or holds a text. Its arrays
            are valid until the next call.

        Raises
        ------
        ValueError
            If a value cannot be read, is infinite, or is too large for a float.
        TypeError
            If `x` is not a mapping.

        """
        # Exactly a dict: a list answers to integer names, a defaultdict to any name.
        if type(x) is dict:
            try:
                if len(x) == self._width:
                    values = self._get(x)
                    self._pack(self._buffer, 0, *values)
                    # hypot is infinite if any value is (or if the sum of squares overflows, which
                    # the careful path sorts out), even beside a NaN; it is NaN for a NaN.
                    # A numpy complex scalar slips through, with numpy's own warning, in a feature
                    # that used to be real: looking at 22 types would double the time.
                    if (size := hypot(*values)) != inf:
                        if size != size:  # noqa: PLR0124
                            clear_nans(self._raw)
                        self.ignored = 0
                        return self._row
                elif len(x) == self._fixed:
                    values = self._get(x)
                    self._pack(self._buffer, 0, *_boxed(values, self._boxes.known.get))
                    row, self.ignored = self._expanded()
                    if self.ignored >= 0:
                        return row
            except (KeyError, TypeError, ValueError, ArithmeticError, struct.error):
                pass  # the careful path finds out what it was
            last = self._last
            if last is not None and last.is_still(x):
                self.ignored = last.ignored
                return last.row
        return self._encode_carefully(x)

    def lacking_of_last(self, x: Mapping[Any, Any]) -> list[Any] | None:
        """Return the fields without a column of the record that was just encoded.

        None if that is not known, and `unknown` has to look them up.

        Parameters
        ----------
        x
            The record.

        """
        last = self._last
        return last.strangers if last is not None and last.record is x else None

    def _expanded(self) -> tuple[Row, int]:
        """Return the row of the values in the buffer, and how many columns it lacks."""
        if not self._is_sparse:
            return self._row, expand_dense(self._raw, self._codes, self._out)
        values, columns, starts = self._row
        lacking = expand_sparse(self._raw, _NONE, _NONE, self._codes, *self._row)
        end = starts[1]
        return Row(values[:end], columns[:end], starts), lacking

    def _encode_carefully(self, x: Mapping[Any, Any]) -> Row:
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(
                f"a record is a mapping {{feature: value}}, such as a dict; got {show(x)} "
                f"({type(x).__name__}); for many rows at once use the methods ending in _many"
            )
        numbers: Sequence[Any]
        plain = plain_numbers(x)
        if plain is None:
            x = flat(x)
            numbers = [self._boxes.of(name, value) for name, value in x.items()]
            odd = not only_numbers(numbers) or any(map(says_when, x))
        else:
            numbers, large = plain
            odd = large and any(map(says_when, x))
        if odd or self._derived:
            row = self._encode_mixed(x, numbers)
            self._last = remembered(x, row, self.ignored, None)
            layout = self._all
            if (
                layout is not None
                and type(x) is dict
                and len(x) == len(layout.fields) > 1
                and tuple not in map(type, numbers)
                and all(name in layout.places for name in x)
            ):
                self._fix(layout, sparse=row.starts.size > 0)
            return row
        columns = list(map(self._columns.get, x, repeat(-1)))
        if self.is_sparse(len(columns)):
            return self._sparse_row(x, columns, numbers, plain=plain is not None)
        if -1 in columns:
            for name in x:
                if name not in self._columns:
                    check_name(name)
            numbers = [number for number, c in zip(numbers, columns, strict=True) if c >= 0]
            columns = [c for c in columns if c >= 0]
            if self.is_sparse(len(columns)):
                self.ignored = len(x) - len(columns)
                return sorted_row(columns, numbers)[0]
        self.ignored = len(x) - len(columns)
        if self._stale:
            self._prepare()
        filled: list[Any] = [ABSENT] * len(self._columns)
        for column, number in zip(columns, numbers, strict=True):
            filled[column] = number
        self._pack(self._buffer, 0, *filled)
        row = self._row
        # From now on a record like this one takes the short way. (itemgetter of a single name
        # makes no tuple.) Where a field's name says that it holds times it has to be looked at.
        if self._width < 0 and len(columns) == len(filled) > 1:
            if self._says_when:
                self._fix(self._layout_of(x), sparse=False)
            else:
                self._get = itemgetter(*self._columns)
                self._width = len(filled)
        return row

    def _sparse_row(
        self, x: Mapping[Any, Any], columns: list[int], numbers: Sequence[Any], *, plain: bool
    ) -> Row:
        """Return the row of a record of numbers that names few of the columns."""
        row, lacking = sorted_row(columns, numbers)
        strangers: list[Any] = []
        if lacking:
            names = list(x)
            strangers = [names[i] for i in lacking]
            for name in strangers:
                check_name(name)
        self.ignored = len(lacking)
        self._last = remembered(x, row, self.ignored, strangers if plain else None)
        return row

    def _prepare(self) -> None:
        """Make the dense row that `encode` fills."""
        width = len(self._columns)
        # struct writes into a bytearray 0.1 us faster than into a numpy array.
        self._buffer = bytearray(8 * width)
        self._pack = struct.Struct(f"{width}d").pack_into
        self._raw = np.frombuffer(self._buffer, dtype=np.float64)
        self._row = dense(self._raw.reshape(1, width))
        self._stale, self._fixed = False, -1

    def _fix(self, layout: Layout, *, sparse: bool) -> None:
        """Let records that name just these fields take the short way."""
        if self._fixed >= 0 or layout is not self._all:
            return
        n, width = len(layout.fields), len(self)
        self._buffer = bytearray(8 * n)
        self._pack = struct.Struct(f"{n}d").pack_into
        self._raw = np.frombuffer(self._buffer, dtype=np.float64)
        self._get, self._fixed, self._is_sparse = itemgetter(*layout.fields), n, sparse
        self._codes = self._extent(layout, texts=False)
        if sparse:
            most = width + n if self._codes[EXTENT] == ALL else n + sum(layout.sizes)
            self._row = Row(np.empty(most), np.empty(most, np.int64), np.empty(2, np.int64))
        else:
            self._out = np.empty((1, width))
            self._row = dense(self._out)
        self._stale, self._width = True, -1
