"""Labels and their codes, and a batch's labels from anything that holds them."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.records.labels import Coded, LabelSpace, as_labels

LABELS = st.one_of(
    st.text(max_size=2), st.integers(-3, 3), st.booleans(), st.floats(0, 2, width=16)
)


@given(st.lists(LABELS))
def test_codes_follow_appearance(labels: list[Any]) -> None:
    space = LabelSpace()
    assert space.codes(labels).tolist() == [-1] * len(labels)
    codes = [space.add(label) for label in labels]
    assert space.labels == tuple(dict.fromkeys(labels))
    assert [space.labels[code] for code in codes] == labels
    assert space.codes(labels).tolist() == codes
    assert space.codes(labels).dtype == np.int64
    assert LabelSpace(space.labels).labels == space.labels
    assert len(space) == len(space.labels)


def test_equal_labels_are_one_and_the_first_is_kept() -> None:
    space = LabelSpace()
    assert [space.add(label) for label in (True, np.True_, 1, 1.0, np.int8(1))] == [0] * 5
    assert space.labels[0] is True


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        (np.True_, bool),
        (np.int64(3), int),
        (np.float32(0.1), float),
        (np.str_("a"), str),
        (np.bytes_(b"a"), bytes),
        (np.timedelta64(5, "ns"), np.timedelta64),
    ],
)
def test_numpy_scalars_become_the_python_values_that_equal_them(label: Any, kind: type) -> None:
    space = LabelSpace()
    space.add(label)
    assert type(space.labels[0]) is kind
    assert space.labels[0] == label
    assert space.code(label) == 0


@pytest.mark.parametrize("label", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT])
def test_a_missing_label(label: Any) -> None:
    space = LabelSpace(["a"])
    for call in (space.code, space.add):
        with pytest.raises(ValueError, match="the label is missing"):
            call(label)
    with pytest.raises(ValueError, match="the label is missing"):
        space.codes(["a", label])
    assert space.labels == ("a",)


@pytest.mark.parametrize("label", [["a"], {}, np.zeros(2)])
def test_a_label_that_cannot_be_looked_up(label: Any) -> None:
    with pytest.raises(ValueError, match="not hashable"):
        LabelSpace().add(label)


def test_copies_are_independent() -> None:
    space = LabelSpace(["b", "a"])
    for twin in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
        assert twin.labels == ("b", "a")
        assert twin.add("c") == 2
    assert space.labels == ("b", "a")


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        pd.Series,
        pd.Index,
        lambda v: pd.Series(v, index=range(5, 5 + len(v))),
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pl.Series("y", v),
        lambda v: pa.chunked_array([v]),
        np.array,
    ],
)
@pytest.mark.parametrize("labels", [["a", "b", "a"], [True, False, True], [3, 1, 3], [0.5, 1.0, 2]])
def test_labels_of_every_kind_of_batch(make: Any, labels: list[Any]) -> None:
    assert as_labels(make(labels), 3) == labels
    with pytest.raises(ValueError, match="3 labels for 2 rows"):
        as_labels(make(labels), 2)


@pytest.mark.parametrize(
    "y",
    [
        [1, None],
        [1.0, math.nan],
        np.array([1.0, np.nan]),
        np.array([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        pl.Series([1, None]),
        pa.chunked_array([["a", None]]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[ns]"),
    ],
)
def test_a_missing_label_in_a_batch(y: Any) -> None:
    with pytest.raises(ValueError, match="the label of row 1 is missing"):
        as_labels(y, 2)


@pytest.mark.parametrize("y", ["ab", 3, None, {"a": 1, "b": 2}, {1, 2}, iter([1, 2])])
def test_what_is_not_a_batch_of_labels(y: Any) -> None:
    with pytest.raises(TypeError, match="labels are a pandas, polars or pyarrow series"):
        as_labels(y, 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_frame_is_not_a_batch_of_labels(frame: Any) -> None:
    with pytest.raises(TypeError, match="labels are a pandas, polars or pyarrow series"):
        as_labels(frame({"y": [1, 2]}), 2)


def test_a_matrix_of_labels() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 1\): y.ravel\(\)"):
        as_labels(np.zeros((2, 1)), 2)


def test_codes_of_labels_that_are_all_known() -> None:
    space = LabelSpace(["a", True])
    assert space.known(["a", 1, "a"]) is not None
    assert space.known(["a", 1, "a"]).tolist() == [0, 1, 0]  # type: ignore[union-attr]
    for unknown in ("b", None, float("nan"), [1]):
        assert space.known(["a", unknown]) is None  # type: ignore[list-item]
    assert len(space) == 2


@given(st.lists(LABELS), st.data())
def test_coded_labels_are_the_labels(known: list[Any], data: st.DataObject) -> None:
    space = LabelSpace(known)
    codes = data.draw(st.lists(st.integers(-1, len(space) - 1)))
    expected = [None if code < 0 else space.labels[code] for code in codes]
    coded = Coded(space.labels, np.array(codes, dtype=np.int64))
    assert list(coded) == list(coded[:]) == expected
    assert [coded[i] for i in range(len(coded))] == expected
    assert list(coded[1:]) == expected[1:]
