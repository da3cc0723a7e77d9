"""Single steps of the anchors member: what an anchor sees, and where it goes."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels.members import anchor_steps
from stream_llsvm.kernels.members.anchor_state import NORM, ZOOM
from tests.kernels.alone import alone

shift = alone(anchor_steps.shift)
NOWHERE = np.zeros(0, dtype=np.int64)


def test_an_anchor_that_records_beside_it_drive_away_knows_where_it_is() -> None:
    """Each such move multiplies what was wrong with position and norm by 1.1 and by 1.21."""
    rng = np.random.default_rng(0)
    exact = np.array([1.0, -0.5, 0.3])
    position, facts = exact.astype(np.float32), np.zeros((4, 1), dtype=np.float32)
    facts[ZOOM], facts[NORM] = 1, exact @ exact
    for _ in range(2_000):
        here = facts[ZOOM, 0] * position
        x = (here + 0.1 * rng.normal(size=3) + 0.1 * (here - exact)).astype(np.float32)
        shift(position, facts, 0, -0.1, x, NOWHERE, float(here @ x), float(x @ x))
    there = (facts[ZOOM, 0] * position).astype(np.float64)
    assert 0 < np.abs(there).max() < 10
    assert facts[NORM, 0] == pytest.approx(there @ there, rel=1e-4)
