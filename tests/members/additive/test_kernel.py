"""Additive: shares of the two knots around a value, and curves that bend where knots are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.members.additive import kernel
from tests.kernels.alone import alone
from tests.oracle_additive import hats
from tests.oracle_compare import NOTHING, Kernels, additive, stream
from tests.oracle_parts import Array

kernels_hats = alone(kernel.hats)


def _shares(x: list[float], knots: int) -> Array:
    """Return (features, knots): each knot's share, from the kernel's cells."""
    values = np.array(x, dtype=np.float32)
    cells, shares = np.zeros(2 * len(x), dtype=np.int64), np.zeros(2 * len(x), dtype=np.float32)
    n = kernels_hats(values, NOTHING, knots, cells, shares)
    features = np.flatnonzero(values)
    assert n == 2 * len(features), "two knots of each value that is not 0"
    assert (cells[:n] // knots == np.repeat(features, 2)).all(), "a feature's own knots only"
    found = np.zeros((len(x), knots))
    np.add.at(found, (cells[:n] // knots, cells[:n] % knots), shares[:n])
    return found


@given(
    x=st.lists(st.floats(-(2.0**20), 2.0**20, width=32), min_size=1, max_size=5),
    knots=st.integers(2, 40),
)
def test_shares_are_hat_functions_that_sum_to_one(x: list[float], knots: int) -> None:
    found = _shares(x, knots)
    told = np.array(x) != 0
    np.testing.assert_allclose(found[told].sum(axis=1), 1, rtol=1e-6)
    assert (found >= 0).all()
    expected = np.array([hats(v, knots) for v in x])
    np.testing.assert_allclose(found[told], expected[told], atol=1e-5 * knots)
    assert (found[~told] == 0).all()


def test_a_value_on_a_knot_is_that_knots_alone() -> None:
    knots = 8  # none of them lies at 0
    places = np.linspace(-Z_MOST, Z_MOST, knots)
    np.testing.assert_allclose(_shares(places.tolist(), knots), np.eye(knots), atol=1e-6)


def test_beyond_the_last_knots_a_curve_is_flat() -> None:
    assert np.array_equal(_shares([1e6, -1e6], 5), _shares([Z_MOST, -Z_MOST], 5))


def test_a_score_is_the_sum_of_the_features_curves() -> None:
    """What one feature adds does not depend on the others."""
    kernels = Kernels(additive(), 3, 2, standardize=False)
    x, labels = stream(0, 300, 3, 2)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    kernels.rows(x, labels)

    def scores(*record: float) -> Array:
        kernels.predict(np.array(record))
        return kernels.scores

    rise = scores(1.3, 0.2, -0.4) - scores(-0.6, 0.2, -0.4)
    np.testing.assert_allclose(scores(1.3, -1.0, 1.1) - scores(-0.6, -1.0, 1.1), rise, atol=1e-4)


def test_between_knots_a_curve_is_straight_and_at_knots_it_bends() -> None:
    knots = 5
    kernels = Kernels(additive(n_knots=knots), 1, 2, standardize=False)
    x = np.random.default_rng(0).uniform(-2, 2, size=(2_000, 1))
    kernels.rows(x, (np.abs(x[:, 0]) < 0.9).astype(np.int64))
    curve = []
    for v in np.linspace(-Z_MOST, Z_MOST, 4 * (knots - 1) + 1):
        kernels.predict(np.array([v]))
        curve.append(kernels.scores[:, 0])
    bends = np.abs(np.diff(np.array(curve), 2, axis=0)).max(axis=1)
    at_knots = np.arange(len(bends)) % 4 == 3
    assert bends[~at_knots].max() < 1e-4
    assert bends[at_knots].min() > 1e-3


@pytest.mark.parametrize("knots", [5, 33])
def test_it_learns_curves_that_no_line_follows(knots: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(4_000, 2))
    labels = (np.cos(2 * x[:, 0]) + np.abs(x[:, 1]) > 1).astype(np.int64)
    _, likeliest = Kernels(additive(n_knots=knots), 2, 2).rows(x, labels)
    assert (likeliest == labels)[-1_000:].mean() > 0.9


def test_a_missing_value_says_nothing() -> None:
    """Which is not what a value in the middle of the curve says."""
    kernels = Kernels(additive(), 2, 2, standardize=False)
    x, labels = stream(0, 200, 2, 2)
    kernels.rows(x, labels)
    kernels.predict(np.array([0.7, 0.0]))
    middle = kernels.scores
    kernels.predict(np.array([0.7, 1e-6]))
    np.testing.assert_allclose(kernels.scores, middle, atol=1e-4)
    kernels.predict(np.array([0.7, np.nan]))
    assert np.abs(kernels.scores - middle).max() > 0.01
    kernels.predict(np.array([np.nan, np.nan]))
    assert np.array_equal(kernels.scores, kernels.own["bias"].reshape(kernels.scores.shape))


def test_what_says_nothing_is_learned_nothing_of() -> None:
    """No cell of it is touched, and the others step as if it were not there."""
    alone, among = Kernels(additive(), 1, 2), Kernels(additive(), 4, 2)
    x, labels = stream(0, 200, 1, 2)
    silent = np.broadcast_to([7.0, np.nan, 0.0], (len(x), 3))
    alone.rows(x, labels)
    among.rows(np.hstack([x, silent]), labels)
    for name in ("mass", "weights"):
        assert np.array_equal(among.own[name][:1], alone.own[name])
        assert (among.own[name][1:] == 0).all()
    assert np.array_equal(among.own["bias"], alone.own["bias"])
