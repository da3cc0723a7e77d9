"""Objects in a record are laid out flat, as far as they may go."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.records.nested import DEEPEST, MOST_FIELDS, flattened


def test_fields_of_objects_are_named_by_the_way() -> None:
    x = {"b": {"c": 1, "a": {"x": "y"}}, "a": 2, 3: {4: 5}}
    assert list(flattened(x).record.items()) == [("a", 2), ("b.c", 1), ("b.a.x", "y"), ("3.4", 5)]


def test_a_field_of_the_record_goes_before_one_of_an_object() -> None:
    assert flattened({"a": {"b": 1}, "a.b": 2}) == ({"a.b": 2}, 1)


def nested(depth: int) -> dict[str, Any]:
    x: dict[str, Any] = {"a": 1.0}
    for _ in range(depth):
        x = {"a": x}
    return x


def test_depth_is_bounded() -> None:
    assert flattened(nested(DEEPEST)) == ({".".join("a" * (DEEPEST + 1)): 1.0}, 0)
    assert flattened(nested(DEEPEST + 1)) == ({}, 1)
    assert flattened(nested(5_000)) == ({}, 1)


def test_fields_are_bounded() -> None:
    wide = {"a": {str(i): i for i in range(10_000)}, "b": {"c": 1}, "d": 1}
    told = flattened(wide)
    assert len(told.record) == MOST_FIELDS + 1
    assert told.left_out == 9_000 + 1
    flat = {str(i): i for i in range(10_000)}
    assert flattened(flat) == (flat, 0)


@given(
    st.dictionaries(
        st.text(max_size=2),
        st.recursive(st.integers(), lambda v: st.dictionaries(st.text(max_size=2), v, max_size=3)),
        max_size=4,
    )
)
def test_nothing_is_lost_uncounted(x: dict[str, Any]) -> None:
    def leaves(value: Any) -> int:
        return sum(map(leaves, value.values())) if isinstance(value, dict) else 1

    record, left_out = flattened(x)
    assert not any(isinstance(value, dict) for value in record.values())
    assert len(record) <= leaves(x)
    assert left_out > 0 or len(record) == leaves(x)
