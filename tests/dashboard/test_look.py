"""What is kept of a batch for a moment, whatever kind of places it has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.dashboard.look import Histogram, quantile, recent_of, since
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


def test_a_part_of_a_batch_knows_its_names() -> None:
    raws = [b"%d,u%d" % (i, i) for i in range(40)]
    batch = CsvCodec(["a", "user"]).decode(raws, Places("a", None, range(40)), {})
    sure = np.linspace(0, 1, 40)
    kept = Taken(batch, Answers(["n"] * 40, sure, sure, {}), 0).part(30, 40)
    assert kept.recent(4).x == {"a": 34.0, "user": "u34"}


@given(st.lists(st.floats(2e-6, 60.0), min_size=1), st.sampled_from([0.5, 0.95, 0.99]))
def test_quantiles_are_within_a_bucket(times: list[float], share: float) -> None:
    histogram = Histogram()
    for one in times:
        histogram.observe(one)
    told = quantile(histogram.counts, share)
    exact = float(np.quantile(times, share, method="inverted_cdf"))
    assert told is not None
    assert exact / 1.2 <= told <= exact * 1.2


def test_the_ends_of_the_scale() -> None:
    histogram = Histogram()
    assert quantile(histogram.counts, 0.5) is None
    histogram.observe(0.0)
    histogram.observe(1e9)
    assert sum(histogram.counts) == 2
    assert quantile(histogram.counts, 1.0) == pytest.approx(67.1, rel=0.01)


def test_coarse_buckets_grow_and_hold_all() -> None:
    histogram = Histogram()
    for n in range(1, 50):
        histogram.observe(n * 0.01, times=n)
    bounds, below = zip(*histogram.coarse(), strict=True)
    assert list(bounds) == sorted(bounds)
    assert list(below) == sorted(below)
    assert (bounds[-1], below[-1]) == (math.inf, sum(range(50)))
    assert len(bounds) < 30


def test_between_two_looks() -> None:
    histogram = Histogram()
    histogram.observe(5.0, times=10)
    then = histogram.copy()
    histogram.observe(0.001)
    assert quantile(since(histogram.counts, then.counts), 0.99) == pytest.approx(0.001, rel=0.2)
