"""Records whose columns are not their fields' own only: names, times and texts in them."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
from stream_llsvm.records.boxes import boxed
from stream_llsvm.records.column_space import ColumnSpace
from stream_llsvm.records.layout import WIDE, Layout
from stream_llsvm.records.names import check_name
from stream_llsvm.records.rows import Row, dense
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.text_boxes import Boxed, TextBoxes

Columns = NDArray[np.int64]

# Below this many features a dense row is always cheaper than looking up columns.
_SMALL = 64
# A record must name less than one in so many of the known features to be kept sparse.
_SPARSE = 4
# Of so many fields one layout is made for all; of more, one for those that a record names.
_MOST_AT_ONCE = 256
_NOT_NAMED = boxed(NOTHING, 0)


class Expansion(ColumnSpace):
    """Fields, their columns, and rows of all of them.

    Parameters
    ----------
    names
        Columns to start with, in order.

    """

    __slots__ = ("_all", "_boxes", "_laid_out", "ignored")
    _laid_out: tuple[tuple[Hashable, ...], Layout, Columns | None] | None
    _all: Layout | None

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        self._boxes = TextBoxes()
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
        self._laid_out = self._all = None

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
        return row

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
        if codes[EXTENT] == ALL:
            most = len(values) + n * len(self)
        elif n == 1:
            most = len(values) + sum(layout.sizes)
        else:
            sizes = np.array(layout.sizes, dtype=np.int64)
            most = len(values) + int(sizes[fields].sum())
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


def _few(named: int, known: int) -> bool:
    return known > _SMALL and _SPARSE * named < known
