"""Calibration: probabilities stay probabilities, and are brought to how often they are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels import calibration
from stream_llsvm.kernels.calibration import BINS, COUNT, ORDERED, PRIOR, RIGHT, WIDEST
from tests.kernels.alone import alone
from tests.oracle_calibration import Calibration
from tests.oracle_parts import Array

_calibrate = alone(calibration.calibrate)
put_in_order = alone(calibration.put_in_order)


def calibrate(table: Array, proba: Array, best: int, label: int, importance: float) -> None:
    _calibrate(table, np.zeros(BINS), proba, best, label, importance)


def _table(classes: int, right: float | None = None) -> Array:
    """Return a table that changes nothing, or one that says the same of all odds."""
    own = 1 / (1 + (classes - 1) * np.exp(-np.linspace(0, WIDEST, BINS)))
    return np.array([own if right is None else np.full(BINS, right), np.full(BINS, PRIOR)])


def _sure(others: float) -> Array:
    """Return three classes, of which the last two share so much."""
    return np.array([1 - others, 0.7 * others, 0.3 * others])


@given(right=st.floats(0, 0.999), others=st.floats(1e-8, 0.58))
def test_they_sum_to_one_and_the_likeliest_stays_so(right: float, others: float) -> None:
    before = _sure(others)
    after = before.copy()
    calibrate(_table(3, right), after, 0, -1, 1.0)
    assert after.sum() == pytest.approx(1, abs=1e-6)
    assert after[0] >= after.max() - 1e-12
    assert after[1] / after[2] == pytest.approx(before[1] / before[2])


@pytest.mark.parametrize("right", [None, 0.0, 0.9])
@pytest.mark.parametrize("others", [1e-10, 1e-20, 1e-260])
def test_they_sum_to_one_however_sure_the_mixer_is(others: float, right: float | None) -> None:
    """Logits a hundred apart leave the other classes less than a float sees beside 1."""
    proba = _sure(others)
    calibrate(_table(3, right), proba, 0, -1, 1.0)
    assert proba.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("others", [1e-10, 1e-20, 1e-260])
def test_the_likeliest_stays_so_however_sure_the_mixer_was(others: float) -> None:
    """Even if it was never right."""
    proba = _sure(others)
    calibrate(_table(3, 0.0), proba, 0, -1, 1.0)
    assert proba[0] == proba.max()


def test_no_class_becomes_impossible() -> None:
    """One record of great weight is no proof that the others never come: log loss is infinite."""
    table, odds = _table(3), np.array([0.5, 0.3, 0.2])
    calibrate(table, odds.copy(), 0, 0, 1e6)
    calibrate(table, odds, 0, -1, 1.0)
    assert odds.min() > 0


def test_on_its_knots_a_new_table_changes_nearly_nothing() -> None:
    for odds in np.linspace(0, WIDEST, BINS):
        top = 1 / (1 + 2 * np.exp(-odds))
        before = np.array([top, 0.5 * (1 - top), 0.5 * (1 - top)])
        after = before.copy()
        calibrate(_table(3), after, 0, -1, 1.0)
        np.testing.assert_allclose(after, before, rtol=0, atol=ORDERED)


def test_only_a_label_teaches_and_only_the_knots_around() -> None:
    table = _table(2)
    calibrate(table, np.array([0.8, 0.2]), 0, -1, 1.0)
    assert np.array_equal(table, _table(2))
    told = np.array([0.8, 0.2])
    calibrate(table, told, 0, 1, 2.0)
    assert told[0] == pytest.approx(0.8, abs=0.01), "the answer is from before the label"
    changed = np.flatnonzero(table[COUNT] != PRIOR)
    knot = int(np.log(4) / WIDEST * (BINS - 1))
    assert changed.tolist() == [knot, knot + 1]
    assert table[COUNT].sum() == pytest.approx(BINS * PRIOR + 2)
    assert (table[RIGHT, changed] < _table(2)[RIGHT, changed]).all()


def test_who_is_right_less_often_than_he_says_is_brought_to_it() -> None:
    rng = np.random.default_rng(0)
    table = _table(2)
    for _ in range(20_000):
        calibrate(table, np.array([0.95, 0.05]), 0, int(rng.random() > 0.7), 1.0)
    told = np.array([0.95, 0.05])
    calibrate(table, told, 0, -1, 1.0)
    assert told[0] == pytest.approx(0.7, abs=0.05)


def _told(table: Array, odds: float, classes: int) -> Array:
    """Return what becomes of probabilities with such log odds of the likeliest class."""
    rest = (classes - 1) * np.exp(-odds) / (1 + (classes - 1) * np.exp(-odds))
    proba = np.full(classes, rest / (classes - 1))
    proba[0] = 1 / (1 + (classes - 1) * np.exp(-odds))
    calibrate(table, proba, 0, -1, 1.0)
    return proba


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("hits", [0.7, 1.0])
def test_who_is_surer_is_never_told_the_same(classes: int, hits: float) -> None:
    """Ranked answers must not tie, however often such answers were right, or wrong."""
    rng = np.random.default_rng(0)
    table = _table(classes)
    for odds in rng.exponential(5, size=20_000):
        proba = np.full(classes, np.exp(-odds))
        proba[0] = 1
        calibrate(table, proba / proba.sum(), 0, int(rng.random() > hits), 1.0)
    told = np.array([_told(table, odds, classes) for odds in np.linspace(0.01, 60, 20_000)])
    assert (np.diff(told[:, 0]) > 0).all()
    assert (np.diff(told[:, 1]) < 0).all(), "the others fall as the likeliest rises"
    assert told[-1, 0] < 1


@given(
    right=st.lists(st.floats(0, 1), min_size=BINS, max_size=BINS),
    count=st.lists(st.floats(1, 2_000), min_size=BINS, max_size=BINS),
)
def test_knots_that_fall_are_pooled_as_isotonic_regression_does(
    right: list[float], count: list[float]
) -> None:
    oracle, rising = Calibration(2), np.zeros(BINS)
    oracle.right, oracle.count = np.array(right), np.array(count)
    put_in_order(np.array([right, count]), rising)
    np.testing.assert_allclose(rising, oracle.rising(), atol=1e-12)
    assert (np.diff(rising) >= 0).all()


def test_a_table_that_rises_stays_as_it_is() -> None:
    rising = np.zeros(BINS)
    put_in_order(_table(2), rising)
    assert np.array_equal(rising, _table(2)[RIGHT])


def test_one_class_needs_none() -> None:
    table, proba = _table(1), np.ones(1)
    calibrate(table, proba, 0, 0, 1.0)
    assert proba[0] == 1 and np.array_equal(table, _table(1))
