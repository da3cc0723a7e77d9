"""Records and matrices as the float64 rows that the kernels take."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from math import hypot, inf
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.expand import ALL, EXTENT, expand_dense, expand_sparse
from stream_llsvm.records.column_space import flat, only_numbers, plain_numbers
from stream_llsvm.records.expansion import Columns, Expansion
from stream_llsvm.records.layout import Layout
from stream_llsvm.records.names import check_name
from stream_llsvm.records.rows import ABSENT, Row, dense
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import show

_NONE = np.zeros(0, dtype=np.int64)


class FeatureSpace(Expansion):
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
        "_out",
        "_pack",
        "_placed",
        "_raw",
        "_row",
        "_stale",
        "_width",
    )
    _placed: tuple[tuple[Hashable, ...], Columns, Columns | None] | None
    _row: Row

    def append(self, names: Iterable[Hashable]) -> None:
        """Add these columns as they come: some of those that `unknown` returned.

        Parameters
        ----------
        names
            What names the columns.

        """
        super().append(names)
        # What depends on the width is made again when it is next needed: a text stream brings
        # new names with every record, and must not pay for all the old ones each time.
        self._placed = None
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
                    # the careful path sorts out), even beside a NaN; it is NaN for a mere NaN.
                    # A numpy complex scalar slips through, with numpy's own warning, in a feature
                    # that used to be real: looking at 22 types would double the time.
                    if hypot(*values) != inf:
                        self.ignored = 0
                        return self._row
                elif len(x) == self._fixed:
                    values = self._get(x)
                    self._pack(self._buffer, 0, *map(self._boxes.known.get, values, values))
                    row, self.ignored = self._expanded()
                    if self.ignored >= 0:
                        return row
            except (KeyError, TypeError, ValueError, OverflowError, struct.error):
                pass  # the careful path finds out what it was
        return self._encode_carefully(x)

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
        if -1 in columns:
            for name in x:
                if name not in self._columns:
                    check_name(name)
            numbers = [number for number, c in zip(numbers, columns, strict=True) if c >= 0]
            columns = [c for c in columns if c >= 0]
        self.ignored = len(x) - len(columns)
        if self.is_sparse(len(columns)):
            where = np.array(columns, dtype=np.int64)
            order = where.argsort()
            values = np.frombuffer(struct.pack(f"{len(columns)}d", *numbers))
            starts = np.array((0, len(columns)), dtype=np.int64)
            return Row(values[order], where[order], starts)
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

    def _prepare(self) -> None:
        """Make the dense row that `encode` fills."""
        width = len(self._columns)
        # struct writes into a bytearray 0.1 us faster than into a numpy array.
        self._buffer = bytearray(8 * width)
        self._pack = struct.Struct(f"{width}d").pack_into
        self._row = dense(np.frombuffer(self._buffer, dtype=np.float64).reshape(1, width))
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

    def encode_many(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
    ) -> Row:
        """Turn a matrix into rows in the space's column order.

        The rows are, to the bit, those that `encode` makes of the same records.

        Parameters
        ----------
        names
            The names of the matrix's columns; those not known are left out.
        matrix
            (n, number of names), without infinities; names and times are boxes, see ``boxes.py``.
            Or sparse, where a record names only what its row holds, and where a column comes
            several times for the words of a text.

        Returns
        -------
        Row
            All rows dense or all sparse (of a sparse matrix: sparse if records name few of the
            features on the mean, or some are texts). Shares the memory of `matrix` when there is
            nothing to move.

        Examples
        --------
        >>> space = FeatureSpace(["a", "b"])
        >>> space.encode_many(["b", "c"], np.array([[1.0, 2.0]])).values
        array([[-inf,   1.]])

        """
        mixed = self._may_expand(names, matrix)
        if isinstance(matrix, SparseRows):
            if mixed:
                row, lacking = self._expand_sparse(names, matrix)
                self.ignored += lacking
                return row
            return self._encode_sparse(names, matrix)
        names = tuple(names)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ValueError(f"{len(names)} names for a matrix of shape {matrix.shape}")
        matrix = np.require(matrix, np.float64, ["C", "A", "W", "E"])
        if mixed:
            row, lacking = self._expand_matrix(names, matrix)
            self.ignored += lacking
            return row
        columns, places = self._places_of(names)
        n, named, width = len(matrix), len(columns), len(self._columns)
        self.ignored = matrix.shape[1] - named
        if places is not None:
            matrix = np.take(matrix, places, axis=1)
        if self.is_sparse(named):
            starts = np.arange(0, n * named + 1, named) if named else np.zeros(n + 1)
            return Row(
                matrix.reshape(-1),
                np.tile(columns, n),
                starts.astype(np.int64),
            )
        if named == width:
            return dense(np.ascontiguousarray(matrix))
        values = np.full((n, width), ABSENT)
        values[:, columns] = matrix
        return dense(values)

    def _places_of(self, names: tuple[Hashable, ...]) -> tuple[Columns, Columns | None]:
        """Return the known columns in order, and which of the matrix they are; None if all are.

        Batches of a stream name the same columns: what was found of the last is kept.
        """
        if self._placed is not None and self._placed[0] == names:
            # The batch's own names, so that its next block need not look at each.
            self._placed = names, *self._placed[1:]
        else:
            columns = np.array([self._columns.get(name, -1) for name in names], dtype=np.int64)
            places = np.argsort(columns, kind="stable")
            places = places[np.count_nonzero(columns < 0) :]
            columns = columns[places]
            if np.any(columns[1:] == columns[:-1]):
                raise ValueError("two columns of the matrix have the same name")
            as_they_are = np.array_equal(places, np.arange(len(names)))
            self._placed = names, columns, None if as_they_are else places
        return self._placed[1:]

    def _encode_sparse(self, names: Sequence[Hashable], rows: SparseRows) -> Row:
        n, width = len(rows), len(self._columns)
        # Only the columns that occur: a block of few rows must not pay for all the names.
        occurring, which = np.unique(rows.columns, return_inverse=True)
        known = np.array([self._columns.get(names[c], -1) for c in occurring], dtype=np.int64)
        self.ignored = int(np.count_nonzero(known < 0))
        columns, values = known[which], rows.values
        owners = np.repeat(np.arange(n), np.diff(rows.starts))
        kept = columns >= 0
        columns, values, owners = columns[kept], values[kept], owners[kept]
        if not self.is_sparse(-(-len(columns) // max(1, n))):
            filled = np.full((n, width), ABSENT)
            filled[owners, columns] = values
            return dense(filled)
        order = np.lexsort((columns, owners))
        starts = np.searchsorted(owners, np.arange(n + 1))
        return Row(values[order], columns[order], starts.astype(np.int64))
