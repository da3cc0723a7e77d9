"""Partitions merged by time, in whatever portions they come."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.order import UNDER_WAY, TimeOrder

Item = tuple[int, int]  # a partition, and the number of a record in it


def by_heads(parts: list[list[float]]) -> list[Item]:
    """Merge as the equation says: of the next records of all the lowest, one by one."""
    at = [0] * len(parts)
    found = []
    while any(n < len(part) for n, part in zip(at, parts, strict=True)):
        heads = [
            (part[n], p) for p, (n, part) in enumerate(zip(at, parts, strict=True)) if n < len(part)
        ]
        _, p = min(heads)
        found.append((p, at[p]))
        at[p] += 1
    return found


class Reader:
    """Adds and takes, and knows which records went."""

    def __init__(self, parts: int, max_wait: float = 5.0) -> None:
        self.order = TimeOrder([f"t/{p}" for p in range(parts)], max_wait)
        self.gone = [0] * parts
        self.found: list[Item] = []

    def take(self, more: set[int], now: float) -> int:
        cut = self.order.take(lambda part: part in more, now)
        if cut is None:
            return 0
        items = [(p, self.gone[p] + i) for p, many in enumerate(cut.counts) for i in range(many)]
        self.found += [items[i] for i in cut.order.tolist()]
        self.gone = [n + many for n, many in zip(self.gone, cut.counts, strict=True)]
        return sum(cut.counts)


TIMES = st.lists(st.integers(0, 6).map(float), max_size=12)


@given(st.lists(TIMES, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_is_that_of_the_next_records(parts: list[list[float]], chance: object) -> None:
    reader = Reader(len(parts), max_wait=1e9)
    given_up_to = [0] * len(parts)
    now = 0.0
    while any(n < len(part) for n, part in zip(given_up_to, parts, strict=True)):
        p = chance.randrange(len(parts))  # type: ignore[attr-defined]
        many = chance.randrange(1, 4)  # type: ignore[attr-defined]
        some = parts[p][given_up_to[p] : given_up_to[p] + many]
        given_up_to[p] += len(some)
        reader.order.add(p, np.array(some), now)
        now += 1.0
        more = {q for q, part in enumerate(parts) if given_up_to[q] < len(part)}
        reader.take(more, now)
    while reader.take(set(), now + 1.0):
        pass
    assert reader.found == by_heads(parts)
    assert reader.order.told()[:2] == (0, ())


def test_nothing_goes_before_a_partition_that_has_more() -> None:
    reader = Reader(2)
    reader.order.add(0, np.array([1.0, 2.0]), now=0.0)
    assert reader.take({1}, 0.0) == 0 and reader.order.wait == 5.0
    assert reader.take({1}, 3.0) == 0 and reader.order.wait == 2.0
    reader.order.add(1, np.array([1.5]), now=3.0)
    assert reader.take({1}, 3.0) == 2 and reader.found == [(0, 0), (1, 0)]
    assert reader.order.told() == (0, (), 3.0)


def test_a_wait_runs_out_once_and_again_when_it_had_given_something() -> None:
    reader = Reader(2)
    reader.order.add(0, np.array([1.0]), now=0.0)
    assert reader.take({1}, 0.0) == 0
    assert reader.take({1}, 5.0) == 1
    reader.order.add(0, np.array([2.0]), now=6.0)
    assert reader.take({1}, 6.0 + UNDER_WAY) == 1  # it is not waited for any longer
    assert reader.order.told()[1] == ("t/1",)
    reader.order.add(1, np.array([1.5, 7.0]), now=7.0)
    reader.order.add(0, np.array([8.0]), now=7.0)
    assert reader.take({1}, 7.0) == 2 and reader.order.told()[:2] == (1, ())
    assert reader.take({1}, 7.0) == 0
    assert reader.take({1}, 12.0) == 1 and reader.order.told()[1] == ("t/1",)


def test_a_quiet_partition_holds_others_for_a_moment_and_one_that_ended_never() -> None:
    reader = Reader(2)
    reader.order.add(0, np.array([1.0]), now=0.0)
    assert reader.take(set(), 0.0) == 0 and reader.order.wait == pytest.approx(UNDER_WAY)
    assert reader.take(set(), UNDER_WAY) == 1
    reader.order.end(1)
    reader.order.add(0, np.array([2.0]), now=1.0)
    assert reader.take({1}, 1.0) == 1
    assert reader.take(set(), 1.0) == 0 and reader.order.wait == inf


def test_what_has_no_time_goes_behind_the_one_before_it() -> None:
    reader = Reader(2)
    reader.order.add(0, np.array([nan, 5.0, nan]), now=0.0)
    reader.order.add(1, np.array([4.0, 6.0]), now=0.0)
    cut = reader.order.take(lambda part: False, now=1.0)
    assert cut is not None and cut.order.tolist() == [0, 3, 1, 2, 4]
    assert cut.untimed.tolist() == [True, False, False, True, False]


def test_of_equal_times_the_higher_partition_is_never_late() -> None:
    reader = Reader(3)
    reader.order.add(1, np.array([5.0]), now=0.0)
    reader.take(set(), 1.0)
    reader.order.add(2, np.array([5.0]), now=1.0)
    assert reader.order.told().late == 0
    reader.order.add(0, np.array([5.0]), now=1.0)
    assert reader.order.told().late == 1
