"""Waves: least squares over cosines, exactly, and only where it surprises."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.members.waves import kernel
from stream_llsvm.members.waves.member import Waves
from tests.kernels.alone import alone
from tests.oracle_compare import Kernels, stream
from tests.oracle_parts import Array

wave = alone(kernel.wave)


def _learned(n: int, width: int, classes: int, waves: int = 16) -> tuple[Kernels, Array]:
    kernels = Kernels(Waves(n_waves=waves), width, classes, standardize=False)
    x, labels = stream(0, n, width, classes)
    kernels.rows(x, labels)
    return kernels, x


def test_a_wave_is_a_cosine() -> None:
    turns = np.linspace(-40, 40, 5_001).astype(np.float32)
    heights = np.array([wave(v) for v in turns])
    np.testing.assert_allclose(heights, np.cos(2 * np.pi * turns.astype(float)), atol=2e-6)


def test_a_wave_stays_a_wave_wherever_it_is_asked() -> None:
    for turns in (1e9, -1e9, 1e30, -1e30):
        assert abs(wave(np.float32(turns))) <= 1 + 1e-6


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_those_of_least_squares(classes: int) -> None:
    """Of all records since the youngest, with a penalty of one over what varied at first."""
    kernels = Kernels(Waves(n_waves=10), 3, classes, standardize=False)
    x, labels = stream(0, kernel.EAGER, 3, classes)
    codes = []
    for row, label in zip(x, labels, strict=True):
        kernels.learn(row, int(label))
        codes.append(kernels.own["codes"].astype(float))
    phi, came = np.array(codes[kernel.YOUNG :]), labels[kernel.YOUNG :]
    targets = np.eye(classes)[came] if classes > 2 else 2.0 * came[:, None] - 1
    known = phi.T @ phi + np.eye(10) / kernel.FIRST
    np.testing.assert_allclose(kernels.own["weights"].T, np.linalg.solve(known, phi.T @ targets),
                               atol=2e-3)  # fmt: skip
    np.testing.assert_allclose(kernels.own["variance"], np.linalg.inv(known), atol=1e-3)


def test_what_is_no_surprise_is_not_learned() -> None:
    kernels, x = _learned(kernel.EAGER + 50, 3, 2)
    scores = []
    for row in x:
        kernels.predict(row)
        scores.append(float(kernels.scores[0, 0]))
    surest = int(np.abs(scores).argmax())
    assert abs(scores[surest]) > 1 - kernel.SURPRISE
    right = int(scores[surest] > 0)
    before = kernels.own["weights"].copy()
    kernels.learn(x[surest], right)
    assert np.array_equal(kernels.own["weights"], before)
    kernels.learn(x[surest], 1 - right)
    assert not np.array_equal(kernels.own["weights"], before)


def test_what_is_not_known_stays_symmetric_and_positive() -> None:
    kernels, _ = _learned(5_000, 2, 3, waves=32)
    variance = kernels.own["variance"]
    assert np.array_equal(variance, variance.T)
    assert np.linalg.eigvalsh(variance.astype(float)).min() > 0


def test_less_than_nothing_is_mended() -> None:
    kernels, x = _learned(kernel.EAGER // 2, 2, 2)
    kernels.own["variance"][:] = -np.eye(16)
    kernels.learn(x[0], 0)
    assert np.array_equal(kernels.own["variance"], kernel.FIRST * np.eye(16, dtype=np.float32))


def test_a_record_of_great_weight_is_believed() -> None:
    kernels, x = _learned(kernel.EAGER + 50, 3, 2)
    kernels.learn(x[0], 0, 1e300)
    kernels.predict(x[0])
    assert np.isfinite(kernels.scores).all()
    surprising = x[:1] + 3
    for label in (0, 1):
        kernels.learn(surprising[0], label, 1e300)
        kernels.predict(surprising[0])
        assert (kernels.scores[0, 0] > 0) == bool(label)


def test_a_ring_is_told_from_what_it_surrounds() -> None:
    x = np.random.default_rng(0).normal(size=(3_000, 2))
    labels = (np.hypot(*x.T) > 1.2).astype(np.int64)
    _, likeliest = Kernels(Waves(), 2, 2).rows(x, labels)
    assert (likeliest == labels)[1_000:].mean() > 0.95


@pytest.mark.parametrize("classes", [3, 4])
def test_a_new_class_changes_no_order(classes: int) -> None:
    """The score of two classes becomes a share of each: from -1 and 1 to 0 and 1."""
    kernels, x = _learned(200, 3, 2)
    kernels.predict(x[7])
    score = kernels.scores[0, 0]
    kernels.grow(3, classes)
    kernels.predict(x[7])
    expected = [(1 - score) / 2, (1 + score) / 2] + [0] * (classes - 2)
    np.testing.assert_allclose(kernels.scores[0], expected, atol=1e-5)


def test_a_feature_has_the_waves_of_its_column_whenever_it_appears() -> None:
    kernels, x = _learned(150, 3, 2)
    kernels.predict(x[3])
    before = kernels.scores
    kernels.grow(5, 2)
    kernels.predict(np.append(x[3], [0.0, 0.0]) * [1, 1, 1, np.nan, np.nan])
    np.testing.assert_allclose(kernels.scores, before, atol=1e-5)
    whole = Kernels(Waves(n_waves=16), 5, 2)
    assert np.array_equal(kernels.own["frequencies"], whole.own["frequencies"])


def test_wide_records_have_no_waves() -> None:
    member = Waves()
    widest = max(w for w in range(1, 1_000) if member.waves(w) > 0)
    kernels = Kernels(member, widest, 2)
    x, labels = stream(0, 50, widest, 2)
    kernels.rows(x, labels)
    kernels.grow(widest + 1, 3)
    assert kernels.scores.shape == (0, 3)
    kernels.learn(np.zeros(widest + 1), 2)
    assert np.isfinite(kernels.memory.state).all()


def test_slopes_are_the_gradient_of_the_score() -> None:
    kernels, x = _learned(300, 3, 3)
    member, step = kernels.memory.members[0], 1e-5
    parts = member.parts(kernels.own, x[5])
    assert parts is not None
    for i, side in enumerate(np.eye(3)):
        up, down = (member.parts(kernels.own, x[5] + d * side) for d in (step, -step))
        assert up is not None and down is not None
        gained = up.of_features.sum(2) - down.of_features.sum(2)
        slope = (gained + up.rest - down.rest) / (2 * step)
        np.testing.assert_allclose(parts.slopes[:, :, i], slope, atol=1e-6)
