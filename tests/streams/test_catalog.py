"""Every stream by name gives records that can be learned, the same for a seed."""

from __future__ import annotations

import pytest

from stream_llsvm import CommitteeClassifier, Engine, SAPLClassifier
from stream_llsvm.connectors.base import Source
from stream_llsvm.streams.catalog import STREAMS, alternating


def some(source: Source, n: int) -> list[tuple[dict[str, float], object]]:
    found: list[tuple[dict[str, float], object]] = []
    while len(found) < n:
        batch = source.poll(n - len(found), 0.0)
        assert batch is not None
        found += [(batch.record(i), batch.labels[i]) for i in range(len(batch))]
    return found


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_can_be_learned_and_repeated(name: str) -> None:
    make = STREAMS[name].make
    assert some(make(3, 150, 200), 600) == some(make(3, 150, 200), 600)
    source = make(3, 150, 200)
    some(source, 250)
    kept = source.position
    expected = some(source, 50)
    source.seek(kept)
    assert some(source, 50) == expected
    # What names say together, contexts know, and these the committee has.
    model = CommitteeClassifier() if name == "payments" else SAPLClassifier()
    report = Engine(make(3, 5_000, 5_000), model).run(3_000)
    scores = report["scores"]["cumulative"]
    assert report["learned"] >= 3_000
    assert scores["accuracy"] > scores["majority"] + 0.05


def test_concepts_take_turns() -> None:
    one, two = ([({"a": float(i)}, label) for i in range(50)] for label in "ab")
    taken = alternating([one, two], 2, 3)
    labels = [next(taken)[1] for _ in range(11)]
    assert "".join(map(str, labels)) == "aabbbaaabbb"
