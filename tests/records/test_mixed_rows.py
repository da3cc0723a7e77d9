"""Records with names, times, texts and objects: rows hold what the rules say, one by one and many.

To the bit, whatever a field's values are, and in whatever order they come.
"""

from __future__ import annotations

import copy
import datetime
import math
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.expand import MOST_NAMES
from stream_llsvm.records.boxes import boxed_name, boxed_time, name_code
from stream_llsvm.records.columns import NameColumn, PartColumn
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.rows import ABSENT, Row
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.texts import BLANKS
from tests.records.oracle_rows import Known, entries
from tests.records.test_features import assert_same, copied

FIELDS = st.sampled_from(["a", "b", "c", "ts", "created_at", 3])
TEXTS = st.one_of(st.sampled_from(["DE", "de", "SE", "1.5", "NA", "", "x y"]), st.text(max_size=4))
TIMES = st.datetimes().map(lambda t: t.isoformat()) | st.dates() | st.datetimes()
EPOCHS = st.sampled_from([1.7e9, 1_763_550_000_123, 946_684_800, 946_684_799.5, 4_102_444_800])
SINGLE = st.one_of(
    TEXTS, TIMES, EPOCHS, st.none(), st.floats(allow_infinity=False), st.booleans(), st.integers()
)
BAGS = st.one_of(
    st.sampled_from(["free entry now", "Call me, call ME now"]),
    st.lists(st.sampled_from(["x", "y", "z", 7, None]), max_size=4),
    st.sets(st.sampled_from("xyz")),
)
OBJECTS = st.dictionaries(st.sampled_from("uv"), SINGLE, max_size=2)


def check(space: FeatureSpace, row: Row, x: dict[Any, Any]) -> None:
    wanted = entries(x, space.names)
    if row.starts.size == 0:
        assert row.values.shape == (1, len(space))
        filled = [value for column in space.names for value in wanted.get(column, [ABSENT])]
        assert row.values.tobytes() == np.array(filled).tobytes()
        return
    assert row.starts.tolist() == [0, len(row.values)]
    assert (np.diff(row.columns) >= 0).all()
    found: dict[Any, list[float]] = {}
    for column, value in zip(row.columns.tolist(), row.values.tolist(), strict=True):
        found.setdefault(space.names[column], []).append(value)
    left_out = [ABSENT] if len(space) < 128 else [0.0]
    for column in space.names:
        told = np.array(wanted.get(column, [ABSENT]))
        assert np.array(found.get(column, left_out)).tobytes() == told.tobytes(), column


@given(st.lists(st.dictionaries(FIELDS, SINGLE | BAGS | OBJECTS, max_size=5), max_size=8))
def test_rows_hold_what_the_records_say(records: list[dict[Any, Any]]) -> None:
    space, known = FeatureSpace(), Known()
    for x in records:
        before = space.names
        row = space.encode(x)
        assert space.ignored == len(space.unknown(x))
        if space.ignored == 0:
            check(space, row, x)
        assert space.names == before
        space.add(x)
        known.learn(x)
        assert sorted(map(str, space.names)) == sorted(map(str, known.columns))
        for _ in range(3):  # from the second time on by the short way, if there is one
            row = space.encode(x)
            assert space.ignored == 0
            check(space, row, x)


def boxed_matrix(
    names: list[Any], records: list[dict[Any, Any]]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], dict[int, str]]:
    space, texts = FeatureSpace(), {}
    matrix = np.empty((len(records), len(names)))
    for i, x in enumerate(records):
        for j, name in enumerate(names):
            matrix[i, j] = space._boxes.of(name, x[name])
            if isinstance(x[name], str):
                texts[name_code(x[name].strip(BLANKS))] = x[name].strip(BLANKS)
    return matrix, texts


@given(
    st.lists(FIELDS, unique=True, min_size=1).flatmap(
        lambda names: st.tuples(
            st.just(names),
            st.lists(st.fixed_dictionaries({name: SINGLE for name in names}), min_size=1),
        )
    ),
    st.integers(0, 10),
)
def test_a_record_and_a_matrix_agree_to_the_bit(
    given: tuple[list[Any], list[dict[Any, Any]]], learned: int
) -> None:
    names, records = given
    space = FeatureSpace()
    for x in records[:learned]:
        space.add(x)
    matrix, texts = boxed_matrix(names, records)
    many = space.encode_many(names, matrix)
    for i, x in enumerate(records):
        one = space.encode(x)
        assert one.values.tobytes() == many.values[i].tobytes()

    # The rows at which new columns come are found, and the columns are those of one by one.
    counted = np.ones(len(records), dtype=np.bool_)
    arriving = space.arriving(names, matrix, texts, counted)
    twin = copy.deepcopy(space)
    for i, x in enumerate(records):
        unknown = twin.unknown(x)
        assert arriving.get(i, []) == unknown
        assert [str(c) for c in arriving.get(i, [])] == [str(c) for c in unknown]
        twin.append(unknown)
    space.append(space.unknown_in(names, matrix, texts))
    assert space.names == twin.names


def wide(names: int) -> FeatureSpace:
    space = FeatureSpace()
    for i in range(names):
        space.add({f"f{j}": f"n{i}" for j in range(8)} | {"x": 1.0})
    return space


@pytest.mark.parametrize(("names", "sparse"), [(3, False), (12, False), (20, True), (40, True)])
def test_many_names_make_sparse_rows(names: int, sparse: bool) -> None:
    space = wide(names)
    assert len(space) == 9 + 8 * min(names, MOST_NAMES)
    records: list[dict[str, Any]] = [
        {f"f{j}": f"n{i + j}" for j in range(8)} | {"x": float(i)} for i in range(45)
    ]
    matrix, _ = boxed_matrix(list(records[0]), records)
    many = space.encode_many(list(records[0]), matrix)
    assert (many.starts.size > 0) == sparse
    for i, x in enumerate(records):
        row = space.encode(x)
        check(space, row, x)
        if sparse:
            part = slice(many.starts[i], many.starts[i + 1])
            assert row.values.tobytes() == many.values[part].tobytes()
            assert row.columns.tolist() == many.columns[part].tolist()
        else:
            assert row.values.tobytes() == many.values[i].tobytes()


def test_a_field_of_names_is_an_own_column_and_one_for_each_of_the_first_names() -> None:
    space = FeatureSpace()
    for name in ("DE", "SE", "DE"):
        space.add({"country": name, "amount": 2.0})
    assert space.names == (
        "amount", "country", NameColumn("country", "DE"), NameColumn("country", "SE"),
    )  # fmt: skip
    assert [str(c) for c in space.names[2:]] == ["country=DE", "country=SE"]
    assert space.fields == ("amount", "country")
    row = space.encode({"country": "SE", "amount": 1.0}).values
    assert row.tobytes() == np.array([1.0, boxed_name("SE"), 0.0, 1.0]).tobytes()
    # Another name has 0 in all of them; none, and a number, has nothing in them.
    assert space.encode({"country": "NO", "amount": 1.0}).values[0, 2:].tolist() == [0.0, 0.0]
    assert space.encode({"country": None, "amount": 1.0}).values[0, 2:].tolist() == [ABSENT] * 2
    assert space.encode({"country": 47, "amount": 1.0}).values[0, 1:].tolist() == [
        47,
        *[ABSENT] * 2,
    ]
    assert space.encode({"amount": 1.0}).values[0, 1:].tolist() == [ABSENT] * 3


def test_only_the_first_names_get_columns() -> None:
    space = FeatureSpace()
    for i in range(3 * MOST_NAMES):
        space.add({"user": f"u{i}"})
    assert len(space) == 1 + MOST_NAMES
    assert space.names[-1] == NameColumn("user", f"u{MOST_NAMES - 1}")
    assert space.unknown({"user": "another"}) == []


def test_a_time_is_an_hour_and_a_weekday() -> None:
    space = FeatureSpace()
    space.add({"when": "2026-11-19T12:30:00Z"})
    assert space.names == (PartColumn("when", "hour"), PartColumn("when", "weekday"))
    assert space.fields == ("when",)
    for value in ("2026-11-19 12:30", datetime.datetime(2026, 11, 19, 12, 30), 1_795_091_400):
        assert space.encode({"when": value}).values.tolist() == [[12.5, 3.0]]
    assert np.isnan(space.encode({"when": None}).values).all()
    space.add({"when": 7.5})  # of a field that was times, another value has a column of its own
    assert list(map(str, space.names)) == ["when hour", "when weekday", "when"]
    assert space.encode({"when": 7.5}).values.tolist() == [[ABSENT, ABSENT, 7.5]]


def test_seconds_are_times_only_in_fields_that_say_so() -> None:
    space = FeatureSpace()
    space.add({"ts": 1_763_550_000, "amount": 1_763_550_000})
    assert space.names == ("amount", PartColumn("ts", "hour"), PartColumn("ts", "weekday"))
    assert FeatureSpace(["ts", "x"]).encode({"ts": 12.5, "x": 1}).values.tolist() == [[12.5, 1.0]]


def test_a_text_is_a_sparse_row_with_its_words() -> None:
    space = FeatureSpace()
    space.add({"text": "Free entry: come, free!", "n": 2.0, "lang": "en"})
    assert space.names == (
        "lang", NameColumn("lang", "en"), "n", "text", PartColumn("text", "words"),
    )  # fmt: skip
    assert space.encode({"text": "Free", "n": 2.0}).columns.tolist() == [0, 1, 2, 3, 4]
    x = {"text": "Free entry now: free!", "n": 2.0}
    row = space.encode(x)
    assert row.columns.tolist() == [0, 1, 2, 3, 3, 3, 4]
    wanted = [ABSENT, ABSENT, 2.0, *map(boxed_name, ["free", "entry", "now"]), 3.0]
    assert row.values.tobytes() == np.array(wanted).tobytes()


def test_names_of_other_case_or_form_are_others() -> None:
    space = FeatureSpace()
    for name in ("Zürich", "zürich", "Zu\u0308rich", "\ud800"):
        space.add({"city": name})
    assert len(space) == 5


def test_a_long_name_is_shown_short_and_found_whole() -> None:
    space = FeatureSpace()
    long = "x" * 100_000
    space.add({"id": long + "a"})
    space.add({"id": long + "b"})
    assert len(space) == 3
    assert all(len(str(name)) < 250 for name in space.names)
    assert space.encode({"id": long + "b"}).values[0, 1:].tolist() == [0.0, 1.0]


def test_memory_is_bounded_however_many_names_come() -> None:
    space = FeatureSpace()
    space.add({"id": "first", "x": 1.0})
    for i in range(33_000):
        space.encode({"id": f"id-{i}-" + "y" * 80, "x": 1.0})
    tracemalloc.start()
    for i in range(33_000, 80_000):
        space.encode({"id": f"id-{i}-" + "y" * 80, "x": 1.0})
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 10_000_000


def test_a_record_of_ten_thousand_fields() -> None:
    space = FeatureSpace()
    x: dict[str, Any] = {f"f{i}": "name" if i % 2 else float(i) for i in range(10_000)}
    space.add(x)
    row = space.encode(x)
    assert len(space) == 15_000
    assert space.ignored == 0
    assert (row.values.size if row.starts.size else row.values.shape[1]) == 15_000
    row = space.encode({"f3": "other", "f4": 1.0})
    assert row.columns.tolist() == [space.names.index("f3"), space.names.index("f4")]


@pytest.mark.parametrize("short_way", [False, True])
def test_a_bad_value_is_named_and_leaves_no_trace(short_way: bool) -> None:
    space = FeatureSpace()
    x: dict[str, Any] = {"a": "DE", "b": 2.0}
    space.add(x)
    for _ in range(3 * short_way):
        space.encode(x)
    wanted = copied(space.encode(x))
    for value in (math.inf, "inf", b"x", object(), {1.5, 2.5}, 1j):
        for name in "abc":
            with pytest.raises(ValueError, match=f"feature '{name}' has the value"):
                space.encode(x | {name: value})
            with pytest.raises(ValueError, match=f"feature '{name}' has the value"):
                space.unknown(x | {name: value})
    assert_same(space.encode(x), wanted)


def test_copies_and_files_keep_the_columns() -> None:
    space = FeatureSpace()
    space.add({"a": "x" * 300, "ts": "2026-01-01", "t": "one two three", ("p", 1): 2.0})
    for twin in (
        pickle.loads(pickle.dumps(space)),
        copy.deepcopy(space),
        FeatureSpace().restored(space.saved),
    ):
        assert twin.names == space.names
        assert list(map(str, twin.names)) == list(map(str, space.names))
        assert_same(
            copied(twin.encode({"a": "x" * 300, "t": "a b c"})),
            space.encode({"a": "x" * 300, "t": "a b c"}),
        )


@pytest.mark.parametrize(
    "saved",
    [
        ({"field": "a"},),
        ({"field": "a", "part": "year"},),
        ({"field": "a", "name": "b", "code": -1},),
        ({"field": "a", "name": 3, "code": 1},),
        ({"field": "a", "name": "b", "code": 1}, {"field": "a", "name": "c", "code": 1}),
        ({"field": [], "part": "hour"},),
    ],
)
def test_a_damaged_file_is_refused(saved: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        FeatureSpace().restored(saved)


def test_hashes_are_of_fields() -> None:
    space = FeatureSpace()
    space.add({"a": "x", "b": 1.0, "ts": "2026-01-01", "t": "one two three"})
    hashes = dict(zip(map(str, space.names), space.field_hashes().tolist(), strict=True))
    assert hashes["a"] == name_code("a")
    assert hashes["a=x"] == hashes["t words"] == 0
    assert hashes["ts hour"] == name_code("ts hour") != hashes["ts weekday"] != 0


def test_a_sparse_matrix_may_hold_words() -> None:
    space = FeatureSpace()
    words = [boxed_name(w) for w in ("free", "entry", "now")]
    rows = SparseRows(
        np.array([1.0, *words, 2.0, boxed_name("ok"), 3.0, boxed_time(3, 45_000)]),
        np.array([0, 1, 1, 1, 0, 1, 0, 1]),
        np.array([0, 4, 6, 8]),
        2,
    )
    names, texts = ["n", "text"], {name_code("ok"): "ok"}
    space.append(space.unknown_in(names, rows, texts))
    records = [{"n": 1, "text": "Free entry now"}, {"n": 2, "text": "ok"}]
    records.append({"n": 3, "text": "2026-11-19T12:30"})
    twin = FeatureSpace()
    for x in records:
        twin.add(x)
    assert space.names == twin.names
    many = space.encode_many(names, rows)
    for i, x in enumerate(records):
        row = space.encode(x)
        part = slice(many.starts[i], many.starts[i + 1])
        assert row.values.tobytes() == many.values[part].tobytes()
        assert row.columns.tolist() == many.columns[part].tolist()
