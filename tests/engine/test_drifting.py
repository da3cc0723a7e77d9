"""Drift is found where river's detectors find it when they are asked record by record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import base, drift

from stream_llsvm.engine.drifting import changes

BATCH = 1_000


def asked_one_by_one(detector: Any, errors: list[float]) -> list[tuple[int, bool]]:
    found = []
    before: Any = None
    for first in range(0, len(errors), BATCH):
        for n, error in enumerate(errors[first : first + BATCH]):
            if n % 8 == 0:
                before = detector.estimation if isinstance(detector, drift.ADWIN) else None
            detector.update(error)
            if detector.drift_detected:
                after: Any = detector.estimation if isinstance(detector, drift.ADWIN) else None
                found.append((first + n, before is None or after > before))
                before = after
    return found


@pytest.mark.parametrize("kind", [drift.ADWIN, drift.PageHinkley, drift.KSWIN])
def test_changes_are_where_the_detector_sees_them(kind: type[base.DriftDetector]) -> None:
    total = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        errors = (rng.random(6 * BATCH) < np.repeat(rng.random(6), BATCH)).astype(float).tolist()
        options = {"seed": 1} if kind is drift.KSWIN else {}
        one, other = kind(**options), kind(**options)
        expected = asked_one_by_one(one, errors)
        found = [
            (first + n, worse)
            for first in range(0, len(errors), BATCH)
            for n, worse in changes(other, errors[first : first + BATCH])
        ]
        assert found == expected
        assert one.drift_detected == other.drift_detected
        if isinstance(one, drift.ADWIN) and isinstance(other, drift.ADWIN):
            assert (one.width, one.total, one.variance) == (
                other.width,
                other.total,
                other.variance,
            )
        total += len(found)
    assert total > 5
