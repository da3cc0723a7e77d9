"""Labels that look alike are told apart."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.dashboard.json_values import LONGEST, distinct

labels = st.one_of(st.text(), st.integers(), st.sampled_from(["1", 1, "1 (2)", "x" * 300]))


@given(st.lists(labels))
def test_no_two_are_alike_and_all_are_short(values: list[Any]) -> None:
    texts = distinct(values)
    assert len(texts) == len(values) == len(set(texts))
    assert all(len(text) <= LONGEST for text in texts)
    assert all(text.encode() for text in texts if text)
