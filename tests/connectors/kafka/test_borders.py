"""Borders of slices are where times begin, and are found again whatever was asked before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.kafka.borders import Borders, Offsets

START = 1_700_000_000_000
Times = dict[int, list[int]]
STEPS = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 3, 60, 9_000]), st.integers(-40, 0)), max_size=60
)


@st.composite
def partitions(draw: st.DrawFn) -> Times:
    """Draw the times of some partitions; some are empty, some have times in no order."""
    found: Times = {}
    for one in range(draw(st.integers(1, 4))):
        time, found[one] = START, []
        for step, early in draw(STEPS):
            time += step
            found[one].append(time + early)
    return found


def asking(times: Times, asked: list[int] | None = None) -> Callable[[int], Any]:
    """Answer as brokers do: the first offset whose time is not before, and its time."""

    def ask(time: int) -> Any:
        if asked is not None:
            asked.append(time)
        return {
            one: next(((at, t) for at, t in enumerate(of) if t >= time), None)
            for one, of in times.items()
        }

    return ask


def merged(times: Times, begin: Offsets, end: Offsets) -> list[tuple[int, int]]:
    """Return partitions and offsets in the order of time, as `TimeOrder` has them."""
    rows = []
    for one, of in times.items():
        last = 0
        for at in range(begin[one], end[one]):
            last = max(last, of[at])
            rows.append((last, one, at))
    return [(one, at) for _, one, at in sorted(rows)]


@given(partitions(), st.integers(1, 50))
def test_slices_one_after_the_other_are_the_whole_in_its_order(times: Times, size: int) -> None:
    begin, ends = dict.fromkeys(times, 0), {one: len(of) for one, of in times.items()}
    borders, here = Borders(asking(times)), begin
    found: list[tuple[int, int]] = []
    while here != ends:
        there = borders.next(here, ends, size)
        assert there == Borders(asking(times)).next(here, ends, size)  # whatever was asked before
        slice = merged(times, here, there)
        assert slice and (there == ends or abs(len(slice) - size) <= size // 16)
        found, here = found + slice, there
    assert found == merged(times, begin, ends)


def test_few_questions_find_the_next_border() -> None:
    times = {one: [START + 7 * n + one for n in range(20_000)] for one in range(4)}
    ends, asked = dict.fromkeys(times, 20_000), list[int]()
    borders, here = Borders(asking(times, asked)), dict.fromkeys(times, 0)
    here = borders.next(here, ends, 5_000)
    first = len(asked)
    for _ in range(10):
        here = borders.next(here, ends, 5_000)
    assert first < 45 and len(asked) - first < 80


def test_what_brokers_say_of_a_log_that_has_changed_does_not_stop_it() -> None:
    borders = Borders(lambda time: {"a": (0, time), "b": (0, time)})
    assert borders.next({"a": 5, "b": 5}, {"a": 50, "b": 50}, 10) == {"a": 15, "b": 5}
    assert borders.next({"a": 15, "b": 5}, {"a": 50, "b": 50}, 10) != {"a": 15, "b": 5}
