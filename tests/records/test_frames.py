"""Every kind of frame in and out: the same records give the same matrix."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm import SAPLClassifier
from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.records.boxes import boxed_name, name_code, time_of, unboxed
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import as_matrix, frame_like, like
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.times import time_of_object


def _converted(data: Any, backend: Any) -> pd.DataFrame:
    """Return pandas' nullable columns; a column of whole floats stays float, and -0.0 itself."""
    real = "double[pyarrow]" if backend == "pyarrow" else "Float64"
    frame = pd.DataFrame(data)
    floats = [name for name, column in frame.items() if column.dtype.kind == "f"]
    kept = frame.astype(dict.fromkeys(floats, real))
    others = [name for name in frame.columns if name not in floats]
    return kept.assign(**frame[others].convert_dtypes(dtype_backend=backend))


BACKENDS = pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame,
        lambda data: _converted(data, "numpy_nullable"),
        lambda data: _converted(data, "pyarrow"),
        lambda data: pd.DataFrame(data, dtype=object),
        pl.DataFrame,
        pa.table,
    ],
    ids=["pandas", "nullable", "arrow-backed", "objects", "polars", "pyarrow"],
)

MIXED: dict[str, list[Any]] = {
    "float": [0.1, None, -1e300],
    "int": [1, 2**53 + 1, -3],
    "int or none": [None, 2, 3],
    "bool": [True, False, True],
    "bool or none": [True, None, False],
    "nothing": [None, None, None],
    "decimal": [Decimal("0.1"), None, Decimal("12345678901.7")],
}


def as_float(value: Any) -> float:
    return math.nan if value is None else float(value)


@BACKENDS
def test_columns_of_all_numeric_kinds(frame: Any) -> None:
    names, matrix, _ = as_matrix(frame(MIXED))
    assert names == tuple(MIXED)
    assert isinstance(matrix, np.ndarray)
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    wanted = np.array([[as_float(v) for v in column] for column in MIXED.values()]).T
    np.testing.assert_array_equal(matrix, wanted)


CELLS = st.one_of(st.none(), st.floats(allow_infinity=False, allow_nan=False), st.integers(-9, 9))


@BACKENDS
@given(
    columns=st.lists(
        st.one_of(
            st.lists(st.floats(allow_infinity=False), min_size=4, max_size=4),
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
            st.lists(st.one_of(st.none(), st.booleans()), min_size=4, max_size=4),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_frame_and_its_records_give_the_same_rows(frame: Any, columns: list[list[Any]]) -> None:
    data = {f"f{i}": column for i, column in enumerate(columns)}
    space = FeatureSpace(sorted(data, reverse=True))
    many = space.encode_many(*as_matrix(frame(data))[:2])
    for i in range(4):
        one = space.encode({name: column[i] for name, column in data.items()}).values
        np.testing.assert_array_equal(one[0], many.values[i])
        assert np.signbit(one[0])[one[0] == 0].tolist() == (
            np.signbit(many.values[i])[many.values[i] == 0].tolist()
        )


@pytest.mark.parametrize("kind", ["float32", "int8", "uint64", "bool", "float16", "longdouble"])
def test_arrays(kind: str) -> None:
    names, matrix, _ = as_matrix(np.array([[0, 1], [1, 1]], dtype=kind, order="F"))
    assert names == (0, 1)
    assert all(type(name) is int for name in names)
    assert isinstance(matrix, np.ndarray)
    assert matrix.dtype == (np.float64 if np.dtype(kind).itemsize >= 8 else kind)
    assert matrix.tolist() == [[0, 1], [1, 1]]
    values = FeatureSpace(names).encode_many(names, matrix).values
    assert values.dtype == np.float64
    assert values.flags.carray
    assert values.tolist() == [[0, 1], [1, 1]]


def test_bytes_in_any_order_are_learned_as_the_same_floats() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (60, 5), dtype=np.uint8), rng.integers(0, 2, 60)
    models = []
    for rows in (X, np.asfortranarray(X), X[:, ::-1][:, ::-1], X.astype(np.float64), X.view(Kin)):
        model = SAPLClassifier()
        told = model.test_then_learn(rows, y)
        assert model._state is not None
        models.append((told.tolist(), model._state.state.tobytes()))
    assert all(model == models[0] for model in models)


def test_an_array_of_the_right_kind_is_not_copied() -> None:
    X = np.ones((2, 2))
    assert as_matrix(X)[1] is X


class Kin(np.ndarray[Any, Any]):
    pass


def test_every_matrix_is_plain_for_a_compiled_kernel() -> None:
    fixed = np.ones((2, 2))
    fixed.flags.writeable = False
    odd = np.ones((2, 2), dtype=">f8")
    one: dict[str, list[float]] = {"a": [1.0, 1.0]}
    kin = np.ones((2, 2)).view(Kin)
    for X in (fixed, odd, kin, pd.DataFrame(one), pl.DataFrame(one), pa.table(one)):
        result = as_matrix(X)[1]
        assert type(result) is np.ndarray
        assert result.dtype == np.dtype("=f8")
        assert result.flags.carray  # contiguous, aligned and writeable
        assert (result == 1.0).all()


def test_arrays_of_objects_and_masked_arrays() -> None:
    X = np.array([[None, True], [Decimal("0.5"), 3]], dtype=object)
    np.testing.assert_array_equal(as_matrix(X)[1], [[np.nan, 1.0], [0.5, 3.0]])
    masked = np.ma.masked_array([[1, 2]], mask=[[False, True]])
    np.testing.assert_array_equal(as_matrix(masked)[1], [[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"feature 1 in row 0 .* b'x'"):
        as_matrix(np.array([[1, b"x"]], dtype=object))
    np.testing.assert_array_equal(as_matrix(np.array([["1", "NA"]]))[1], [[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"feature 0 in row 0 .* a value is a number, a text"):
        as_matrix(np.array([[1j]]))


NAMED = [
    pd.DataFrame({"a": [1.0], "c": ["red"]}),
    pd.DataFrame({"a": [1.0], "c": pd.Series(["red"], dtype="string")}),
    pd.DataFrame({"a": [1.0], "c": pd.Series(["red"], dtype="category")}),
    pl.DataFrame({"a": [1.0], "c": ["red"]}),
    pl.DataFrame({"a": [1.0], "c": pl.Series(["red"], dtype=pl.Categorical)}),
    pl.DataFrame({"a": [1.0], "c": pl.Series(["red"], dtype=pl.Enum(["red"]))}),
    pl.DataFrame({"a": [1.0], "c": [["red"]]}),
    pa.table({"a": [1.0], "c": ["red"]}),
    pa.table({"a": [1.0], "c": pa.array(["red"]).dictionary_encode()}),
]


@pytest.mark.parametrize("X", NAMED)
def test_columns_of_names(X: Any) -> None:
    names, matrix, texts = as_matrix(X)
    assert names == ("a", "c")
    assert isinstance(matrix, np.ndarray)
    assert matrix.tobytes() == np.array([[1.0, boxed_name("red")]]).tobytes()
    assert texts == {name_code("red"): "red"}


def test_codes_of_categories_are_names() -> None:
    _, matrix, texts = as_matrix(pd.DataFrame({"c": pd.Series([3, None], dtype="category")}))
    assert isinstance(matrix, np.ndarray)
    assert [unboxed(v)[0] for v in matrix[:, 0].tolist()] == [NAME, 0]
    assert list(texts.values()) in (["3"], ["3.0"])


WHEN = datetime.datetime(2026, 11, 19, 12, 30, 15)


@BACKENDS
def test_columns_of_times(frame: Any) -> None:
    data: dict[str, list[Any]] = {
        "t": [WHEN, None, WHEN.replace(year=1969)],
        "d": [WHEN.date(), None, None],
    }
    _, matrix, _ = as_matrix(frame(data))
    assert isinstance(matrix, np.ndarray)
    wanted = [[time_of_object(v) if v else math.nan for v in column] for column in data.values()]
    assert np.ascontiguousarray(matrix.T).tobytes() == np.array(wanted).tobytes()


def test_times_with_a_zone_are_of_its_hour() -> None:
    naive = pd.DataFrame({"t": pd.to_datetime(["2026-11-19 12:30"])})
    zoned = naive.assign(t=naive["t"].dt.tz_localize("Asia/Tokyo"))
    for X in (naive, zoned, pl.from_pandas(zoned), pa.Table.from_pandas(zoned)):
        matrix = as_matrix(X).matrix
        assert isinstance(matrix, np.ndarray)
        (value,) = matrix.tolist()[0]
        assert time_of(unboxed(value)[1]) == (12.5, 3.0)


@BACKENDS
def test_texts_make_sparse_rows(frame: Any) -> None:
    data = {
        "n": [1, 2, None],
        "text": ["Free entry now: free", "ok", None],
        "tags": [["b", "a"], [], None],
    }
    names, matrix, texts = as_matrix(frame(data))
    assert isinstance(matrix, SparseRows)
    assert names == ("n", "text", "tags")
    assert matrix.columns.tolist() == [0, 1, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2]
    assert texts == {name_code("ok"): "ok"}
    space, twin = FeatureSpace(), FeatureSpace()
    space.append(space.unknown_in(names, matrix, texts))
    records = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    for x in records:
        twin.add(x)
    assert space.names == twin.names
    many = space.encode_many(names, matrix)
    for i, x in enumerate(records):
        part, row = slice(many.starts[i], many.starts[i + 1]), twin.encode(x)
        assert row.columns.tolist() == many.columns[part].tolist()
        assert row.values.tobytes() == many.values[part].tobytes()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_objects_in_a_frame(make: Any) -> None:
    rows = [{"a": 1, "p": {"x": 2.0, "y": "DE"}}, {"a": 2, "p": {"x": 3.0, "y": "NA"}}]
    names, matrix, texts = as_matrix(make(rows))
    assert names == ("a", "p.x", "p.y")
    assert isinstance(matrix, np.ndarray)
    assert matrix[:, :2].tolist() == [[1, 2], [2, 3]]
    assert unboxed(matrix[0, 2]) == (NAME, name_code("DE"))
    assert unboxed(matrix[1, 2]) == (0, 0)
    assert texts == {name_code("DE"): "DE"}


@pytest.mark.parametrize(
    ("X", "number"),
    [
        (pd.DataFrame({"c": [datetime.timedelta(1)]}), 86_400.0),
        (pl.DataFrame({"c": [datetime.timedelta(minutes=1)]}), 60.0),
        (pa.table({"c": [Decimal("0.5")]}), 0.5),
        (pl.DataFrame({"c": ["12.5"]}), 12.5),
    ],
)
def test_columns_of_other_numbers(X: Any, number: float) -> None:
    matrix = as_matrix(X).matrix
    assert isinstance(matrix, np.ndarray)
    assert matrix.tolist() == [[number]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1.0], "c": [1j]}),
        pd.DataFrame({"a": [1.0], "c": [[1.5, 2.5]]}),
        pl.DataFrame({"a": [1.0], "c": [[1.5]]}),
        pa.table({"a": [1.0], "c": [b"1"]}),
    ],
)
def test_columns_that_cannot_be_read(X: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'c' in row 0 \(the first row is 0\) has the"):
        as_matrix(X)


@BACKENDS
def test_the_first_offending_value_is_named(frame: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'b' in row 1 \(the first row is 0\) .* b'x'"):
        as_matrix(frame({"a": [1, 2, 3], "b": [None, b"x", b"y"]}))


@BACKENDS
def test_infinity(frame: Any) -> None:
    with pytest.raises(ValueError, match=r"feature 'b' in row 2 .* has the value -inf .*infinite"):
        as_matrix(frame({"a": [0.0, 1.0, 2.0], "b": [0.0, 1e308, -math.inf]}))


def test_infinity_in_an_array() -> None:
    with pytest.raises(ValueError, match=r"feature 1 in row 0 .*infinite"):
        as_matrix(np.array([[0.0, np.inf]]))
    with pytest.raises(ValueError, match=r"feature 0 in row 0 .*infinite"):
        as_matrix(np.array([[np.longdouble("1e4000")]]))


def test_duplicate_and_nameless_columns() -> None:
    for X in (
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pd.DataFrame([[1.0, 2.0]], columns=[1, True]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match=r"two columns have one name: rename.*2 times"):
            as_matrix(X)
    with pytest.raises(ValueError, match="a feature is named nan"):
        as_matrix(pd.DataFrame([[1.0]], columns=[math.nan]))


def test_pandas_names_of_any_kind() -> None:
    columns = [0, "a", ("x", 1), 2.5]
    X = pd.DataFrame([[1.0, 2, True, None]], columns=pd.Index(columns, dtype=object))
    names, matrix, _ = as_matrix(X)
    assert names == tuple(columns)
    np.testing.assert_array_equal(matrix, [[1.0, 2.0, 1.0, np.nan]])
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 0), ("a", 1)]))
    assert as_matrix(levels)[0] == (("a", 0), ("a", 1))


@pytest.mark.parametrize(
    ("X", "advice"),
    [
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pd.Series([1.0]), "to_frame"),
        (pl.Series([1.0]), "to_frame"),
        ([{"a": 1.0}], "one at a time"),
        ({"a": [1.0]}, "one at a time"),
        (None, "dataframe"),
    ],
)
def test_what_is_not_a_batch(X: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=f"records are a pandas, polars or pyarrow.*{advice}"):
        as_matrix(X)


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3)])
def test_arrays_of_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be 2-D.*reshape\(1, -1\)"):
        as_matrix(np.zeros(shape))


@BACKENDS
def test_frames_without_rows(frame: Any) -> None:
    names, matrix, _ = as_matrix(frame({"a": np.zeros(0), "b": np.zeros(0)}))
    assert names == ("a", "b")
    assert matrix.shape == (0, 2)


VALUES: list[list[Any]] = [[True, False], ["a", "b"], [3, 1], [0.5, 1.5]]


@pytest.mark.parametrize("values", VALUES)
def test_a_series_goes_back_to_its_backend(values: list[Any]) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    for given_values in (values, np.array(values)):
        series = like(X, given_values, "y")
        assert isinstance(series, pd.Series)
        assert series.name == "y"
        assert series.to_dict() == dict(zip([7, 9], values, strict=True))

        column = like(pl.from_pandas(X), given_values, "y")
        assert isinstance(column, pl.Series)
        assert column.name == "y"
        assert column.to_list() == values

        arrow = like(pa.table({"a": [1.0, 2.0]}), given_values)
        assert isinstance(arrow, pa.ChunkedArray)
        assert arrow.to_pylist() == values

        array = like(np.zeros((2, 1)), given_values)
        assert isinstance(array, np.ndarray)
        assert array.tolist() == values


def test_labels_of_several_kinds() -> None:
    mixed = [True, "a", (1, 2)]
    assert like(np.zeros((3, 1)), mixed).tolist() == mixed
    assert like(np.zeros((2, 1)), [(1, 2), (3, 4)]).tolist() == [(1, 2), (3, 4)]
    assert like(pd.DataFrame({"a": [0, 0, 0]}), mixed).tolist() == mixed
    with pytest.raises(ValueError, match="cannot hold values of the kinds bool, str"):
        like(pa.table({"a": [0, 0]}), [True, "a"])


def test_nothing_goes_back_too() -> None:
    assert like(pd.DataFrame({"a": []}), []).tolist() == []
    assert like(pl.DataFrame({"a": []}), []).to_list() == []
    assert like(np.zeros((0, 1)), []).shape == (0,)
    assert like(pd.DataFrame({"a": [1, 2]}), [None, None]).isna().all()


def test_probabilities_go_back_to_their_backend() -> None:
    columns = {False: np.array([0.25, 0.5]), True: np.array([0.75, 0.5])}
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    frame = frame_like(X, columns)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == [False, True]
    assert frame.index.tolist() == ["x", "y"]
    assert frame[True].tolist() == [0.75, 0.5]

    frame = frame_like(pl.from_pandas(X), columns)
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"False": [0.25, 0.5], "True": [0.75, 0.5]}

    frame = frame_like(pa.table({"a": [1.0, 2.0]}), columns)
    assert isinstance(frame, pa.Table)
    assert frame.to_pydict() == {"False": [0.25, 0.5], "True": [0.75, 0.5]}

    array = frame_like(np.zeros((2, 1)), columns)
    assert array.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_probabilities_of_no_labels() -> None:
    assert frame_like(np.zeros((2, 1)), {}).shape == (2, 0)
    frame = frame_like(pd.DataFrame({"a": [1, 2]}, index=[5, 6]), {})
    assert frame.shape == (2, 0)
    assert frame.index.tolist() == [5, 6]
    assert frame_like(pl.DataFrame({"a": [1, 2]}), {}).shape == (0, 0)


def test_labels_that_are_written_alike() -> None:
    with pytest.raises(ValueError, match="written alike"):
        frame_like(pl.DataFrame({"a": [1]}), {1: np.ones(1), "1": np.ones(1)})
