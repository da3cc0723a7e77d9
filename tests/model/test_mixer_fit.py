"""The mixer's fit after history: at the minimum, and only experts that help count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm.model.mixer_fit import log_shares, logistic

Array = NDArray[np.float64]


def experts(n: int, classes: int, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """Return what four experts say of n records: much, less, nothing, and the contrary."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    truth = np.eye(classes)[codes]
    told = [strength * truth + rng.normal(size=(n, classes)) for strength in (2.0, 1.0, 0.0, -1.0)]
    z = np.array(told)
    return z - z.mean(axis=2, keepdims=True), codes


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_no_trust_can_be_changed_for_the_better(classes: int, weight: float) -> None:
    z, codes = experts(400, classes)
    weights, first = np.full(400, weight), np.full(4, 0.5)
    trust, slopes = logistic(z, codes, weights, first, 50.0)
    gradient = trust - first - slopes @ weights
    held = trust == 0
    assert held[3] and not held[:2].any(), "the contrary is not believed"
    np.testing.assert_allclose(gradient[~held], 0, atol=1e-2 * weight)
    assert (gradient[held] > 0).all()


def test_the_slopes_are_those_of_the_log_shares() -> None:
    z, codes = experts(50, 3)
    trust, slopes = logistic(z, codes, np.ones(50), np.ones(4), 50.0)
    each, h = np.arange(50), 1e-6
    for e in range(4):
        more, less = trust.copy(), trust.copy()
        more[e], less[e] = trust[e] + h, trust[e] - h
        told = (log_shares(more, z) - log_shares(less, z))[each, codes] / (2 * h)
        np.testing.assert_allclose(slopes[e], told, atol=1e-6)


def test_without_records_the_first_trust_stays() -> None:
    first = np.array([0.2, 0.7])
    trust, _ = logistic(np.zeros((2, 0, 3)), np.zeros(0, np.int64), np.zeros(0), first, 50.0)
    np.testing.assert_array_equal(trust, first)


def test_trust_has_a_bound() -> None:
    """An expert that is always right would be believed without end."""
    codes = np.arange(3_000) % 2
    z = 0.01 * np.where(np.eye(2)[codes] > 0, 1.0, -1.0)[None]
    trust, _ = logistic(z, codes, np.full(3_000, 1e3), np.ones(1), 4.0)
    assert trust.tolist() == [4.0]
