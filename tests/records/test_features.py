"""Records to rows: dict and matrix agree to the bit, and what is sparse stays cheap."""

from __future__ import annotations

import copy
import math
import pickle
import tracemalloc
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.rows import ABSENT, Row

NAMES = st.one_of(
    st.text(max_size=3),
    st.integers(-5, 5),
    st.booleans(),
    st.floats(allow_nan=False, width=16),
    st.binary(max_size=2),
    st.tuples(st.text(max_size=1), st.integers(0, 2)),
    st.frozensets(st.integers(0, 9), max_size=3),
    st.none(),
)
GOOD = st.one_of(
    st.floats(allow_infinity=False),
    st.none(),
    st.booleans(),
    st.integers(-(10**300), 10**300),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
    st.floats(allow_infinity=False, width=32).map(np.float32),
    st.integers(-9, 9).map(np.int64),
    st.booleans().map(np.bool_),
)
BAD = st.one_of(
    st.binary(),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.sampled_from([math.inf, -math.inf, 10**400, 1j, "inf", "-1e999"]),
)


def copied(row: Row) -> Row:
    return Row(row.values.copy(), row.columns.copy(), row.starts.copy())


def assert_same(one: Row, other: Row) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def as_float(value: Any) -> float:
    """Return a value as it is in a row: NaN is the plain one, whatever its bits are."""
    return math.nan if value is None or math.isnan(value) else float(value)


@given(st.lists(st.dictionaries(NAMES, GOOD, max_size=6), max_size=6))
def test_rows_hold_what_the_records_say(records: list[dict[Any, Any]]) -> None:
    space = FeatureSpace()
    for x in records:
        before = space.names
        space.encode(x)
        assert space.names == before
        assert space.ignored == len(space.unknown(x))
        space.add(x)
        assert space.names[: len(before)] == before
        for _ in range(2):  # the second time by the short way, if there is one
            row = space.encode(x)
            assert space.ignored == 0
            for name, value in zip(space.names, row.values[0], strict=True):
                wanted = as_float(x[name]) if name in x else ABSENT
                assert np.float64(wanted).tobytes() == value.tobytes()
            assert row.values.flags.carray  # contiguous, aligned and writeable
            assert row.columns.size == row.starts.size == 0


@given(st.lists(st.dictionaries(NAMES, GOOD, max_size=6), max_size=4), st.randoms())
def test_the_order_of_a_dict_cannot_matter(records: list[dict[Any, Any]], random: Any) -> None:
    one, other = FeatureSpace(), FeatureSpace()
    for x in records:
        items = list(x.items())
        random.shuffle(items)
        shuffled = dict(items)
        one.add(x)
        other.add(shuffled)
        assert one.names == other.names
        assert_same(one.encode(x), other.encode(shuffled))


@given(
    st.integers(0, 150),
    st.lists(st.tuples(st.integers(0, 150), GOOD), max_size=60),
    st.lists(st.integers(0, 149)),
)
def test_a_record_and_a_matrix_agree_to_the_bit(
    known: int, items: list[tuple[int, Any]], order: list[int]
) -> None:
    space = FeatureSpace(range(known))
    x = dict(items)
    names = list(x)
    for i, j in enumerate(order):
        if i < len(names):
            names[i], names[j % len(names)] = names[j % len(names)], names[i]
    matrix = np.array([[as_float(x[name]) for name in names]]).reshape(1, len(names))
    one = copied(space.encode(x))
    ignored = space.ignored
    assert_same(one, space.encode_many(names, matrix))
    assert space.ignored == ignored
    named = sum(name < known for name in x)
    assert (one.values.ndim == 1) == (known > 64 and named < known / 4)

    many = space.encode_many(names, np.repeat(matrix, 3, axis=0))
    if one.values.ndim == 1:
        assert many.starts.tolist() == [0, named, 2 * named, 3 * named]
        assert many.columns.tolist() == one.columns.tolist() * 3
        assert many.values.tobytes() == one.values.tobytes() * 3
        assert (np.diff(one.columns) > 0).all()
    else:
        assert many.values.tobytes() == one.values.tobytes() * 3


@given(
    st.dictionaries(st.sampled_from("abcdef"), GOOD, min_size=2),
    st.sampled_from("abcdefg"),
    BAD,
    st.booleans(),
)
def test_a_bad_value_is_named_and_leaves_no_trace(
    x: dict[str, Any], name: str, value: Any, short_way: bool
) -> None:
    space = FeatureSpace(x)
    wanted = copied(space.encode(x)) if short_way else None
    with pytest.raises(ValueError, match=f"feature '{name}' has the value"):
        space.encode({**x, name: value})
    assert space.names == tuple(x)
    if wanted is not None:
        assert_same(space.encode(x), wanted)


def test_an_unknown_name_is_checked_too() -> None:
    with pytest.raises(ValueError, match="feature 'b' has the value b'red'"):
        FeatureSpace(["a"]).encode({"a": 1.0, "b": b"red"})
    with pytest.raises(ValueError, match="a feature is named nan"):
        FeatureSpace(["a"]).encode({"a": 1.0, math.nan: 1.0})


def test_large_numbers_whose_squares_overflow_are_fine() -> None:
    space = FeatureSpace(["a", "b"])
    for x in [{"a": 1e308, "b": -1e308}, {"a": 1.5e308, "b": math.nan}, {"a": -0.0, "b": 5e-324}]:
        for _ in range(2):
            row = space.encode(x)
            assert row.values.tobytes() == np.array([*x.values()]).tobytes()


def test_an_infinity_beside_a_nan_is_found() -> None:
    space = FeatureSpace(["a", "b"])
    space.encode({"a": 1.0, "b": 2.0})
    with pytest.raises(ValueError, match="feature 'a' has the value -inf"):
        space.encode({"a": -math.inf, "b": math.nan})


def test_missing_and_absent_differ() -> None:
    row = FeatureSpace(["a", "b", "c"]).encode({"a": None, "b": pd.NA})
    assert np.isnan(row.values[0, :2]).all()
    assert row.values[0, 2] == ABSENT


def test_a_numpy_complex_is_refused_at_first_sight() -> None:
    with pytest.raises(ValueError, match=r"complex128.*a value is a number, a text"):
        FeatureSpace(["a", "b"]).encode({"a": np.complex128(1j), "b": 1.0})


@pytest.mark.parametrize(
    "x", [None, [1.0, 2.0], (1.0, 2.0), "ab", 3, pd.DataFrame({0: [1.0]}), np.zeros(2), {1, 2}]
)
def test_what_is_not_a_record(x: Any) -> None:
    space = FeatureSpace([0, 1])
    space.encode({0: 1.0, 1: 2.0})
    with pytest.raises(TypeError, match=r"a record is a mapping .* got .*_many"):
        space.encode(x)


class Own(Mapping[str, float]):
    def __getitem__(self, name: str) -> float:
        return {"a": 1.0, "b": 2.0}[name]

    def __iter__(self) -> Iterator[str]:
        return iter("ba")

    def __len__(self) -> int:
        return 2


def test_other_mappings_do() -> None:
    space = FeatureSpace(["a", "b"])
    space.encode({"a": 0.0, "b": 0.0})
    default: defaultdict[str, float] = defaultdict(float, a=1.0, c=2.0)
    assert space.encode(default).values.tolist() == [[1.0, ABSENT]]
    assert default == {"a": 1.0, "c": 2.0}  # not touched
    for x in (Own(), OrderedDict(b=2.0, a=1.0), MappingProxyType({"a": 1.0, "b": 2.0})):
        assert space.encode(x).values.tolist() == [[1.0, 2.0]]


def test_names_of_mixed_kinds_are_sorted_in_one_way() -> None:
    space = FeatureSpace()
    space.add(["b", 10, ("x", 2), 9, "a", ("x", 1), 0.5])
    assert space.names == (0.5, 9, 10, "a", "b", ("x", 1), ("x", 2))
    space.add(["A", "a"])
    assert list(space.names)[7:] == ["A"]
    assert len(space) == 8


@pytest.mark.parametrize("names", [[math.nan], ["a", np.nan], [["a"]], [{}]])
def test_bad_names(names: list[Any]) -> None:
    space = FeatureSpace()
    for call in (space.unknown, space.add, FeatureSpace):
        with pytest.raises(ValueError, match="a feature is named"):
            call(names)
    assert len(space) == 0


def test_copies_are_independent_and_pickle_is_stable() -> None:
    space = FeatureSpace(["b", "a"])
    space.encode({"a": 1.0, "b": 2.0})
    data = pickle.dumps(space)
    for twin in (pickle.loads(data), copy.deepcopy(space)):
        assert twin.names == ("b", "a")
        assert pickle.dumps(twin) == data
        twin.add(["c"])
        twin.encode({"a": 5.0, "b": 5.0, "c": 5.0})
    assert space.names == ("b", "a")
    assert space.encode({"a": 1.0, "b": 2.0}).values.tolist() == [[2.0, 1.0]]


def test_a_sparse_record_touches_nothing_as_wide_as_the_space() -> None:
    width = 50_000
    space = FeatureSpace(range(width))
    x: dict[Any, float] = {i * 600: float(i) for i in range(75)}
    space.encode(x)
    tracemalloc.start()
    row = space.encode(x)
    space.unknown(x)
    space.add({**x, "new": 1.0})
    space.encode({**x, "new": 1.0})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000  # one float64 a feature would be 400,000
    assert row.columns.tolist() == [i * 600 for i in range(75)]
    assert row.starts.tolist() == [0, 75]


def test_many_sparse_rows_cost_what_they_name() -> None:
    space = FeatureSpace(range(50_000))
    matrix = np.ones((20, 30))
    tracemalloc.start()
    row = space.encode_many(range(100, 130), matrix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    assert row.values.shape == (600,)


def test_a_matrix_in_column_order_is_not_copied() -> None:
    matrix = np.ones((3, 2))
    assert FeatureSpace("ab").encode_many("ab", matrix).values is matrix


def test_batches_may_name_their_columns_in_any_order() -> None:
    space = FeatureSpace("ab")
    matrix = np.array([[1.0, 2.0]])
    assert space.encode_many("ab", matrix).values.tolist() == [[1.0, 2.0]]
    assert space.encode_many("ba", matrix).values.tolist() == [[2.0, 1.0]]
    assert space.encode_many("bx", matrix).values.tolist() == [[-np.inf, 1.0]]
    space.add("x")
    assert space.encode_many("bx", matrix).values.tolist() == [[-np.inf, 1.0, 2.0]]


def test_a_matrix_that_does_not_fit_its_names() -> None:
    space = FeatureSpace("ab")
    with pytest.raises(ValueError, match=r"3 names for a matrix of shape \(1, 2\)"):
        space.encode_many("abc", np.ones((1, 2)))
    with pytest.raises(ValueError, match="same name"):
        space.encode_many("aa", np.ones((1, 2)))


def test_no_rows_and_no_names() -> None:
    assert FeatureSpace().encode({}).values.shape == (1, 0)
    assert FeatureSpace().encode_many((), np.empty((4, 0))).values.shape == (4, 0)
    sparse = FeatureSpace(range(70))
    assert_same(sparse.encode({}), sparse.encode_many((), np.empty((1, 0))))
    assert sparse.encode_many([3], np.empty((0, 1))).starts.tolist() == [0]


def test_exact_kinds_are_rounded_as_python_rounds() -> None:
    space = FeatureSpace(["a", "b", "c"])
    x = {"a": Decimal("0.1"), "b": Fraction(1, 3), "c": 2**53 + 1}
    for _ in range(2):
        assert space.encode(x).values.tolist() == [[0.1, 1 / 3, float(2**53)]]
