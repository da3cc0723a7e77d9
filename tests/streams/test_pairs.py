"""Pairs as a source: in order, over and over or once, from any position."""

from __future__ import annotations

from stream_llsvm.streams.pairs import PairSource

PAIRS = [({"a": float(i), 7: 1.0}, i) for i in range(5)]


def test_it_ends_or_begins_anew() -> None:
    once = PairSource("five", lambda: PAIRS, loop=False)
    batch = once.poll(3, 0.0)
    assert batch is not None
    assert batch.labels == [0, 1, 2]
    assert batch.record(1) == {"a": 1.0, "7": 1.0}
    assert [str(place) for place in batch.places] == ["five:1", "five:2", "five:3"]
    batch = once.poll(3, 0.0)
    assert batch is not None
    assert batch.labels == [3, 4]
    assert not once.ended
    assert once.poll(3, 0.0) is None
    assert once.ended
    again = PairSource("five", lambda: PAIRS, loop=True).poll(12, 0.0)
    assert again is not None
    assert again.labels == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


def test_it_goes_on_from_a_position() -> None:
    source = PairSource("five", lambda: PAIRS, loop=True)
    source.poll(4, 0.0)
    source.seek({"records": 7})
    batch = source.poll(2, 0.0)
    assert batch is not None
    assert batch.labels == [2, 3]
    assert batch.position == {"records": 9}


def test_nothing_over_and_over_is_nothing() -> None:
    source = PairSource("none", list, loop=True)
    assert source.poll(3, 0.0) is None
    assert source.ended
