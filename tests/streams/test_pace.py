"""A pace is kept over any time, in batches, without catching up for ever."""

from __future__ import annotations

import pytest

from stream_llsvm.connectors import ListSource
from stream_llsvm.streams.bananas import MovingBananas
from stream_llsvm.streams.pace import PacedSource


class Time:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 50.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


def paced(rate: float) -> tuple[PacedSource, Time]:
    time = Time()
    return PacedSource(MovingBananas(), rate, time.clock, time.sleep), time


@pytest.mark.parametrize("rate", [0.5, 3, 400, 50_000])
def test_so_many_come_in_a_second(rate: float) -> None:
    source, time = paced(rate)
    begin, got, batches = time.now, 0, 0
    while time.now < begin + 20:
        batch = source.poll(10_000, 0.2)
        if batch is not None:
            got += len(batch)
            batches += 1
    assert got == pytest.approx(20 * rate, rel=0.15)
    assert batches <= 20 * 21 * max(1, rate / 10_000)


def test_a_batch_is_no_larger_than_asked_for() -> None:
    source, time = paced(400)
    time.now += 10
    for _ in range(100):
        batch = source.poll(7, 1.0)
        assert batch is not None
        assert len(batch) <= 7


def test_what_was_missed_is_not_caught_up_with() -> None:
    source, time = paced(400)
    source.poll(1_000, 1.0)
    time.now += 3_600
    begin, got = time.now, 0
    while time.now < begin + 2:
        batch = source.poll(1_000, 0.2)
        got += 0 if batch is None else len(batch)
    assert got < 1_300


def test_nothing_comes_before_its_time() -> None:
    source, time = paced(0.5)
    assert source.poll(10, 0.2) is not None
    begin = time.now
    assert source.poll(10, 0.2) is None
    assert time.now == pytest.approx(begin + 0.2)


def test_it_is_the_source_itself_but_for_the_pace() -> None:
    records = [{"a": 1.0, "y": 0}] * 30
    time = Time()
    source = PacedSource(ListSource(records, label="y"), 100, time.clock, time.sleep)
    source.seek({"records": 10})
    got = 0
    while not source.ended:
        batch = source.poll(1_000, 0.2)
        got += 0 if batch is None else len(batch)
    assert (got, source.position, source.name) == (20, {"records": 30}, "a list")


def test_a_pace_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        PacedSource(MovingBananas(), 0)
