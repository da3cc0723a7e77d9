"""Records and matrices as the float64 rows that the kernels take."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from math import hypot, inf, nan
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.expand import (
    ALL,
    EXTENT,
    NOTHING,
    ONES,
    ZEROS,
    expand_dense,
    expand_sparse,
)
from stream_llsvm.records.boxes import boxed, boxed_name
from stream_llsvm.records.column_space import ColumnSpace, flat, only_numbers, plain_numbers
from stream_llsvm.records.layout import WIDE, Layout
from stream_llsvm.records.names import check_name
from stream_llsvm.records.rows import ABSENT, Row, dense
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import read, show

Columns = NDArray[np.int64]
#: What a value is in a row: a number or a box, or the boxes of a text's words.
Boxed = float | tuple[float, ...]


# Below this many features a dense row is always cheaper than looking up columns.
_SMALL = 64
# A record must name less than one in so many of the known features to be kept sparse.
_SPARSE = 4
# Of so many fields one layout is made for all; of more, one for those that a record names.
_MOST_AT_ONCE = 256
# So many texts are kept with their boxes, each at most so long; then it begins anew.
_MOST_TEXTS, _LONGEST_TEXT = 2**15, 100
_NONE = np.zeros(0, dtype=np.int64)
_NOT_NAMED = boxed(NOTHING, 0)


class FeatureSpace(ColumnSpace):
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
        "_all",
        "_boxes",
        "_buffer",
        "_codes",
        "_fixed",
        "_get",
        "_is_sparse",
        "_laid_out",
        "_out",
        "_pack",
        "_placed",
        "_raw",
        "_row",
        "_stale",
        "_width",
        "_words",
        "ignored",
    )
    _placed: tuple[tuple[Hashable, ...], Columns, Columns | None] | None
    _laid_out: tuple[tuple[Hashable, ...], Layout, Columns | None] | None
    _all: Layout | None
    _row: Row

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        #: Texts and their boxes: those of values, and those of words.
        self._boxes: dict[str | None, float] = {None: nan}
        self._words: dict[str, float] = {}
        self.ignored = 0
        super().__init__(names)

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
        self._placed = self._laid_out = self._all = None
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
                    self._pack(self._buffer, 0, *map(self._boxes.get, values, values))
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
            numbers = [self._boxed(name, value) for name, value in x.items()]
            odd = not only_numbers(numbers) or any(map(says_when, x))
        else:
            numbers, large = plain
            odd = large and any(map(says_when, x))
        if odd or self._derived:
            return self._encode_mixed(x, numbers)
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

    def _boxed(self, name: Hashable, value: object) -> Boxed:
        """Return what a value is in a row."""
        is_text = type(value) is str
        if is_text and (known := self._boxes.get(value)) is not None:  # type: ignore[call-overload]
            return known  # type: ignore[no-any-return]
        told = read(name, value)
        if isinstance(told, tuple):
            return tuple(map(self._word, told))
        box = boxed_name(told) if isinstance(told, str) else told
        if is_text:
            _keep(self._boxes, value, box)  # type: ignore[arg-type]
            self._boxes[None] = nan
        return box

    def _word(self, word: str) -> float:
        box = self._words.get(word)
        if box is None:
            box = boxed_name(word)
            _keep(self._words, word, box)
        return box

    def _encode_mixed(self, x: Mapping[Any, Any], numbers: Sequence[Boxed]) -> Row:
        """Turn a record into a row whose columns are not the fields' own only."""
        layout = self._layout_of(x)
        values: list[float] = []
        fields: list[int] = []
        named = lacking = 0
        for name, number in zip(x, numbers, strict=True):
            place = layout.places.get(name)
            if place is None:
                check_name(name)
                lacking += len(self.lacking(name, number))
                continue
            named += layout.sizes[place]
            if type(number) is tuple:
                values += number
                fields += [place] * len(number)
            else:
                values.append(number)  # type: ignore[arg-type]
                fields.append(place)
        packed = np.frombuffer(struct.pack(f"{len(values)}d", *values))
        where = np.array(fields, dtype=np.int64)
        text = len(set(fields)) < len(fields)
        if text or self._texts or self.is_sparse(named):
            starts = np.array((0, len(values)), dtype=np.int64)
            row, lacks = self._sparse_rows(packed, where, starts, layout, texts=text)
        else:
            raw = np.full(len(layout.fields), _NOT_NAMED)
            raw[where] = packed
            row, lacks = self._dense_rows(raw, 1, layout)
        self.ignored = lacking + lacks
        if type(x) is dict and not text and len(fields) == len(x) == len(layout.fields) > 1:
            self._fix(layout, sparse=row.starts.size > 0)
        return row

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

    def _extent(self, layout: Layout, *, texts: bool) -> Columns:
        """Return the codes of a layout for sparse rows, some with texts in them or none."""
        narrow = ALL if texts or self._texts else ZEROS
        layout.codes[EXTENT] = ONES if len(self) >= WIDE else narrow
        return layout.codes

    def _layout_of(self, fields: Iterable[Hashable]) -> Layout:
        """Return a layout in which all of these fields are that are known."""
        if self._all is None and len(self._columns) - self._n_derived <= _MOST_AT_ONCE:
            self._all = Layout(self.fields, self._columns, self._parts, len(self))
        if self._all is not None:
            return self._all
        known = [f for f in fields if f in self._columns or self._parts.get(f)]
        return Layout(known, self._columns, self._parts, len(self))

    def _dense_rows(self, values: NDArray[np.float64], n: int, layout: Layout) -> tuple[Row, int]:
        out = np.empty((n, len(self)))
        return dense(out), expand_dense(values, layout.codes, out)

    def _sparse_rows(
        self,
        values: NDArray[np.float64],
        fields: Columns,
        starts: Columns,
        layout: Layout,
        *,
        texts: bool,
    ) -> tuple[Row, int]:
        codes, n = self._extent(layout, texts=texts), len(starts) - 1
        sizes = np.array(layout.sizes, dtype=np.int64)
        most = len(values) + (n * len(self) if codes[EXTENT] == ALL else int(sizes[fields].sum()))
        row = Row(np.empty(most), np.empty(most, dtype=np.int64), np.empty(n + 1, dtype=np.int64))
        lacking = expand_sparse(values, fields, starts, codes, *row)
        end = row.starts[n]
        return Row(row.values[:end], row.columns[:end], row.starts), lacking

    def is_sparse(self, named: int) -> bool:
        """Tell whether a record that names so many columns names few of those known.

        Parameters
        ----------
        named
            How many known columns it names.

        """
        return _few(named, len(self._columns))

    def knows_many(self, named: int) -> bool:
        """Tell whether a record that names so many fields names few of those known.

        Parameters
        ----------
        named
            How many known fields it names.

        """
        return _few(named, len(self.fields) if self._derived else len(self._columns))

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

    def _expand_matrix(
        self, names: tuple[Hashable, ...], matrix: NDArray[np.float64]
    ) -> tuple[Row, int]:
        """Turn a matrix into rows whose columns are not the fields' own only."""
        layout, places = self._layout_for(names)
        if places is not None:
            matrix = np.take(matrix, places, axis=1)
        n, d = matrix.shape
        values = matrix.reshape(-1)
        if self._texts or self.is_sparse(sum(layout.sizes)):
            fields, starts = np.tile(np.arange(d), n), np.arange(n + 1) * d
            return self._sparse_rows(values, fields, starts, layout, texts=False)
        return self._dense_rows(values, n, layout)

    def _layout_for(self, names: tuple[Hashable, ...]) -> tuple[Layout, Columns | None]:
        """Return a layout of the known ones of a matrix's columns, and which these are.

        None if all are. What was found of the last batch is kept.
        """
        if self._laid_out is None or self._laid_out[0] != names:
            known = [i for i, f in enumerate(names) if f in self._columns or self._parts.get(f)]
            if len({names[i] for i in known}) < len(known):
                raise ValueError("two columns of the matrix have the same name")
            fields = [names[i] for i in known]
            layout = Layout(fields, self._columns, self._parts, len(self))
            all_known = len(known) == len(names)
            places = None if all_known else np.array(known, dtype=np.int64)
            self._laid_out = names, layout, places
        self.ignored = len(names) - len(self._laid_out[1].fields)
        return self._laid_out[1:]

    def _expand_sparse(self, names: Sequence[Hashable], rows: SparseRows) -> tuple[Row, int]:
        n = len(rows)
        occurring, which = np.unique(rows.columns, return_inverse=True)
        layout, _ = self._layout_for(tuple(names[c] for c in occurring))
        places = [layout.places.get(names[c], -1) for c in occurring]
        fields, values = np.array(places, dtype=np.int64)[which], rows.values
        owners = np.repeat(np.arange(n), np.diff(rows.starts))
        kept = fields >= 0
        fields, values, owners = fields[kept], values[kept], owners[kept]
        starts = np.searchsorted(owners, np.arange(n + 1)).astype(np.int64)
        texts = bool(np.any((fields[1:] == fields[:-1]) & (owners[1:] == owners[:-1])))
        named = int(np.array(layout.sizes, dtype=np.int64)[fields].sum())
        if texts or self._texts or self.is_sparse(-(-named // max(1, n))):
            return self._sparse_rows(values, fields, starts, layout, texts=texts)
        raw = np.full((n, len(layout.fields)), _NOT_NAMED)
        raw[owners, fields] = values
        return self._dense_rows(raw.reshape(-1), n, layout)

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


def _few(named: int, known: int) -> bool:
    return known > _SMALL and _SPARSE * named < known


def _keep(boxes: dict[Any, float], text: str, box: float) -> None:
    """Keep the box of a text, within bounds."""
    if len(text) <= _LONGEST_TEXT:
        if len(boxes) >= _MOST_TEXTS:
            boxes.clear()
        boxes[text] = box
