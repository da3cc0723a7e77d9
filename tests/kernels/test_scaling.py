"""Scaling: mean and variance as they should be, and nothing that one record can break."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels import scaling
from stream_llsvm.kernels.scaling import (
    ABSENT,
    ABSENT_BEFORE,
    BORN,
    CENTRE,
    COUNT,
    INVERSE,
    MANY,
    MEAN,
    NAMED,
    STATISTICS,
    THINNING,
    VARIANCE,
    YOUNG,
    Z_MOST,
    Z_STRAIGHT,
    observe_rows,
    scale_rows,
)
from tests.kernels.alone import alone
from tests.oracle_parts import Array, Scale

observe = alone(scaling.observe)
scaled = alone(scaling.scaled)
scale_row = alone(scaling.scale_row)
scale_settled = alone(scaling.scale_settled)
put_side_by_side = alone(scaling.put_side_by_side)
list_young = alone(scaling.list_young)
scale_young = alone(scaling.scale_young)
observe_young = alone(scaling.observe_young)
observe_row = alone(scaling.observe_row)

NOTHING = np.zeros(0, dtype=np.int64)


def _observe(feature: Array, v: float, seen: int) -> None:
    due = seen % THINNING == 0
    observe(feature[None], 0, v, seen, due, due)


def _scaled(feature: Array, v: float, standardize: bool) -> float:
    return float(scaled(feature[None], 0, v, standardize))


def _learned(values: Array, seen: int = 0) -> Array:
    feature = np.zeros(STATISTICS)
    for i, v in enumerate(values):
        _observe(feature, v, seen + i + 1)
    return feature


def test_mean_and_variance_are_numpys() -> None:
    values = np.random.default_rng(0).normal(5, 3, size=800)
    feature = _learned(values)
    assert feature[COUNT] == feature[NAMED] == 800
    assert feature[MEAN] == pytest.approx(values.mean())
    assert feature[VARIANCE] == pytest.approx(values.var())
    assert feature[CENTRE] == feature[MEAN]
    assert feature[INVERSE] == pytest.approx(1 / values.std())


@given(
    values=st.lists(
        st.one_of(
            st.floats(-5, 5),
            st.sampled_from([np.nan, ABSENT, 1e30, -1e300, 1.7e308, 5e-324]),
        ),
        min_size=1,
        max_size=40,
    ),
    standardize=st.booleans(),
)
def test_every_value_is_scaled_as_the_oracle_does_and_stays_in_bounds(
    values: list[float], standardize: bool
) -> None:
    feature, oracle = np.zeros(STATISTICS), Scale()
    for i, v in enumerate(values):
        z = _scaled(feature, v, standardize)
        assert abs(z) <= (Z_MOST if standardize else 1e6)
        if abs(v) < 1e100:
            assert z == pytest.approx(oracle.scaled(v, standardize), rel=1e-6, abs=1e-6)
        _observe(feature, v, i + 1)
        with np.errstate(over="ignore"):
            oracle.observe(v, i + 1)
        assert np.isfinite(feature).all()
        rounding = 1e-9 * np.sqrt(oracle.variance) + 1e-300  # denormals
        np.testing.assert_allclose(feature, list(vars(oracle).values()), 1e-9, rounding)


def test_an_old_feature_is_scaled_by_what_it_has_learned() -> None:
    values = np.random.default_rng(1).normal(-2, 0.5, size=YOUNG)
    feature = _learned(values)
    expected = (-1.7 - values.mean()) / values.std()
    assert _scaled(feature, -1.7, True) == pytest.approx(expected)
    assert Z_STRAIGHT < _scaled(feature, 50.0, True) < Z_MOST
    assert _scaled(feature, np.nan, True) == _scaled(feature, ABSENT, True) == 0


def test_the_first_value_ever_is_the_mean() -> None:
    assert _scaled(np.zeros(STATISTICS), 123.0, True) == 0


def test_among_many_features_a_name_that_comes_late_says_something_at_once() -> None:
    """It was absent before, so that it is sparse from birth on; among few it is a new sensor."""
    for among, first in ((MANY - 1, 0.0), (MANY, 1.0)):
        statistics, oracle = np.zeros((among, STATISTICS)), Scale(born=3.0)
        statistics[5, BORN] = 3
        for i, v in enumerate((4.0, 4.0, 4.0)):
            z = float(scaled(statistics, 5, v, True))
            assert z == pytest.approx(first) == oracle.scaled(v, True, among)
            observe(statistics, 5, v, 4 + i, False, False)
            oracle.observe(v, 4 + i, among)
            np.testing.assert_allclose(statistics[5], list(vars(oracle).values()))
        assert oracle.centre == (0.0 if first else 4.0)


def test_among_many_features_a_sensor_that_comes_late_is_dense_before_long() -> None:
    statistics = np.zeros((MANY, STATISTICS))
    statistics[5, BORN] = 10_000
    values = np.random.default_rng(0).normal(300, 1, size=2 * ABSENT_BEFORE)
    for i, v in enumerate(values):
        observe(statistics, 5, v, 10_001 + i, False, False)
    assert statistics[5, CENTRE] == pytest.approx(values.mean())


def test_one_outrageous_value_widens_the_scale_by_a_factor() -> None:
    values = np.random.default_rng(2).normal(size=500)
    calm = _learned(values)
    shaken = calm.copy()
    _observe(shaken, 1e30, 501)
    assert shaken[VARIANCE] < 1.2 * calm[VARIANCE]
    assert abs(shaken[MEAN]) < 0.1


def test_a_constant_says_nothing() -> None:
    for constant in (0.0, 0.1, 1e30, -1e-300):
        feature = _learned(np.full(50, constant))
        assert feature[INVERSE] == 0
        assert _scaled(feature, constant, True) == 0


def test_a_rarely_named_feature_is_sparse_until_it_is_common() -> None:
    """A word of a text: centre 0, so that what is not named costs nothing and says nothing."""
    feature = np.zeros(STATISTICS)
    for i in range(100):
        _observe(feature, 2.0 if i % 5 == 0 else ABSENT, i + 1)
    assert feature[CENTRE] == 0
    assert feature[INVERSE] == pytest.approx(1 / 2)
    assert _scaled(feature, 2.0, True) == pytest.approx(1)
    for i in range(100, 300):
        _observe(feature, float(i % 2), i + 1)
    assert feature[CENTRE] == feature[MEAN] > 0


def test_among_many_features_a_0_is_as_if_the_feature_were_not_named() -> None:
    """A pixel: most are 0 in most pictures, and what is 0 can be passed over."""
    for width, centred in ((MANY - 1, True), (MANY, False)):
        statistics = np.zeros((width, STATISTICS))
        for i in range(100):
            observe(statistics, 3, 2.0 if i % 5 == 0 else 0.0, i + 1, False, False)
        assert (statistics[3, CENTRE] > 0) == centred
        assert (scaled(statistics, 3, 0.0, True) != 0) == centred
        assert (scaled(statistics, 3, 0.0, False) != 0) == centred
        assert scaled(statistics, 3, 2.0, True) > 1


def test_a_settled_row_is_scaled_as_its_features_are() -> None:
    rng = np.random.default_rng(3)
    for width in (5, MANY):
        rows = rng.normal(2, 3, size=(YOUNG, width)) * (rng.random((YOUNG, width)) < 0.8)
        rows[:, 1] = 4.0
        statistics = np.zeros((width, STATISTICS))
        for standardize in (True, False):
            observe_rows(statistics, 0, YOUNG, rows.reshape(-1), NOTHING, NOTHING)
            scales = np.zeros((2, width))
            assert put_side_by_side(statistics, scales)
            x = np.concatenate([rows[0][: width - 2], [np.nan, 1e300]])
            out, expected = np.zeros((2, width), dtype=np.float32)
            scale_settled(scales, standardize, x, out)
            scale_row(statistics, standardize, x, NOTHING, expected)
            assert np.array_equal(out, expected)
            assert (out[: width - 2] != 0).any()
        statistics[2, COUNT] = YOUNG - 1
        assert not put_side_by_side(statistics, scales)


@pytest.mark.parametrize("standardize", [True, False])
def test_young_features_of_a_row_are_scaled_and_observed_by_themselves(standardize: bool) -> None:
    """As a whole row is, and those that have grown up leave the list."""
    rng = np.random.default_rng(4)
    rows = rng.normal(2, 3, size=(YOUNG, MANY))
    statistics, scales = np.zeros((MANY, STATISTICS)), np.zeros((2, MANY))
    observe_rows(statistics, 0, YOUNG, rows.reshape(-1), NOTHING, NOTHING)
    statistics[[2, 7, MANY - 1], COUNT] = 5, YOUNG - 2, 900
    expected, young = statistics.copy(), np.zeros(MANY, dtype=np.int64)
    assert not put_side_by_side(statistics, scales)
    n = list_young(statistics, young)
    assert young[:n].tolist() == [2, 7, MANY - 1]
    for q, x in enumerate(rows[:3]):
        out, scaled_one_by_one = np.zeros((2, MANY), dtype=np.float32)
        scale_settled(scales, standardize, x, out)
        scale_young(statistics, standardize, x, young[:n], out)
        scale_row(expected, standardize, x, NOTHING, scaled_one_by_one)
        assert np.array_equal(out, scaled_one_by_one)
        n = observe_young(statistics, YOUNG + q + 1, x, young[:n], scales)
        observe_row(expected, YOUNG + q + 1, x, NOTHING)
        assert np.array_equal(statistics, expected)
        assert young[:n].tolist() == ([2, 7, MANY - 1] if q == 0 else [2, MANY - 1])


def test_a_flag_that_is_1_whenever_it_is_named_is_sparse() -> None:
    """To be named is all that it says; centred on its mean it would say nothing."""
    flag = np.zeros(STATISTICS)
    for i in range(40):
        _observe(flag, ABSENT if i % 4 == 0 else 1.0, i + 1)
    assert flag[CENTRE] == 0
    assert _scaled(flag, 1.0, True) == 1
    always = _learned(np.ones(40))
    assert _scaled(always, 1.0, True) == 0


def test_a_late_feature_is_judged_from_its_birth_on() -> None:
    feature = np.zeros(STATISTICS)
    feature[BORN] = 1_000
    for i in range(50):
        _observe(feature, float(i), 1_001 + i)
    assert feature[CENTRE] == feature[MEAN] == pytest.approx(24.5)


def test_a_named_but_missing_value_counts_as_named_only() -> None:
    feature = np.zeros(STATISTICS)
    _observe(feature, np.nan, 1)
    assert feature[NAMED] == 1
    assert feature[COUNT] == 0


def test_unscaled_values_are_only_kept_from_overflowing() -> None:
    feature = _learned(np.arange(10.0))
    assert _scaled(feature, 123.5, False) == 123.5
    assert _scaled(feature, 1e300, False) == 1e6


def test_rows_dense_and_sparse_are_learned_and_scaled_alike() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 6)) * 3 + 1
    x[rng.random(x.shape) < 0.4] = ABSENT
    named = x != ABSENT
    columns = np.ascontiguousarray(np.nonzero(named)[1])
    starts = np.concatenate([[0], np.cumsum(named.sum(axis=1))])
    dense, sparse, one_by_one = np.zeros((3, 6, STATISTICS))
    observe_rows(dense, 0.0, 60, x.reshape(-1), NOTHING, NOTHING)
    observe_rows(sparse, 0.0, 60, x[named], columns, starts)
    for i, row in enumerate(x):
        for feature, v in zip(one_by_one, row, strict=True):
            _observe(feature, v, i + 1)
    assert np.array_equal(dense, sparse)
    assert np.array_equal(dense, one_by_one)
    z = np.zeros((2, 60, 6), dtype=np.float32)
    scale_rows(dense, True, x.reshape(-1), NOTHING, NOTHING, z[0])
    scale_rows(dense, True, x[named], columns, starts, z[1])
    assert np.array_equal(z[0], z[1])
    expected = [[_scaled(f, v, True) for f, v in zip(dense, row, strict=True)] for row in x]
    np.testing.assert_allclose(z[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("width", "one_in"), [(MANY - 1, 8), (MANY, 32)])
def test_settled_features_look_at_few_records(width: int, one_in: int) -> None:
    rows = np.random.default_rng(4).normal(2, 3, size=(YOUNG + 640, width))
    statistics = np.zeros((width, STATISTICS))
    observe_rows(statistics, 0, len(rows), rows.reshape(-1), NOTHING, NOTHING)
    assert (statistics[:, COUNT] == YOUNG + 640 / one_in).all()
    assert (statistics[:, NAMED] == len(rows)).all()


def test_a_settled_feature_looks_at_one_record_in_eight() -> None:
    values = np.random.default_rng(4).normal(2, 3, size=20_000)
    feature = _learned(values)
    assert feature[NAMED] == len(values)
    assert feature[COUNT] == YOUNG + (len(values) - YOUNG) / THINNING
    assert feature[MEAN] == pytest.approx(values.mean(), abs=0.15)
    assert feature[VARIANCE] == pytest.approx(values.var(), rel=0.05)


def test_what_lies_far_out_keeps_its_order_and_has_no_kink() -> None:
    feature = _learned(np.random.default_rng(3).normal(size=YOUNG))
    values = np.linspace(-10, 10, 2_001)
    z = np.array([_scaled(feature, v, True) for v in values])
    steps = np.diff(z)
    assert (steps > 0).all()
    assert np.abs(np.diff(steps)).max() < 0.05 * steps.max()
    straight = np.abs(z) < Z_STRAIGHT
    assert z[straight] == pytest.approx((values[straight] - feature[MEAN]) * feature[INVERSE])


# ---- levels that move: see kernels/levels.py


def _went_on(feature: Array, values: Array) -> Array:
    for i, v in enumerate(values):
        _observe(feature, v, 4_000 + i + 1)
    return feature


def _calm() -> Array:
    return _learned(np.random.default_rng(5).normal(5, 1, size=4_000))


@pytest.mark.parametrize(
    ("factor", "shift"), [(1, 10), (1, -30), (1, 1e9), (1_000, 0), (-1_000, 0), (0.001, 0)]
)
def test_a_level_that_leaves_the_range_is_followed(factor: float, shift: float) -> None:
    feature = _calm()
    moved = factor * np.random.default_rng(6).normal(5, 1, size=1_000) + shift
    _went_on(feature, moved)
    assert feature[MEAN] == pytest.approx(moved.mean(), abs=0.2 * moved.std())
    assert np.sqrt(feature[VARIANCE]) == pytest.approx(moved.std(), rel=0.2)


@pytest.mark.parametrize("one_in", [5, 20])
def test_a_level_is_followed_though_some_values_are_elsewhere(one_in: int) -> None:
    rng = np.random.default_rng(7)
    moved = rng.normal(105, 1, size=2_000)
    moved[rng.random(2_000) < 1 / one_in] = 5.0
    assert _went_on(_calm(), moved)[MEAN] > 70


@pytest.mark.parametrize("outlier", [1e30, -1e300, 100.0])
def test_a_few_outliers_are_not_followed(outlier: float) -> None:
    """One in a hundred, and ten records in a row that a settled feature looks at."""
    feature = _calm()
    values = np.random.default_rng(8).normal(5, 1, size=4_000)
    values[::100] = outlier
    values[2_000:2_080] = outlier + np.arange(80)
    _went_on(feature, values)
    assert feature[MEAN] == pytest.approx(5, abs=0.5)
    assert feature[VARIANCE] < 10
    assert feature[COUNT] > YOUNG


def test_flags_and_constants_are_not_followed() -> None:
    """A 1 for a thousand records, after as many zeros, is information and no other level."""
    for values in (np.repeat([0.0, 1.0, 0.0], 3_000), np.repeat([7.0, 7.0, 9.0], 3_000)):
        feature = _learned(values)
        assert feature[COUNT] == YOUNG + (len(values) - YOUNG) / THINNING


def test_a_scale_spoiled_at_its_start_is_let_go_of() -> None:
    values = np.random.default_rng(9).normal(size=2_000)
    values[3] = 1e30
    feature = _learned(values)
    assert abs(feature[MEAN]) < 0.3
    assert feature[VARIANCE] == pytest.approx(1, rel=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_levels_are_followed_as_the_oracle_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = [(0.0, 1.0), (100.0, 1.0), (0.0, 2.0), (5e3, 1e3), (5.0, 1.0), (900.0, 0.02)]
    values = np.concatenate([rng.normal(mean, spread, size=2_000) for mean, spread in levels])
    odd = rng.choice([np.nan, ABSENT, 1e30, 0.0], size=len(values))
    values = np.where(rng.random(len(values)) < 0.02, odd, values)
    feature, oracle, restarts = np.zeros(STATISTICS), Scale(), 0
    for i, v in enumerate(values.tolist()):
        before = feature[COUNT]
        _observe(feature, v, i + 1)
        oracle.observe(v, i + 1)
        restarts += int(feature[COUNT] < before)
        rounding = 1e-9 * np.sqrt(oracle.variance) + 1e-300
        np.testing.assert_allclose(feature, list(vars(oracle).values()), 1e-9, rounding)
    assert restarts >= 3


def test_what_swings_slowly_is_not_followed() -> None:
    """A day has nights, and their level is no new one."""
    rng = np.random.default_rng(10)
    values = np.sin(np.arange(60_000) / 3_000) + 0.1 * rng.normal(size=60_000)
    assert _learned(values)[COUNT] == YOUNG + (len(values) - YOUNG) / THINNING
