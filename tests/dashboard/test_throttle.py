"""What is dear is done seldom."""

from __future__ import annotations

from stream_llsvm.dashboard.throttle import SHARE, Throttle
from tests.dashboard.support import Clock


def test_it_is_made_when_it_is_due_or_for_another_key() -> None:
    clock, made = Clock(), []

    def make() -> int:
        made.append(clock.now)
        return len(made)

    kept = Throttle[int](clock, 1.0)
    assert [kept.get("a", make), kept.get("a", make), kept.get("b", make)] == [1, 1, 2]
    clock.now += 0.9
    assert kept.get("b", make) == 2
    clock.now += 0.2
    assert kept.get("b", make) == 3


def test_what_takes_long_takes_a_small_share_of_the_time() -> None:
    clock, spent = Clock(), 0.0

    def make() -> int:
        nonlocal spent
        clock.now += 0.5
        spent += 0.5
        return 0

    kept, begin = Throttle[int](clock, 0.1), clock.now
    for _ in range(10_000):
        clock.now += 0.05
        kept.get("a", make)
    assert 0.5 * SHARE < spent / (clock.now - begin) < 1.1 * SHARE
