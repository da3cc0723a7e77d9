"""Reading ahead: a thread polls while the last batch is being learned."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable

import pytest

from stream_llsvm.connectors.base import Batch, Place, Position, Rejected, Source
from stream_llsvm.engine import reader
from stream_llsvm.engine.reader import ReadAhead

SOON = 60.0  # seconds that no test should take


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_IDLE", 0.01)


class Scripted(Source):
    """A source that plays a script: how many records come next, how many of them bad, or what else.

    A number is that many records at most, fewer if fewer are asked for, and the rest comes next;
    "bad" is one that could not be read; None is a moment without any; an exception is raised.
    Behind the script it has ended.
    """

    name = "a script"

    def __init__(self, script: Iterable[int | str | Exception | None]) -> None:
        self.script = list(script)
        self.asked: list[int] = []
        self.read = 0
        self.over = False
        self.polls = threading.Semaphore(0)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        self.asked.append(max_records)
        self.polls.release()
        if not self.script:
            self.over = True
            return None
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        if step is None:
            return None
        if isinstance(step, str):
            return self._batch(
                [], [Rejected(Place(self.name, None, self.read + 1), "bad", "", b"")]
            )
        n = min(step, max_records)
        if step > n:
            self.script.insert(0, step - n)
        return self._batch(list(range(self.read, self.read + n)), [])

    def _batch(self, labels: list[int], rejected: list[Rejected]) -> Batch:
        self.read += len(labels) + len(rejected)
        places = [Place(self.name, None, 1 + i) for i in labels]
        records = [{"x": 1.0} for _ in labels]
        return Batch(labels, places, self.position, records=records, rejected=rejected)

    @property
    def ended(self) -> bool:
        return self.over

    @property
    def position(self) -> Position:
        return {"read": self.read}

    def seek(self, position: Position) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError

    def wait_for_polls(self, n: int) -> None:
        for _ in range(n):
            assert self.polls.acquire(timeout=SOON)


class Endless(Scripted):
    """It is silent behind its script, and does not end."""

    @property
    def ended(self) -> bool:
        return False


def taken(batches: ReadAhead, n: int) -> list[Batch]:
    """Return the next n batches, or all up to the end, however long the source takes."""
    told: list[Batch] = []
    late = time.monotonic() + SOON
    while len(told) < n and not batches.ended:
        batch = batches.next()
        if batch is not None:
            told.append(batch)
        assert time.monotonic() < late
    return told


def ending(batches: ReadAhead) -> list[Batch]:
    """Return all batches up to the end."""
    return taken(batches, sys.maxsize)


def stopped(batches: ReadAhead) -> bool:
    """Leave the context; returns whether that came to an end."""
    leaving = threading.Thread(target=batches.__exit__, args=(None, None, None), daemon=True)
    leaving.start()
    leaving.join(SOON)
    return not leaving.is_alive() and not batches._thread.is_alive()


def test_the_order_is_kept() -> None:
    source = Scripted([3, "bad", None, 1, 50, None, None, "bad", 7])
    with ReadAhead(source, max_batch=10) as batches:
        told = ending(batches)
    labels = [label for batch in told for label in batch.labels]
    assert labels == [*range(3), *range(4, 55), *range(56, 63)]
    assert [len(batch.labels) for batch in told] == [3, 0, 1, *[10] * 5, 0, 7]
    positions = [batch.position["read"] for batch in told]
    assert positions == sorted(positions) and positions[-1] == 63
    assert batches.left == 0


@pytest.mark.parametrize("max_batch", [1, 4, 1_000])
@pytest.mark.parametrize("most", [1, 5, 8, 29, 30])
def test_exactly_so_many_are_taken_and_bad_ones_count(most: int, max_batch: int) -> None:
    source = Scripted([5, "bad", None, "bad", 20, 3])
    with ReadAhead(source, max_batch, most) as batches:
        count = 0
        while count < most:
            (batch,) = taken(batches, 1)
            count += len(batch) + len(batch.rejected)
        assert batches.next() is None
    assert count == most == source.read, "and no more was read"
    assert max(source.asked) <= max_batch
    assert batches.left == 0


def test_none_are_taken_if_none_are_wanted() -> None:
    source = Scripted([5])
    with ReadAhead(source, 10, 0) as batches:
        assert batches.next() is None
    assert source.asked == []
    assert not batches.ended


def test_more_than_there_are_is_all_there_are() -> None:
    with ReadAhead(Scripted([5, 5]), 10, 1_000) as batches:
        assert sum(len(batch) for batch in ending(batches)) == 10


@pytest.mark.parametrize("script", [[], [None, None]])
def test_a_source_without_records_ends(script: list[None]) -> None:
    with ReadAhead(Scripted(script), 10) as batches:
        assert ending(batches) == []
    assert batches.left == 0


def test_a_source_that_is_silent_has_not_ended() -> None:
    with ReadAhead(Endless([2]), 10) as batches:
        assert len(taken(batches, 1)[0]) == 2
        assert batches.next() is None
        assert not batches.ended


def test_what_goes_wrong_is_raised_behind_what_came_before() -> None:
    source = Scripted([2, 3, OSError("the cable is out"), 4])
    batches = ReadAhead(source, 10)
    with pytest.raises(OSError, match="cable"), batches:
        source.wait_for_polls(3)  # it has gone wrong already
        assert [batch.labels for batch in taken(batches, 2)] == [[0, 1], [2, 3, 4]]
        taken(batches, 1)
    assert source.script == [4], "nothing is read behind it"
    assert batches.left == 0, "both were learned: nothing was lost with the error"


def test_what_goes_wrong_in_what_nobody_asked_for_is_not_raised() -> None:
    source = Scripted([2, OSError("the cable is out")])
    with ReadAhead(source, 10) as batches:
        source.wait_for_polls(2)
    assert batches.left == 1


def test_no_more_than_three_batches_are_held() -> None:
    """Two are ready and a third waits for room: a slow learner does not fill the memory."""
    source, most, asked = Scripted([1] * 50), 0, 0
    with ReadAhead(source, 10) as batches:
        source.wait_for_polls(3)  # without being asked
        while not batches.ended:
            asked += 1
            batches.next()
            if asked <= 48:  # 50 batches, and once in vain
                source.wait_for_polls(1)
            most = max(most, len(source.asked) - asked)
    assert most == 3


def test_it_stops_while_it_waits_for_room() -> None:
    source = Scripted([1] * 1_000)
    batches = ReadAhead(source, 10)
    batches.__enter__()
    source.wait_for_polls(3)
    assert stopped(batches)
    assert len(source.asked) == source.read == batches.left == 3


def test_it_stops_while_it_waits_for_records() -> None:
    source = Endless([])
    batches = ReadAhead(source, 10)
    batches.__enter__()
    source.wait_for_polls(3)
    assert stopped(batches)
    assert batches.left == 0


@pytest.mark.parametrize(("asked_again", "left"), [(False, 3), (True, 2)])
def test_a_batch_that_an_error_ended_is_left_too(asked_again: bool, left: int) -> None:
    """Nobody knows how much of it was learned, unless the next was asked for."""
    source = Endless([1, 1, 1])
    batches = ReadAhead(source, 10)
    with pytest.raises(KeyboardInterrupt), batches:
        taken(batches, 1 + asked_again)
        source.wait_for_polls(4)  # all three, and once in vain
        raise KeyboardInterrupt
    assert batches.left == left


def test_the_loop_can_be_woken_without_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_IDLE", SOON)
    batches, begin = ReadAhead(Scripted([]), 5), time.monotonic()
    batches.wake()
    assert batches.next() is None
    assert not batches.ended
    assert list(batches.rest()) == []
    assert time.monotonic() - begin < SOON
