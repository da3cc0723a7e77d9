"""A feature space whose columns are a map's: records go in, and phi of them comes out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.feature_maps.base import FeatureMap
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.rows import Row
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.values import as_number

#: What names a column of phi(x): (this, the feature of x or None, a number).
PHI = "phi"
_PARTS = 3


def is_mapped(name: object) -> bool:
    """Whether a column of this name is one of phi(x)."""
    return type(name) is tuple and len(name) == _PARTS and name[0] == PHI


class MappedSpace(FeatureSpace):
    """Names <-> columns, where a record's columns are phi(x), and x itself too if it is kept.

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

    __slots__ = ("keeps_x", "map")

    def __init__(self, map: FeatureMap, keeps_x: bool, names: Iterable[Hashable] = ()) -> None:
        self.map, self.keeps_x = map, keeps_x
        super().__init__(names)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.map, self.keeps_x, self.names)

    def renamed(self, names: Iterable[Hashable]) -> MappedSpace:
        """Return a space like this with other columns."""
        return MappedSpace(self.map, self.keeps_x, names)

    @property
    def mapped(self) -> NDArray[np.bool_]:
        """Which columns are those of phi(x)."""
        return np.array([is_mapped(name) for name in self.names], dtype=bool)

    def unknown(self, names: Iterable[Hashable]) -> list[Any]:
        """Return the columns that records of these features need and that are not known.

        Names of columns of phi(x) stand for themselves.

        Parameters
        ----------
        names
            Names of features or of columns; a record will do.

        """
        given = list(names)
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
            Names of features; a record will do.

        """
        if self.keeps_x:
            return super().strangers(names)
        return [name for name in names if super(MappedSpace, self).strangers(self._made((name,)))]

    def encode(self, x: Mapping[Any, Any]) -> Row:
        """Turn one record into one row; see `FeatureSpace.encode`.

        Parameters
        ----------
        x
            The record.

        """
        if not isinstance(x, Mapping):
            return super().encode(x)  # raises
        numbers = {name: as_number(name, value) for name, value in x.items()}
        return super().encode(self._both(numbers))

    def _both(self, x: dict[Any, float]) -> dict[Any, float]:
        phi = dict(zip(self._made(tuple(x)), self.map.map_one(x), strict=True))
        return x | phi if self.keeps_x else phi

    def _made(self, names: Sequence[Hashable]) -> list[Any]:
        return [(PHI, *one) for one in self.map.made_of(names)]

    def encode_many(
        self,
        names: Sequence[Hashable],
        matrix: NDArray[Any] | SparseRows,
        texts: Mapping[int, str] | None = None,
    ) -> Row:
        """Turn a matrix into rows; see `FeatureSpace.encode_many`.

        Parameters
        ----------
        names
            The names of the matrix's columns.
        matrix
            (n, number of names), or sparse.
        texts
            The texts of names, by their codes.

        """
        if isinstance(matrix, SparseRows):
            return super().encode_many(*self._map_sparse(names, matrix))
        matrix = np.asarray(matrix, dtype=np.float64)
        phi_names = self._made(names)
        phi = np.empty((len(matrix), len(phi_names)))
        for i, row in enumerate(matrix.tolist()):
            phi[i] = self.map.map_one(dict(zip(names, row, strict=True)))
        if self.keeps_x:
            return super().encode_many([*names, *phi_names], np.column_stack([matrix, phi]))
        return super().encode_many(phi_names, phi)

    def _map_sparse(
        self, names: Sequence[Hashable], matrix: SparseRows
    ) -> tuple[list[Any], SparseRows]:
        places: dict[Any, int] = {}
        values: list[float] = []
        columns: list[int] = []
        starts = [0]
        for i in range(len(matrix)):
            part = slice(matrix.starts[i], matrix.starts[i + 1])
            row = [names[c] for c in matrix.columns[part].tolist()]
            both = self._both(dict(zip(row, matrix.values[part].tolist(), strict=True)))
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
