"""Feature names <-> columns: records as the float64 rows that the kernels take."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice, repeat
from math import hypot, inf, nan
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.boxes import name_code
from stream_llsvm.records.names import check_name, sort_key
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.values import as_number, show

Columns = NDArray[np.int64]

#: A column that the record does not name at all. Infinity is never legal in a record, so the
#: code point is free; NaN says that the column is named, but has no value.
ABSENT = -inf

# Below this many features a dense row is always cheaper than looking up columns.
_SMALL = 64
# A record must name less than one in so many of the known features to be kept sparse.
_SPARSE = 4
_PLAIN = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}


class Row(NamedTuple):
    """Rows of numbers, dense or sparse; what the kernels take.

    Attributes
    ----------
    values
        Dense: (n, D), C-contiguous. Sparse: 1-D, the named values of all rows one after the
        other.
    columns
        Dense: empty. Sparse: the column of each value, ascending within a row.
    starts
        Dense: empty. Sparse: (n + 1,), where each row starts.

    """

    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]


def _dense(values: NDArray[np.float64]) -> Row:
    nothing = np.zeros(0, dtype=np.int64)
    return Row(values, nothing, nothing)


def _checked(x: Mapping[Any, Any]) -> Sequence[Any]:
    """Return the record's values: each can be packed into a float64, and none is infinite."""
    values: Sequence[Any] = tuple(x.values())
    if any(value is None for value in values):
        values = [nan if value is None else value for value in values]
    try:
        # Other types may be numbers too, but each has to be looked at; hypot as in `encode`.
        if set(map(type, values)) <= _PLAIN and hypot(*values) != inf:
            return values
    except OverflowError:
        pass  # an integer beyond the floats
    return [
        # NaN fails both comparisons, and as_number returns it as it is.
        value if type(value) is float and -inf < value < inf else as_number(name, value)
        for name, value in x.items()
    ]


class FeatureSpace:
    """Feature names <-> columns, in order of appearance.

    Names that appear together are added in one sorted order, so that the order of a dict
    cannot matter. Encoding never changes the space: names that are not known are ignored, and
    a learner that wants them calls `unknown` and `add`, after `encode` has found every value
    of the record sound.

    Parameters
    ----------
    names
        Names to start with, in column order (a saved model's).

    Attributes
    ----------
    ignored
        How many names of the last encoded record (or columns of the last frame) are not known.

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

    """

    __slots__ = (
        "_buffer",
        "_columns",
        "_get",
        "_names",
        "_pack",
        "_placed",
        "_row",
        "_stale",
        "_width",
        "ignored",
    )
    _names: tuple[Hashable, ...] | None
    _placed: tuple[tuple[Hashable, ...], Columns, Columns | None] | None
    _row: Row

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        self._columns: dict[Any, int] = {}
        self.ignored = 0
        self.append(names)

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names,)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The known names, in column order."""
        if self._names is None:
            self._names = tuple(self._columns)
        return self._names

    def field_hashes(self, first: int = 0) -> NDArray[np.int64]:
        """Return a number for the field of each column from one on; 0 if it is derived.

        Parameters
        ----------
        first
            The first column that is meant.

        """
        names = islice(self._columns, first, None)
        codes = [name_code(n if isinstance(n, str) else repr(n)) or 1 for n in names]
        return np.array(codes, dtype=np.int64)

    def renamed(self, names: Iterable[Hashable]) -> FeatureSpace:
        """Return a space like this with other names.

        Parameters
        ----------
        names
            The names, in column order.

        """
        return FeatureSpace(names)

    def unknown(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the names that are not known, each once, in the canonical order.

        Parameters
        ----------
        names
            Names of features; a record will do.

        Raises
        ------
        ValueError
            If a name is NaN or not hashable.

        """
        known = self._columns
        names = tuple(names)
        try:
            strangers = {name: None for name in names if name not in known}
        except TypeError:
            for name in names:
                check_name(name)
            raise
        for name in strangers:
            check_name(name)
        return sorted(strangers, key=sort_key)

    def strangers(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the features of a record that say nothing, since they are not known, as they come.

        Parameters
        ----------
        names
            Names of features; a record will do.

        """
        return [name for name in names if name not in self._columns]

    def add(self, names: Iterable[Hashable]) -> None:
        """Give columns to the names that have none yet, in the canonical order.

        Parameters
        ----------
        names
            Names of features; a record will do.

        """
        self.append(self.unknown(names))

    def append(self, names: Iterable[Hashable]) -> None:
        """Give columns to these names as they come: some of those that `unknown` returned.

        Parameters
        ----------
        names
            Names of features.

        """
        for name in names:
            check_name(name)
            self._columns.setdefault(name, len(self._columns))
        # What depends on the width is made again when it is next needed: a text stream brings
        # new names with every record, and must not pay for all the old ones each time.
        self._names = None
        self._placed = None
        self._stale = True
        self._width = -1

    def encode(self, x: Mapping[Any, Any]) -> Row:
        """Turn one record into one row.

        Parameters
        ----------
        x
            The record, ``{name: value}``. Every value is checked, also of unknown names.

        Returns
        -------
        Row
            Dense, or sparse if the record names few of many features. Its arrays are valid
            until the next call.

        Raises
        ------
        ValueError
            If a value is not a number, is infinite, or is too large for a float.
        TypeError
            If `x` is not a mapping.

        """
        # Exactly a dict: a list answers to integer names, a defaultdict to any name.
        if type(x) is dict and len(x) == self._width:
            try:
                values = self._get(x)
                self._pack(self._buffer, 0, *values)
                # hypot is infinite if any value is (or if the sum of squares overflows, which
                # the careful path sorts out), even beside a NaN; it is NaN for a mere NaN.
                # A numpy complex scalar slips through, with numpy's own warning, in a feature
                # that used to be real: looking at 22 types would double the time.
                if hypot(*values) != inf:
                    self.ignored = 0
                    return self._row
            except (KeyError, TypeError, ValueError, OverflowError, struct.error):
                pass  # the careful path finds out what it was
        return self._encode_carefully(x)

    def _encode_carefully(self, x: Mapping[Any, Any]) -> Row:
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(
                f"a record is a mapping {{feature: value}}, such as a dict; got {show(x)} "
                f"({type(x).__name__}); for many rows at once use the methods ending in _many"
            )
        numbers = _checked(x)
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
        # From now on a record like this one takes the short way. (itemgetter of a single name
        # makes no tuple.)
        if self._width < 0 and len(columns) == len(filled) > 1:
            self._get = itemgetter(*self._columns)
            self._width = len(filled)
        return self._row

    def _prepare(self) -> None:
        """Make the dense row that `encode` fills."""
        width = len(self._columns)
        # struct writes into a bytearray 0.1 us faster than into a numpy array.
        self._buffer = bytearray(8 * width)
        self._pack = struct.Struct(f"{width}d").pack_into
        self._row = _dense(np.frombuffer(self._buffer, dtype=np.float64).reshape(1, width))
        self._stale = False

    def is_sparse(self, named: int) -> bool:
        """Tell whether a record that names so many features names few of those known.

        Parameters
        ----------
        named
            How many known features it names.

        """
        width = len(self._columns)
        return width > _SMALL and _SPARSE * named < width

    def encode_many(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
        texts: Mapping[int, str] | None = None,
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
        texts
            The texts of names, by their codes.

        Returns
        -------
        Row
            All rows dense or all sparse (of a sparse matrix: sparse if records name few of the
            features on the mean). Shares the memory of `matrix` when there is nothing
            to move.

        Examples
        --------
        >>> space = FeatureSpace(["a", "b"])
        >>> space.encode_many(["b", "c"], np.array([[1.0, 2.0]])).values
        array([[-inf,   1.]])

        """
        if isinstance(matrix, SparseRows):
            return self._encode_sparse(names, matrix)
        names = tuple(names)
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ValueError(f"{len(names)} names for a matrix of shape {matrix.shape}")
        matrix = np.require(matrix, np.float64, ["C", "A", "W", "E"])
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
            return _dense(np.ascontiguousarray(matrix))
        values = np.full((n, width), ABSENT)
        values[:, columns] = matrix
        return _dense(values)

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
            return _dense(filled)
        order = np.lexsort((columns, owners))
        starts = np.searchsorted(owners, np.arange(n + 1))
        return Row(values[order], columns[order], starts.astype(np.int64))
