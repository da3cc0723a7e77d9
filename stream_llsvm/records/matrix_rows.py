"""Matrices, dense or sparse, as rows in the order of a space's columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.expansion import Columns, Expansion
from stream_llsvm.records.rows import ABSENT, Row, dense
from stream_llsvm.records.sparse import SparseRows


class MatrixRows(Expansion):
    """Columns, and rows of matrices whose columns are named.

    Parameters
    ----------
    names
        Columns to start with, in order.

    """

    __slots__ = ("_placed",)
    _placed: tuple[tuple[Hashable, ...], Columns, Columns | None] | None

    def append(self, names: Iterable[Hashable]) -> None:
        """Add these columns as they come: some of those that `unknown` returned.

        Parameters
        ----------
        names
            What names the columns.

        """
        super().append(names)
        self._placed = None

    def encode_many(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
    ) -> Row:
        """Turn a matrix into rows in the space's column order.

        The rows are, to the bit, those that `FeatureSpace.encode` makes of the same records.

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
        >>> space = MatrixRows(["a", "b"])
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
