"""Histograms of seconds say what numpy's quantiles say, nearly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.dashboard.latency import Histogram, quantile, since


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
