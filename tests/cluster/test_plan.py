"""How a stream is dealt out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.cluster.plan import FIRST, Load, Plan, slices, weights
from stream_llsvm.connectors.list_source import ListSource

GROWTH = st.lists(st.integers(0, 900), min_size=1, max_size=9)


@given(
    comes=GROWTH,
    most=st.integers(1, 9),
    size=st.integers(20, 600),
    grows=st.booleans(),
)
def test_every_record_is_in_exactly_one_slice(
    comes: list[int], most: int, size: int, grows: bool
) -> None:
    """However the end moves, and whatever the backlog is."""
    plan, load, at, taken = Plan(most, size, grows), Load(), {"records": 0}, 0
    there: list[dict[str, int]] = []
    for more in [*comes, 0]:
        there += [{"y": 0}] * more
        source = ListSource(there, label="y")
        left = 1_000_000 if more == 0 else 2  # rounds until more comes; at the end, all
        while left > 0:
            left -= 1
            backlog = source.backlog(at, source.ends())
            load = plan.load(load, backlog, taken)
            assert 1 <= load.learners <= most
            borders = source.cut(at, source.ends(), plan.slice_size(taken), load.learners)
            parts = slices(borders)
            if not parts:
                assert backlog == 0
                break
            for part in parts:
                assert part.begin == at
                n = source.backlog(*part)
                assert 0 < n <= size
                # Nobody learns a stub beside others who have whole slices.
                assert n == size or len(parts) == 1 or (part == parts[-1] and n >= 0.9 * size)
                at, taken = part.end, taken + n
    assert taken == sum(comes)


@given(most=st.integers(1, 16), backlogs=st.lists(st.integers(0, 500_000), max_size=30))
def test_auto_grows_only_with_the_backlog(most: int, backlogs: list[int]) -> None:
    plan, before = Plan(most, 1_000, grows=True), Load()
    for backlog in backlogs:
        load = plan.load(before, backlog, records=FIRST)
        if backlog < 1_900:
            assert load.learners == 1
        elif backlog <= before.backlog:
            assert load.learners <= before.learners
        assert load.learners <= min(most, 2 * before.learners)
        before = load


def test_auto_reaches_all_while_the_backlog_grows() -> None:
    plan, load = Plan(8, 1_000, grows=True), Load()
    learners = []
    for backlog in (10_000, 20_000, 30_000, 40_000, 50_000, 49_000, 900):
        load = plan.load(load, backlog, records=FIRST)
        learners.append(load.learners)
    assert learners == [1, 2, 4, 8, 8, 8, 1]


def test_what_nearly_fills_a_slice_is_one() -> None:
    """A file tells about how many records are left: the last round has as many learners."""
    plan = Plan(2, 5_000)
    assert plan.load(Load(), 9_700, records=FIRST).learners == 2
    assert plan.load(Load(), 9_400, records=FIRST).learners == 1


def test_one_learner_begins() -> None:
    plan = Plan(8, 5_000)
    assert plan.load(Load(), 1_000_000, records=0).learners == 1
    assert plan.slice_size(0) == FIRST
    assert plan.slice_size(FIRST - 7) == 7
    assert plan.slice_size(FIRST) == 5_000
    assert plan.load(Load(), 1_000_000, records=FIRST).learners == 8


def test_the_newest_counts_for_most() -> None:
    assert weights(4, 2.0) == [1.0, 2.0, 4.0, 8.0]
    assert weights(3, 1.0) == [1.0, 1.0, 1.0]
