"""Records and labels that wait for each other."""

from __future__ import annotations

import pytest

from stream_llsvm.engine.late_labels import Guess, Waiting
from stream_llsvm.model.file import dumps, loads


def guess(at: float = 0.0, x: float = 1.0) -> Guess:
    return Guess({"x": x}, "yes", 0.9, at)


def test_a_label_finds_its_record() -> None:
    waiting = Waiting()
    assert waiting.record("a", guess(x=5.0)) is None
    found = waiting.label("a", "no", at=1.0)
    assert found is not None
    assert found.x == {"x": 5.0}
    assert waiting.report() == {
        "matched": 1, "expired": 0, "orphaned": 0, "duplicated": 0, "records": 0, "labels": 0,
    }  # fmt: skip


def test_a_label_may_come_before_its_record() -> None:
    waiting = Waiting()
    assert waiting.label("a", None, at=0.0) is None
    assert waiting.record("a", guess(at=1.0)) == (None,)
    assert waiting.counts["matched"] == 1


def test_too_many_expire_oldest_first() -> None:
    waiting = Waiting(most=2)
    for i, key in enumerate("abc"):
        waiting.record(key, guess(at=float(i)))
    assert list(waiting.records) == ["b", "c"]
    assert waiting.counts["expired"] == 1
    for i, key in enumerate("xyz"):
        waiting.label(key, 1, at=float(i))
    assert list(waiting.labels) == ["y", "z"]
    assert waiting.counts["orphaned"] == 1


def test_what_waits_too_long_expires() -> None:
    waiting = Waiting(longest=10.0)
    waiting.record("a", guess(at=0.0))
    waiting.record("b", guess(at=10.5))
    assert list(waiting.records) == ["b"]
    assert waiting.label("a", 1, at=11.0) is None


def test_a_clock_that_is_set_back_does_not_keep_what_came_before_that() -> None:
    waiting = Waiting(longest=10.0)
    waiting.record("a", guess(at=1_000_000.0))
    waiting.label("x", 1, at=1_000_000.0)
    waiting.record("b", guess(at=5.0))
    kept = Waiting(longest=10.0)
    kept.restore(loads(dumps(waiting.payload())))
    for one in (waiting, kept):
        assert [g.at for g in one.records.values()] == [5.0, 5.0]
        one.record("c", guess(at=16.0))
        assert list(one.records) == ["c"]
        assert one.report()["labels"] == 0


def test_a_clock_that_is_set_back_between_two_runs() -> None:
    waiting = Waiting(longest=10.0)
    waiting.record("a", guess(at=1_000_000.0))
    kept = Waiting(longest=10.0)
    kept.restore(loads(dumps(waiting.payload())))
    kept.record("b", guess(at=5.0))
    assert [g.at for g in kept.records.values()] == [5.0, 5.0]


def test_a_key_used_again_replaces_and_is_counted() -> None:
    waiting = Waiting()
    waiting.record("a", guess(x=1.0))
    waiting.record("a", guess(x=2.0))
    found = waiting.label("a", 1, at=0.0)
    assert found is not None
    assert found.x == {"x": 2.0}
    assert waiting.counts["duplicated"] == 1


def test_all_of_it_can_be_kept_in_a_file() -> None:
    waiting = Waiting()
    waiting.record(("a", 1), guess())
    waiting.label("b", "no", at=3.0)
    kept = Waiting()
    kept.restore(loads(dumps(waiting.payload())))
    assert kept.payload() == waiting.payload()
    assert kept.label(("a", 1), "x", at=4.0) == guess()


def test_how_long_labels_take() -> None:
    waiting = Waiting()
    for key, seconds in (("a", 0.0), ("b", 0.01), ("c", 59.0), ("d", 4_000.0), ("e", -3.0)):
        waiting.record(key, Guess({}, "x", 1.0, at=1_000.0))
        waiting.label(key, "x", at=1_000.0 + seconds)
    waiting.label("f", "x", at=1.0)  # before its record
    waiting.record("f", Guess({}, "x", 1.0, at=9.0))
    assert waiting.delays == [4, 0, 0, 0, 1, 0, 0, 1]
    assert waiting.delayed == pytest.approx(4_059.01)
    again = Waiting()
    again.restore(waiting.payload())
    assert (again.delays, again.delayed) == (waiting.delays, waiting.delayed)
    # A checkpoint of an older version does not have them.
    old = {k: v for k, v in waiting.payload().items() if not k.startswith("delay")}
    again = Waiting()
    again.restore(old)
    assert sum(again.delays) == 0
