"""Whatever finite numbers come, the state stays finite and probabilities sum to one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_llsvm.kernels.scaling import ABSENT
from tests.oracle_compare import ALL, Kernels, stream

NUMBERS = st.one_of(
    st.floats(-3, 3),
    st.sampled_from(
        [0.0, -0.0, 1.0, 1e30, -1e30, 1e300, -1e300, 1.7e308, -1.7e308, 5e-324, 1e-310]
    ),
    st.sampled_from([np.nan, ABSENT]),
)


@settings(max_examples=200)
@given(
    rows=st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=12),
    copies=st.integers(1, 20),
    seed=st.integers(0, 99),
    standardize=st.booleans(),
    classes=st.integers(1, 4),
    name=st.sampled_from(sorted(ALL)),
    w=st.sampled_from([1.0, 1e-6, 1e6]),
)
# A record on top of an anchor, and a step of the papers a million times too long.
@example(
    rows=[[0.0, 0.0, 1.75 * (i == 2)] for i in range(6)],
    copies=2,
    seed=0,
    standardize=False,
    classes=3,
    name="paper lcc",
    w=1e6,
)
def test_no_record_can_poison_the_state(
    rows: list[list[float]],
    copies: int,
    seed: int,
    standardize: bool,
    classes: int,
    name: str,
    w: float,
) -> None:
    x = np.array(rows * copies)
    labels = np.random.default_rng(seed).integers(0, classes, size=len(x))
    kernels = Kernels(ALL[name], 3, classes, standardize=standardize)
    proba, _ = kernels.rows(x, labels, np.full(len(x), w))
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert kernels.memory.sound()


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_a_long_stream_with_outrageous_records_stays_sound(name: str, standardize: bool) -> None:
    x, labels = stream(8, 3_000, 3, 3, missing=0.02)
    rng = np.random.default_rng(0)
    wild = rng.random(x.shape) < 0.01
    x[wild] = rng.choice([1e30, -1e30, 1e300, -1e300, 1e-320], size=wild.sum())
    x[rng.random(len(x)) < 0.01] = ABSENT
    kernels = Kernels(ALL[name], 3, 3, standardize=standardize)
    proba, _ = kernels.rows(x, labels, rng.choice([1.0, 1.0, 1e6, 1e-6], size=len(x)))
    assert np.isfinite(proba).all()
    assert kernels.memory.sound()
