"""The user's dataframes in, as one float64 matrix; results out, as the same kind of frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import DAY_BITS, FIRST_BOX, KIND_SHIFT, TIME
from stream_llsvm.records.cells import Cells
from stream_llsvm.records.labels import label_array
from stream_llsvm.records.names import check_name
from stream_llsvm.records.nans import with_plain_nans
from stream_llsvm.records.nested import flattened
from stream_llsvm.records.sparse import NARROW, SparseRows, is_sparse, sparse_rows
from stream_llsvm.records.values import as_number, show

Names = tuple[Hashable, ...]
#: Rows of numbers. Small numbers stay small until a block of their rows is encoded: of bytes, eight
#: times as much memory would be filled only to be read once.
Matrix = NDArray[Any] | SparseRows

_MATRIX = 2  # dimensions
_WIDE = 8  # bytes of a float64


class Records(NamedTuple):
    """Records of a frame or an array.

    Attributes
    ----------
    names
        The fields.
    matrix
        A row of numbers for each record. Names and times are boxes in it, see ``boxes.py``; if
        some values are texts of several words, it is sparse, and their columns come several times.
    texts
        The texts of names, by their codes.

    """

    names: Names
    matrix: Matrix
    texts: dict[int, str]


def as_matrix(X: Any) -> Records:
    """Read a batch of records: the features' names, and a row of numbers for each record.

    Parameters
    ----------
    X
        A pandas, polars or pyarrow dataframe (any eager one that narwhals reads), or a 2-D
        numpy array or scipy sparse matrix, whose features are named 0..D-1. Of a sparse matrix
        with more than 64 columns a record names only what is stored.

    Returns
    -------
    Records
        The columns' names, the matrix and the texts of its names. The matrix is (n, D),
        C-contiguous; a missing value is NaN, a boolean 0 or 1. It may share the memory
        of an array given as `X`; one of less than eight bytes a number is returned as it is. A
        wide sparse matrix stays sparse.

    Raises
    ------
    ValueError
        If a value cannot be read or is infinite, two columns have one name, or an array is not
        2-D.
    TypeError
        If `X` is neither an eager dataframe nor an array.

    Examples
    --------
    >>> import pandas as pd
    >>> records = as_matrix(pd.DataFrame({"a": [1, 2], "b": [True, None], "c": ["x", "y"]}))
    >>> records.names
    ('a', 'b', 'c')
    >>> records.matrix
    array([[ 1.,  1., nan],
           [ 2., nan, nan]])
    >>> sorted(records.texts.values())
    ['x', 'y']

    """
    if is_sparse(X):
        if X.ndim != _MATRIX:
            raise ValueError(f"a sparse matrix of records must be 2-D, got shape {X.shape}")
        if X.shape[1] > NARROW:
            return Records(*_from_sparse(X), {})
        X = X.toarray()
    cells = Cells()
    names, matrix = _from_array(X, cells) if isinstance(X, np.ndarray) else _from_frame(X, cells)
    if matrix.dtype.itemsize >= _WIDE:
        # Frames hand out read-only views, which a compiled kernel counts as a type of its own.
        matrix = np.require(matrix, np.float64, ["C", "A", "W", "E"])
    infinite = np.isinf(matrix) if matrix.dtype.kind == "f" else None
    if infinite is not None and infinite.any():
        row, column = map(int, np.argwhere(infinite)[0])
        as_number(names[column], float(matrix[row, column]), row)  # raises
    return Records(names, cells.with_words(matrix), cells.texts)


def parted(X: Any, name: Any) -> tuple[list[Any], Records]:
    """Return the values of one column, as they are, and the records without it.

    Parameters
    ----------
    X
        A dataframe, or a 2-D array if the column is called by its number.
    name
        The column.

    Raises
    ------
    ValueError
        If there is no such column.

    Examples
    --------
    >>> values, records = parted(np.array([[1.0, 7.0, 2.0]]), 1)
    >>> values, records.names, records.matrix
    ([7.0], (0, 2), array([[1., 2.]]))

    """
    if isinstance(X, np.ndarray):
        if X.ndim != _MATRIX or name not in range(X.shape[1]):
            raise ValueError(f"no column of the array is called {show(name)}")
        names = tuple(j for j in range(X.shape[1]) if j != name)
        rest = as_matrix(np.delete(X, name, axis=1))
        return X[:, name].tolist(), rest._replace(names=names)
    frame = _frame(X)
    if name not in frame.columns:
        raise ValueError(f"no column of the frame is called {show(name)}")
    return frame.get_column(name).to_list(), as_matrix(frame.drop(name).to_native())


def _from_sparse(X: Any) -> tuple[Names, SparseRows]:
    rows = sparse_rows(X)
    infinite = np.isinf(rows.values)
    if infinite.any():
        place = int(np.flatnonzero(infinite)[0])
        row = int(np.searchsorted(rows.starts, place, side="right")) - 1
        as_number(int(rows.columns[place]), float(rows.values[place]), row)  # raises
    return tuple(range(rows.width)), rows


def _from_array(X: NDArray[Any], cells: Cells) -> tuple[Names, NDArray[Any]]:
    if X.ndim != _MATRIX:
        raise ValueError(
            f"an array of records must be 2-D, got shape {X.shape}: a single record is "
            "X.reshape(1, -1), a single feature X.reshape(-1, 1)"
        )
    names = tuple(range(X.shape[1]))
    if isinstance(X, np.ma.MaskedArray):
        return names, with_plain_nans(np.ma.filled(X.astype(np.float64), np.nan))
    if X.dtype.kind in "biuf" and X.dtype.itemsize < _WIDE:
        return names, with_plain_nans(X)
    if X.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a long double may become infinite, and is refused
            return names, with_plain_nans(X.astype(np.float64, copy=False))
    # Not tolist, which makes whole numbers of times.
    return _read_columns({j: list(X[:, j]) for j in names}, len(X), cells)


def _frame(X: Any) -> nw.DataFrame[Any]:
    try:
        wrapped = nw.from_native(X, allow_series=True, pass_through=True)
    except DuplicateError as error:
        told = " ".join(str(error).split())
        raise ValueError(f"two columns have one name: rename or drop one. {told}") from None
    if isinstance(wrapped, nw.DataFrame):
        return wrapped
    if isinstance(wrapped, nw.LazyFrame):
        advice = "a lazy frame has no rows yet: call .collect() first"
    elif isinstance(wrapped, nw.Series):
        advice = "a series is one column: make it a frame with .to_frame()"
    else:
        advice = "put records into a dataframe, or pass them one at a time to the _one methods"
    raise TypeError(
        "records are a pandas, polars or pyarrow dataframe (any eager one that narwhals reads) "
        "or a 2-D numpy array or scipy sparse matrix; got "
        f"{type(X).__module__}.{type(X).__qualname__}: {advice}"
    )


def _from_frame(X: Any, cells: Cells) -> tuple[Names, NDArray[np.float64]]:
    frame = _frame(X)
    names: Names = tuple(frame.columns)
    for name in names:
        check_name(name)
    kinds = list(frame.schema.values())
    if names and all(kind.is_float() or _is_small_integer(kind) for kind in kinds):
        # One step for the usual frame; hundreds of columns one by one take their time.
        if frame.implementation.is_pandas_like():
            native = frame.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
            return names, with_plain_nans(native)
        return names, with_plain_nans(frame.to_numpy())
    columns: dict[Hashable, Any] = {}
    for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        columns[name] = _column(kind, frame[:, j], cells)
    return _read_columns(columns, len(frame), cells)


def _read_columns(
    columns: Mapping[Any, Any], n: int, cells: Cells
) -> tuple[Names, NDArray[np.float64]]:
    """Return columns as a matrix: arrays of numbers as they are, the values of lists read."""
    found: dict[Any, Any] = {}
    objects: list[tuple[Any, list[Any]]] = []
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            found[name] = values
        elif any(isinstance(value, Mapping) for value in values):
            objects.append((name, values))
        else:
            found[name] = cells.column(len(found), name, values)
    for name, values in objects:
        for field, own in _fields_of(name, values).items():
            if field not in found:  # a field of the frame itself goes before one of an object
                found[field] = cells.column(len(found), field, own)
    matrix = np.empty((n, len(found)))
    for j, values in enumerate(found.values()):
        matrix[:, j] = values
    return tuple(found), matrix


def _fields_of(name: Hashable, values: Sequence[Any]) -> dict[Hashable, list[Any]]:
    """Return the fields of the objects in a column, as columns."""
    fields: dict[Hashable, list[Any]] = {}
    for row, value in enumerate(values):
        for field, own in flattened({name: value}).record.items():
            fields.setdefault(field, [None] * len(values))[row] = own
    return fields


def _is_small_integer(kind: nw.dtypes.DType) -> bool:
    return kind.is_integer() and kind not in (nw.Int128, nw.UInt128)


def _column(kind: nw.dtypes.DType, column: nw.Series[Any], cells: Cells) -> Any:
    """Return a column as an array of numbers, or as a list of values to be read."""
    if kind == nw.Boolean or kind.is_float() or _is_small_integer(kind):
        if column.implementation.is_pandas_like():
            native = column.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
            return with_plain_nans(native)
        # Arrow refuses to cast integers that a float cannot hold exactly; numpy rounds them.
        plain = column.cast(nw.Float64) if kind == nw.Boolean else column
        return with_plain_nans(plain.to_numpy())
    if kind in (nw.Date, nw.Datetime):
        return _times(kind, column)
    if kind in (nw.Categorical, nw.Enum):  # codes of categories are not amounts of anything
        return np.array(cells.names(column.to_list()), dtype=np.float64)
    # Decimals and wide integers are rounded by Python, so that the result is that of a dict.
    return column.to_list()


def _times(kind: nw.dtypes.DType, column: nw.Series[Any]) -> NDArray[np.float64]:
    """Return boxes of times, of the hour that they are in their own zone."""
    missing = column.is_null().to_numpy().astype(bool)

    def part(numbers: nw.Series[Any]) -> NDArray[np.int64]:
        return np.where(missing, 0.0, numbers.to_numpy().astype(np.float64)).astype(np.int64)

    content = part(column.dt.weekday()) - 1 << DAY_BITS
    if kind == nw.Datetime:
        content += 3600 * part(column.dt.hour()) + 60 * part(column.dt.minute())
        content += part(column.dt.second())
    bits = np.int64(FIRST_BOX + (TIME - 1 << KIND_SHIFT)) + content
    return np.where(missing, np.nan, bits.view(np.float64))


def like(X: Any, values: Sequence[Any] | NDArray[Any], name: str | None = None) -> Any:
    """Put a result, one value a row, back into the user's backend.

    Parameters
    ----------
    X
        What the user passed: a dataframe, a 2-D array or a sparse matrix.
    values
        One value for each row.
    name
        The series' name.

    Returns
    -------
    series
        A series of the dataframe's backend (pandas: with its index), or a numpy array.

    Examples
    --------
    >>> import pandas as pd
    >>> like(pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9]), [True, False]).to_dict()
    {7: True, 9: False}

    """
    if isinstance(X, np.ndarray) or is_sparse(X):
        return values if isinstance(values, np.ndarray) else label_array(values)
    frame = _frame(X)
    if isinstance(values, np.ndarray):
        values = values.tolist()  # so that both ways in give the same types
    series: Any
    try:
        series = nw.new_series(
            name=cast("str", name), values=values, backend=frame.implementation
        ).to_native()
    except Exception as error:  # each backend has errors of its own
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"{frame.implementation} cannot hold values of the kinds {', '.join(kinds)} in one "
            "column: pass a pandas dataframe or an array, or use labels of one kind"
        ) from error
    if (index := nw.maybe_get_index(frame)) is not None:
        series.index = index
    return series


def frame_like(X: Any, columns: Mapping[Any, NDArray[np.float64]]) -> Any:
    """Put a result of several columns back into the user's backend.

    Parameters
    ----------
    X
        What the user passed: a dataframe, a 2-D array or a sparse matrix.
    columns
        The values by column, such as the probabilities by label.

    Returns
    -------
    frame
        A dataframe of the same backend; pandas keeps the columns' names as they are and the
        index of `X`, other backends need ``str(name)``. For an array or a sparse matrix, an (n, C)
        array.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0]}, index=[7])
    >>> frame_like(X, {False: np.array([0.25]), True: np.array([0.75])})
       False  True
    7   0.25   0.75

    """
    if isinstance(X, np.ndarray) or is_sparse(X):
        return np.column_stack(list(columns.values())) if columns else np.empty((X.shape[0], 0))
    frame = _frame(X)
    pandas_like = frame.implementation.is_pandas_like()
    index = nw.maybe_get_index(frame)
    if pandas_like and not columns:
        # A frame without columns still has rows.
        return nw.get_native_namespace(frame).DataFrame(index=index)
    data = dict(columns) if pandas_like else {str(name): v for name, v in columns.items()}
    if len(data) < len(columns):
        raise ValueError(
            f"{frame.implementation} names columns by strings, and two of the names "
            f"{show(list(columns))} are written alike: pass a pandas dataframe or an array"
        )
    native: Any = nw.from_dict(data, backend=frame.implementation).to_native()
    if index is not None:
        native.index = index
    return native
