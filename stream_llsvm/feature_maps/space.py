"""A feature space whose columns are a map's: records go in, and phi of them comes out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.feature_maps.base import FeatureMap, numbers_of
from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.kernels.expand import MOST_NAMES
from stream_llsvm.records.boxes import unboxed
from stream_llsvm.records.column_space import Texts, flat
from stream_llsvm.records.columns import (
    NameColumn,
    field_of,
    from_plain,
    to_plain,
)
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.names import check_name
from stream_llsvm.records.rows import Row
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.texts import BLANKS

#: What names a column of phi(x): (this, the feature of x or None, a number).
PHI = "phi"
_PARTS = 3


def is_mapped(name: object) -> bool:
    """Whether a column of this name is one of phi(x)."""
    return type(name) is tuple and len(name) == _PARTS and name[0] == PHI


class MappedSpace(FeatureSpace):
    """Names <-> columns, where a record's columns are phi(x), and x itself too if it is kept.

    To the map a name is a feature that is 1 where the record has it and 0 where it has another of
    the first names of its field; a time is an hour and a weekday, a text its number of words.

    Parameters
    ----------
    map
        The feature map.
    keeps_x
        Whether x has columns beside phi(x).
    names
        Names to start with, in column order.

    Examples
    --------
    >>> from stream_llsvm.feature_maps.homogeneous import HomogeneousKernelMap
    >>> space = MappedSpace(HomogeneousKernelMap("chi2", order=0), keeps_x=True)
    >>> space.add({"red": 4.0})
    >>> space.names
    ('red', ('phi', 'red', 0))
    >>> space.encode({"red": 4.0}).values.round(2)
    array([[4.  , 1.41]])

    """

    __slots__ = ("_of_field", "keeps_x", "map")

    def __init__(self, map: FeatureMap, keeps_x: bool, names: Iterable[Hashable] = ()) -> None:
        self.map, self.keeps_x = map, keeps_x
        #: The columns of each field's names, by their codes.
        self._of_field: dict[Hashable, dict[int, NameColumn]] = {}
        super().__init__(names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.map, self.keeps_x, self.names)

    def renamed(self, names: Iterable[Hashable]) -> MappedSpace:
        """Return a space like this with other columns."""
        return MappedSpace(self.map, self.keeps_x, names)

    @property
    def saved(self) -> tuple[Any, ...]:
        """The columns as plain values, for a model's file."""
        return tuple(
            (PHI, *to_plain([name[1]]), name[2]) if is_mapped(name) else to_plain([name])[0]
            for name in self.names
        )

    def restored(self, saved: Sequence[Any]) -> MappedSpace:
        """Return a space like this with the columns of a file."""
        names = [
            (PHI, *from_plain([name[1]]), name[2]) if is_mapped(name) else from_plain([name])[0]
            for name in saved
        ]
        space = self.renamed(names)
        if len(space) != len(saved):
            raise ValueError("the file names a feature twice")
        return space

    @property
    def fields(self) -> tuple[Any, ...]:
        """The columns, but those that are of names, times and texts by their fields."""
        return tuple(dict.fromkeys(field_of(name) for name in self.names))

    @property
    def mapped(self) -> NDArray[np.bool_]:
        """Which columns are those of phi(x)."""
        return np.array([is_mapped(name) for name in self.names], dtype=bool)

    def _note(self, name: Any) -> None:
        made_of = name[1] if is_mapped(name) else name
        if isinstance(made_of, NameColumn):
            self._of_field.setdefault(made_of.field, {})[made_of.code] = made_of

    def unknown(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the columns that records of these features need and that are not known.

        Names of columns of phi(x) stand for themselves.

        Parameters
        ----------
        names
            A record, or names of features or of columns.

        """
        given = list(self.numbers(names)) if isinstance(names, Mapping) else list(names)
        super().unknown(given)  # raises for names that cannot be
        features = [name for name in given if not is_mapped(name)]
        made = [name for name in given if is_mapped(name)]
        if features:
            made += [(PHI, *one) for one in self.map.made_of(features)]
        return super().unknown((*features, *made) if self.keeps_x else made)

    def strangers(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the features of a record that say nothing, since they are not known.

        Parameters
        ----------
        names
            A record, or names of features.

        """
        own = {field_of(name[1] if is_mapped(name) else name) for name in self.names}
        everything = any(is_mapped(name) and name[1] is None for name in self.names)
        return [] if everything and not self.keeps_x else [n for n in names if n not in own]

    def encode(self, x: Mapping[Any, Any]) -> Row:
        """Turn one record into one row; see `FeatureSpace.encode`.

        Parameters
        ----------
        x
            The record.

        """
        if not isinstance(x, Mapping):
            return super().encode(x)  # raises
        return super().encode(self._both(self.numbers(x)))

    def numbers(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return what a record is to the map.

        Parameters
        ----------
        x
            The record.

        """
        found: dict[Any, float] = {}
        for field, value in flat(x).items():
            check_name(field)
            box = self._boxes.of(field, value)
            kind, code = (0, 0) if isinstance(box, tuple) else unboxed(box)
            if kind != NAME:
                found.update(numbers_of(field, box))
                continue
            known = self._of_field.get(field, {})
            found.update(dict.fromkeys(known.values(), 0.0))
            if code in known or len(known) < MOST_NAMES:
                text = value.strip(BLANKS) if isinstance(value, str) else f"#{code:012x}"
                found[known.get(code, NameColumn(field, text, code))] = 1.0
        return found

    def _both(self, x: dict[Any, float]) -> dict[Any, float]:
        phi = dict(zip(self._made(tuple(x)), self.map.map_one(x), strict=True))
        return x | phi if self.keeps_x else phi

    def _made(self, names: Sequence[Hashable]) -> list[Any]:
        return [(PHI, *one) for one in self.map.made_of(names)]

    def arriving(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
        texts: Texts | None,
        counted: NDArray[np.bool_],
    ) -> dict[int, list[Any]]:
        """Return the columns that are new, by the row that brings them; see `FeatureSpace`."""
        if not self._may_expand(names, matrix):
            return super().arriving(names, matrix, texts, counted)
        twin, new = self.renamed(self.names), {}
        for i, x in enumerate(_records(names, matrix, texts)):
            if counted[i] and (unknown := twin.unknown(x)):
                new[i] = unknown
                twin.append(unknown)
        return new

    def encode_many(self, names: Sequence[Hashable], matrix: NDArray[Any] | SparseRows) -> Row:
        """Turn a matrix into rows; see `FeatureSpace.encode_many`.

        Parameters
        ----------
        names
            The names of the matrix's columns.
        matrix
            (n, number of names), or sparse.

        """
        if isinstance(matrix, SparseRows) or self._of_field or self._may_expand(names, matrix):
            return super().encode_many(*self._map_rows(names, matrix))
        matrix = np.asarray(matrix, dtype=np.float64)
        phi_names = self._made(names)
        phi = np.empty((len(matrix), len(phi_names)))
        for i, row in enumerate(matrix.tolist()):
            phi[i] = self.map.map_one(dict(zip(names, row, strict=True)))
        if self.keeps_x:
            return super().encode_many([*names, *phi_names], np.column_stack([matrix, phi]))
        return super().encode_many(phi_names, phi)

    def _map_rows(
        self, names: Sequence[Hashable], matrix: NDArray[Any] | SparseRows
    ) -> tuple[list[Any], SparseRows]:
        places: dict[Any, int] = {}
        values: list[float] = []
        columns: list[int] = []
        starts = [0]
        for x in _records(names, matrix, None):
            both = self._both(self.numbers(x))
            own = sorted((places.setdefault(name, len(places)), v) for name, v in both.items())
            columns += [c for c, _ in own]
            values += [v for _, v in own]
            starts.append(len(columns))
        rows = SparseRows(
            np.array(values, dtype=np.float64),
            np.array(columns, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            len(places),
        )
        return list(places), rows


def _records(
    names: Sequence[Hashable], matrix: NDArray[Any] | SparseRows, texts: Texts | None
) -> Iterator[dict[Any, Any]]:
    """Yield rows as records; a name is its text, if that is given."""
    for i in range(len(matrix)):
        if isinstance(matrix, SparseRows):
            part = slice(matrix.starts[i], matrix.starts[i + 1])
            fields = [names[c] for c in matrix.columns[part].tolist()]
            values = matrix.values[part].tolist()
        else:
            fields, values = list(names), matrix[i].tolist()
        x: dict[Any, Any] = {}
        for field, value in zip(fields, values, strict=True):
            kind, code = unboxed(float(value))
            x[field] = texts.get(code, value) if texts and kind == NAME else value
        yield x
