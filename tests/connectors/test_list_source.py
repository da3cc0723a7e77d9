"""A list as a source: slices of it, and a copy made of its description."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.base import Described, Sliced, SourceError
from stream_llsvm.connectors.description import opened
from stream_llsvm.connectors.list_source import ListSource


def numbered(n: int) -> ListSource:
    records = [{"x": float(i), "y": i % 2, "key": f"k{i}", "w": 2.0} for i in range(n)]
    return ListSource(records, label="y", key="key", weight="w")


def xs(source: ListSource, begin: Any, end: Any) -> list[float]:
    return [x["x"] for batch in source.between(begin, end) for x in batch.records or []]


@given(n=st.integers(0, 50), size=st.integers(1, 20), count=st.integers(1, 6))
def test_slices_hold_each_record_once(n: int, size: int, count: int) -> None:
    source = numbered(n)
    assert isinstance(source, Sliced)
    at, got = source.start(), list[float]()
    assert source.backlog(at, source.ends()) == n
    while len(borders := source.cut(at, source.ends(), size, count)) > 1:
        assert borders[0] == at
        assert len(borders) <= count + 1
        for begin, end in pairwise(borders):
            part = xs(source, begin, end)
            assert 0 < len(part) <= size
            got += part
        at = borders[-1]
    assert got == [float(i) for i in range(n)]


def test_between_ends_where_it_was_told() -> None:
    source = numbered(2_500)
    batches = list(source.between({"records": 300}, {"records": 2_400}))
    assert batches[-1].position == {"records": 2_400}
    assert batches[0].keys is not None
    assert batches[0].keys[0] == "k300"
    assert batches[0].weights is not None
    assert set(batches[0].weights.tolist()) == {2.0}
    assert list(source.between({"records": 7}, {"records": 7})) == []


def test_a_copy_is_made_of_its_description() -> None:
    source = numbered(30)
    assert isinstance(source, Described)
    copy: Any = opened(source.description)
    whole = source.start(), source.ends()
    assert xs(copy, *whole) == xs(source, *whole)


def test_a_border_of_another_list_is_refused() -> None:
    with pytest.raises(SourceError, match="not a position in 3"):
        numbered(3).cut({"records": 4}, {"records": 5}, 10, 1)
