"""Which columns there are, in order of appearance, and which ones a record still lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from math import hypot, inf, isnan, nan
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import NAME, TIME
from stream_llsvm.kernels.expand import (
    BOXES,
    EARLIEST,
    LACKS_OWN,
    LACKS_TIME,
    LACKS_WORDS,
    MOST_NAMES,
    any_odd,
    epoch_moment,
    find_new,
)
from stream_llsvm.records.boxes import name_code, unboxed
from stream_llsvm.records.columns import (
    HOURS,
    WEEKDAYS,
    WORD_COUNT,
    NameColumn,
    PartColumn,
    column_key,
    field_of,
    from_plain,
    hashes_of,
    to_plain,
)
from stream_llsvm.records.layout import Layout, Parts, most_found
from stream_llsvm.records.names import all_strings, check_name
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.texts import Read
from stream_llsvm.records.times import says_when
from stream_llsvm.records.values import read

Texts = Mapping[int, str]

_PLAIN = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}
_NOTHING = np.zeros(0, dtype=np.int64)


def flat(x: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a record without objects in it: itself, if there are none."""
    for value in x.values():
        if isinstance(value, Mapping):
            return flattened(x).record
    return x


def plain_numbers(x: Mapping[Any, Any]) -> tuple[Sequence[Any], bool] | None:
    """Return a record's values, if each is a finite number or None, and whether one is large.

    So large that in a field that says so it may be a time. None, if a value is no such number.
    """
    values: Sequence[Any] = tuple(x.values())
    kinds = set(map(type, values))
    missing = NoneType in kinds
    kinds.discard(NoneType)
    if not kinds <= _PLAIN:
        return None  # other types may be numbers too, but each has to be looked at
    if missing:
        values = [nan if value is None or value != value else value for value in values]  # noqa: PLR0124
    try:
        if (size := hypot(*values)) != inf:  # as in `encode`
            if size != size and not missing:  # noqa: PLR0124
                values = [value if value == value else nan for value in values]  # noqa: PLR0124
            return values, not size < EARLIEST and any(value >= EARLIEST for value in values)
    except OverflowError:
        pass  # an integer beyond the floats
    return None


def only_numbers(values: Iterable[Any]) -> bool:
    """Tell whether values that were read are numbers all, and no names, times or words."""
    return all(
        type(value) is float and not (isnan(value) and unboxed(value)[0]) for value in values
    )


class ColumnSpace:
    """Fields and their columns.

    A field has a column of its own, named as the field, if it had a number or a name; a 0/1 column
    for each of its first names; two if it had times; and one if it had texts.

    Parameters
    ----------
    names
        The columns to start with, in order (a saved model's).

    """

    __slots__ = ("_columns", "_derived", "_n_derived", "_names", "_parts", "_says_when", "_texts")
    _names: tuple[Any, ...] | None

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        self._columns: dict[Any, int] = {}
        #: What fields have beside their own column, if they have or may have something.
        self._parts: dict[Any, Parts] = {}
        #: Whether there is such a column; a column of words; and a field whose name says when.
        self._derived = self._texts = self._says_when = False
        self._n_derived = 0
        self.append(names)

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names,)

    @property
    def names(self) -> tuple[Any, ...]:
        """What names the columns, in their order."""
        if self._names is None:
            self._names = tuple(self._columns)
        return self._names

    @property
    def fields(self) -> tuple[Any, ...]:
        """The fields that have columns, in order of appearance."""
        if not self._derived:
            return self.names
        return tuple(dict.fromkeys(map(field_of, self._columns)))

    @property
    def has_derived(self) -> bool:
        """Whether a column is not a field's own."""
        return self._derived

    def field_hashes(self, first: int = 0) -> NDArray[np.int64]:
        """Return a number for the field of each column from one on; 0 if it is derived.

        Parameters
        ----------
        first
            The first column that is meant.

        """
        return hashes_of(islice(self._columns, first, None))

    def shares(self) -> NDArray[np.float32]:
        """Return how much of its field's place each column has: of k names each 1 / sqrt(k)."""
        if not self._derived:
            return np.ones(len(self), dtype=np.float32)
        names = Counter(c.field for c in self._columns if isinstance(c, NameColumn))
        counts = [names[c.field] if isinstance(c, NameColumn) else 1 for c in self._columns]
        return np.array(1 / np.sqrt(np.array(counts)), dtype=np.float32)

    def renamed(self, names: Iterable[Hashable]) -> Self:
        """Return a space like this with other columns.

        Parameters
        ----------
        names
            What names the columns, in order.

        """
        return type(self)(names)

    @property
    def saved(self) -> tuple[Any, ...]:
        """The columns as plain values, for a model's file."""
        return to_plain(self._columns)

    def restored(self, saved: Sequence[Any]) -> Self:
        """Return a space like this with the columns of a file.

        Parameters
        ----------
        saved
            What `saved` was.

        Raises
        ------
        ValueError
            If it is not what `saved` gives.

        """
        space = self.renamed(from_plain(saved))
        if len(space) != len(saved):
            raise ValueError("the file names a feature twice")
        return space

    def unknown(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the columns that are not known, each once, in the canonical order.

        Parameters
        ----------
        names
            A record, whose values tell which columns it needs; or names of fields or of columns.

        Raises
        ------
        ValueError
            If a name is NaN or not hashable, or a value cannot be read.

        """
        if isinstance(names, Mapping):
            names = self._needed(names)
        known = self._columns
        names = tuple(names)
        try:
            strangers = {name: None for name in names if name not in known}
            if all_strings(strangers):  # their order is that of their keys
                return sorted(strangers)
        except TypeError:
            for name in names:
                check_name(name)
            raise
        for name in strangers:
            check_name(field_of(name))
        return sorted(strangers, key=column_key)

    def _needed(self, x: Mapping[Any, Any]) -> list[Any]:
        """Return the columns that a record needs, known ones among them."""
        plain = plain_numbers(x)
        if plain is not None and not self._derived and not (plain[1] and any(map(says_when, x))):
            return list(x)
        x = flat(x)
        for name in x:
            check_name(name)
        return [c for name, value in x.items() for c in self.lacking(name, read(name, value))]

    def lacking(self, name: Hashable, value: Read | tuple[float, ...]) -> list[Any]:
        """Return the columns that are missing for a value of a field.

        Parameters
        ----------
        name
            The field.
        value
            What `read` gave, or boxes of it.

        """
        parts = self._parts.get(name)
        own = [] if name in self._columns else [name]
        if isinstance(value, tuple):
            counted = parts is not None and parts.words >= 0
            return own if counted else [*own, PartColumn(name, WORD_COUNT)]
        if isinstance(value, str):
            return own + self._lacking_name(name, value, name_code(value))
        kind, content = unboxed(value)
        if kind == NAME:
            return own + self._lacking_name(name, f"#{content:012x}", content)
        flagged = says_when(name) if parts is None else parts.says_when
        if kind == TIME or (flagged and epoch_moment(value) >= 0):
            timed = parts is not None and parts.hour >= 0
            return [] if timed else [PartColumn(name, HOURS), PartColumn(name, WEEKDAYS)]
        # A value that is missing says nothing of a field that is known.
        return [] if isnan(value) and parts else own

    def _lacking_name(self, field: Hashable, text: str, code: int) -> list[Any]:
        parts = self._parts.get(field)
        if parts is not None and (code in parts.names or len(parts.names) >= MOST_NAMES):
            return []
        return [NameColumn(field, text, code)]

    def strangers(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the fields of a record that say nothing, since they are not known, as they come.

        Parameters
        ----------
        names
            A record, or names of fields.

        """
        if isinstance(names, Mapping):
            names = flat(names)
        return [n for n in names if n not in self._columns and not self._parts.get(n)]

    def add(self, names: Iterable[Hashable]) -> None:
        """Add the columns that are not known, in the canonical order.

        Parameters
        ----------
        names
            A record, or names of fields or of columns.

        """
        self.append(self.unknown(names))

    def append(self, names: Iterable[Hashable]) -> None:
        """Add these columns as they come: some of those that `unknown` returned.

        Parameters
        ----------
        names
            What names the columns.

        """
        columns = self._columns
        for name in names:
            usual = type(name) is str  # and texts bring many of them
            if not usual:
                check_name(field_of(name))
            if name not in columns:
                columns[name] = len(columns)
                if not usual or says_when(name):
                    self._note(name)
        self._names = None

    def _note(self, name: Any) -> None:
        """Note which field a new column is of."""
        field, place = field_of(name), self._columns[name]
        parts = self._parts.get(field)
        flagged = parts is None and says_when(field)
        if parts is None and (field is not name or flagged):
            parts = self._parts[field] = Parts(says_when=flagged)
            self._says_when |= flagged
        if parts is not None and isinstance(name, NameColumn | PartColumn):
            parts.add(name, place)
            self._derived = True
            self._n_derived += 1
            self._texts |= parts.words >= 0

    def arriving(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
        texts: Texts | None,
        counted: NDArray[np.bool_],
    ) -> dict[int, list[Any]]:
        """Return the columns that are new, by the row that brings them.

        Parameters
        ----------
        names
            The names of the matrix's columns.
        matrix
            Rows, as `encode_many` takes them.
        texts
            The texts of names, by their codes.
        counted
            Which rows count.

        """
        if not self._may_expand(names, matrix):
            if not isinstance(matrix, SparseRows):
                unknown = self.unknown(names)
                return {0: unknown} if unknown and len(matrix) > 0 else {}
            found = matrix.first_rows(np.flatnonzero(counted))
            new = {row: self.unknown(names[c] for c in at) for row, at in found.items()}
            return {row: unknown for row, unknown in new.items() if unknown}
        for name in names:
            check_name(field_of(name))
        parts = {n: self._parts.get(n) or Parts(says_when=says_when(n)) for n in names}
        layout = Layout(names, self._columns, parts, len(self)).with_room()
        fields, starts, values = _NOTHING, _NOTHING, matrix
        if isinstance(matrix, SparseRows):
            fields, starts, values = matrix.columns, matrix.starts, matrix.values
        assert isinstance(values, np.ndarray)
        noted = np.zeros((most_found(names), 3), dtype=np.int64)
        flat_values = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        n = find_new(flat_values, fields, starts, counted, layout, noted)
        by_row: dict[int, list[Any]] = {}
        for row, field, what in noted[:n].tolist():
            by_row.setdefault(row, []).extend(_made(names[field], what, texts or {}))
        return {row: sorted(columns, key=column_key) for row, columns in by_row.items()}

    def unknown_in(
        self, names: Sequence[Hashable], matrix: NDArray[Any] | SparseRows, texts: Texts | None
    ) -> list[Any]:
        """Return the columns that a batch brings, all together.

        Parameters
        ----------
        names
            The names of the matrix's columns.
        matrix
            Rows, as `encode_many` takes them.
        texts
            The texts of names, by their codes.

        """
        if self._may_expand(names, matrix):
            rows = self.arriving(names, matrix, texts, np.ones(len(matrix), dtype=np.bool_))
            return [column for row in sorted(rows) for column in rows[row]]
        if isinstance(matrix, SparseRows):
            return self.unknown(names[c] for c in np.unique(matrix.columns))
        return self.unknown(names)

    def _may_expand(self, names: Iterable[Hashable], matrix: NDArray[Any] | SparseRows) -> bool:
        """Tell whether rows may name columns that are not the fields' own."""
        if self._derived:
            return True
        values = matrix.values if isinstance(matrix, SparseRows) else matrix
        if values.dtype != np.float64:
            return False  # names and times take eight bytes
        odd = any_odd(np.ascontiguousarray(values).reshape(-1))
        return odd == BOXES or (odd > 0 and any(map(says_when, names)))


def _made(field: Hashable, what: int, texts: Texts) -> list[Any]:
    """Return the columns that a field lacks, as compiled code notes it."""
    if what == LACKS_OWN:
        return [field]
    if what == LACKS_TIME:
        return [PartColumn(field, HOURS), PartColumn(field, WEEKDAYS)]
    if what == LACKS_WORDS:
        return [PartColumn(field, WORD_COUNT)]
    return [NameColumn(field, texts.get(what, f"#{what:012x}"), what)]
