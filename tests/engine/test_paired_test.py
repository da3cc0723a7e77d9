"""The test of which of two models errs less: its promises, whatever is looked at and when."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stream_llsvm.engine.paired_test import ALPHA, PairedTest
from stream_llsvm.model.file import ModelFileError, dumps


def errors(rng: np.random.Generator, n: int, rate: float) -> np.ndarray:
    return (rng.random(n) < rate).astype(float)


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10**6), st.sampled_from([0.02, 0.2, 0.5]))
def test_equal_models_are_seldom_told_apart_however_often_one_looks(seed: int, rate: float) -> None:
    rng, streams, alarms = np.random.default_rng(seed), 150, 0
    for _ in range(streams):
        test = PairedTest()
        for _ in range(100):
            test.update(errors(rng, 20, rate) - errors(rng, 20, rate))
            if test.verdict != "undecided":
                alarms += 1
                break
    # More than so many would come once in a million if 5 % of all streams alarmed.
    assert alarms <= stats.binom.isf(1e-6, streams, ALPHA)


def test_the_interval_holds_the_mean_of_what_was_expected_while_it_drifts() -> None:
    rng, missed, streams = np.random.default_rng(7), 0, 200
    for _ in range(streams):
        test, expected = PairedTest(), 0.0
        for i in range(60):
            gap = 0.2 * math.sin(i / 9)
            test.update(errors(rng, 25, 0.4 + gap) - errors(rng, 25, 0.4))
            expected += 25 * gap
            low, high = test.interval
            if not low <= expected / test.n <= high:
                missed += 1
                break
    assert missed <= stats.binom.isf(1e-6, streams, ALPHA)


@pytest.mark.parametrize(("gap", "within"), [(0.2, 600), (0.05, 4_000), (-0.05, 4_000)])
def test_a_difference_is_found(gap: float, within: int) -> None:
    rng, test = np.random.default_rng(3), PairedTest()
    test.update(errors(rng, within, 0.2 + gap) - errors(rng, within, 0.2))
    assert test.verdict == ("worse" if gap > 0 else "better")
    low, high = test.interval
    assert low <= gap <= high and (low > 0 or high < 0)


@given(
    st.lists(st.floats(-1, 1), max_size=80),
    st.lists(st.integers(0, 80), max_size=5).map(sorted),
)
def test_blocks_do_not_matter(differences: list[float], cuts: list[int]) -> None:
    whole, parts = PairedTest(), PairedTest()
    whole.update(np.array(differences))
    for part in np.split(np.array(differences), [cut for cut in cuts if cut <= len(differences)]):
        parts.update(part)
    assert dumps(whole.payload()) == dumps(parts.payload())
    again = PairedTest.restored(whole.payload())
    assert (again.interval, again.verdict) == (whole.interval, whole.verdict)


def test_the_verdict_is_what_the_interval_says() -> None:
    rng = np.random.default_rng(11)
    for rate in (0.1, 0.12, 0.15, 0.2):
        test = PairedTest()
        for _ in range(40):
            test.update(errors(rng, 50, rate) - errors(rng, 50, 0.1))
            low, high = test.interval
            assert test.verdict == ("better" if high < 0 else "worse" if low > 0 else "undecided")


@pytest.mark.parametrize(
    "change", [{"n": -1}, {"sum": 1e9}, {"squares": -1.0}, {"squares": 1e9}, {"sum": math.nan}]
)
def test_what_does_not_fit_is_refused(change: dict[str, object]) -> None:
    test = PairedTest()
    test.update(np.array([1.0, 0.0]))
    with pytest.raises(ModelFileError):
        PairedTest.restored(test.payload() | change)
