"""What is kept of a batch for a moment, whatever kind of places it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.columns import Places
from stream_llsvm.dashboard.look import recent_of
from stream_llsvm.dashboard.recent_records import Taken
from stream_llsvm.engine.learner import Answers

MADE = [Place("a", None, 10 + i) for i in range(30)]


@pytest.mark.parametrize("places", [MADE, Places("a", None, range(10, 40))], ids=["made", "lazy"])
@pytest.mark.parametrize("named", [True, False])
def test_a_part_of_a_batch_are_the_same_records(places: Sequence[Place], named: bool) -> None:
    values, answers = np.arange(60.0).reshape(30, 2), list("yn" * 15)
    records = [{"x": a, "y": b} for a, b in values.tolist()]
    block: dict[str, Any] = (
        {"names": ("x", "y"), "values": values} if named else {"records": records}
    )
    batch = Batch(list("n" * 30), places, {"records": 40}, **block)
    sure = np.linspace(0, 1, 30)
    whole = Taken(batch, Answers(answers, sure, sure, {3: "odd", 28: "odd"}), 500)
    kept = whole.part(18, 30)
    assert len(kept.batch) == 12
    assert recent_of([kept], 2) == recent_of([whole], 2)[-11:]
    assert [str(place) for place in kept.batch.places[-2:]] == ["a:38", "a:39"]
    with pytest.raises(IndexError):
        kept.batch.places[12]
    assert whole.part(-5, 30) is whole
    first = whole.part(0, 7)
    assert recent_of([first], 2) == recent_of([whole], 2)[:6]
    assert first.answers.refused == {3: "odd"}
    assert [str(place) for place in first.batch.places[:2]] == ["a:10", "a:11"]
