"""Drift is found where river's detectors find it when they are asked record by record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, drift

from stream_llsvm import Engine
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.drift import Drift, changes
from tests.engine.test_engine import model, rows, source

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


def flipped(n: int) -> list[dict[str, Any]]:
    """Return records whose labels mean something else from the middle on."""
    turned = [row | {"y": 2 - row["y"]} for row in rows(n, seed=1)]
    return rows(n) + turned


@pytest.mark.parametrize("stop", [1_500, 1_540])
def test_a_run_that_is_continued_sees_the_drift_where_one_that_was_not_would(
    tmp_path: Path, stop: int
) -> None:
    data = flipped(1_500)
    whole = Engine(source(data), model(), max_batch=20)
    whole.run()
    expected = [e["record"] for e in whole.progress.events if e["kind"] == "drift"]
    assert expected and expected[0] > stop
    found = []
    for most in (stop, None):
        kept = Checkpoints(tmp_path)
        engine = Engine(source(data), model(), checkpoints=kept, max_batch=20)
        engine.run(most)
        found += [e["record"] for e in engine.progress.events if e["kind"] == "drift"]
        kept.close()
    assert found == expected
    assert engine.progress.counts["drifts"] == len(expected)


def test_what_a_detector_is_shown_again_is_bounded() -> None:
    first = Drift(drift.ADWIN())
    list(first.update([0.0] * 70_000 + [1.0] * 10))
    kept = first.payload()
    assert kept["count"] == 65_536 and kept["errors"].nbytes == 8_192
    again = Drift(drift.ADWIN())
    again.restore(kept)
    assert again.payload()["errors"].tolist() == kept["errors"].tolist()
    detector: Any = again.detector
    assert 0 < detector.width <= 65_536


class Wobbling(base.DriftDetector):
    """A detector that sees a change at every 50th error, up and down in turn."""

    estimation = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._n = 0

    def update(self, x: float) -> None:
        """Take an error, or none."""
        self._n += 1
        self._drift_detected = self._n % 50 == 0
        if self._drift_detected:
            self.estimation = 0.5 + 0.1 * (self._n // 50 % 2)


def crashed(seed: int, crash: float) -> list[float]:
    """Return errors that are few, rise to this share, and are few again."""
    rng = np.random.default_rng(seed)
    shares = np.repeat([0.04, crash, 0.04], [3_000, 1_500, 3_000])
    errors: list[float] = (rng.random(len(shares)) < shares).astype(float).tolist()
    return errors


def watched(
    detector: base.DriftDetector, errors: list[float], batch: int
) -> list[tuple[int, bool]]:
    watch = Drift(detector)
    return [
        (first + n, worse)
        for first in range(0, len(errors), batch)
        for n, worse in watch.update(errors[first : first + batch])
    ]


@pytest.mark.parametrize("crash", [0.3, 0.9])
@pytest.mark.parametrize("batch", [50, 1_000])
def test_errors_have_fallen_only_when_they_are_few_again(crash: float, batch: int) -> None:
    for seed in range(3):
        errors = crashed(seed, crash)
        told = watched(drift.ADWIN(), errors, batch)
        assert any(worse for n, worse in told if 3_000 <= n < 3_300), "a rise is told"
        assert all(worse for n, worse in told if n < 4_500), "no fall before it, or amid the crash"
        assert [worse for n, worse in told if n >= 4_500].count(False) == 1, "its end is told once"


def test_wobbles_amid_a_crash_are_no_recovery() -> None:
    errors = crashed(0, 0.9)
    wobbles = [n for n, worse in changes(Wobbling(), errors) if not worse]
    assert any(3_200 <= n < 4_500 for n in wobbles), "the detector alone sees falls there"
    told = watched(Wobbling(), errors, 1_000)
    assert all(worse for n, worse in told if 3_200 <= n < 4_500)
    assert any(not worse for n, worse in told if n >= 4_500)
