"""A run of any length is kept in as many points."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.dashboard.builder import History


@given(st.integers(0, 3_000), st.integers(2, 60))
def test_it_is_bounded_and_keeps_both_ends(n: int, most: int) -> None:
    history = History(most)
    for i in range(n):
        history.add({"id": i})
    ids = [point["id"] for point in history.points()]
    assert len(ids) <= most
    assert ids == sorted(set(ids))
    if n > 0:
        assert ids[0] == 0
    # The newest half is all there.
    assert ids[-(most // 2) :] == list(range(max(0, n - len(ids[-(most // 2) :])), n))


@given(st.integers(20, 3_000))
def test_older_points_are_evenly_spaced(n: int) -> None:
    history = History(20)
    for i in range(n):
        history.add({"id": i})
    older = [point["id"] for point in history.points()][:-10]
    gaps = {b - a for a, b in pairwise(older)}
    assert len(gaps) <= 1
    assert all(gap & (gap - 1) == 0 for gap in gaps)


def test_what_came_after_a_point() -> None:
    history = History(100)
    for i in range(0, 60, 2):
        history.add({"id": i})
    assert [point["id"] for point in history.points(after=51)] == [52, 54, 56, 58]
    assert history.points(after=58) == []


def test_columns() -> None:
    history = History()
    assert history.columns() == {}
    history.add({"id": 1, "a": None})
    history.add({"id": 2, "a": 0.5})
    assert history.columns() == {"id": [1, 2], "a": [None, 0.5]}
