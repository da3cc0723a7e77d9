"""The mixer: probabilities are a softmax, and its step is a gradient's."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels import mixer
from stream_llsvm.kernels.mixer import (
    EFFORT,
    FADE,
    LARGEST_RATE,
    LARGEST_TRUST,
    MIXER_ROWS,
    POWER,
    RATE,
    TRUST,
    Z_CLIP,
)
from tests.kernels.alone import alone
from tests.oracle_parts import Array

learn_mix = alone(mixer.learn_mix)
rate_of = alone(mixer.rate_of)
mix = alone(mixer.mix)


def _mixer(experts: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    mixer = np.zeros((MIXER_ROWS, experts))
    mixer[TRUST], mixer[POWER] = rng.uniform(0, 2, experts), rng.uniform(0.5, 4, experts)
    return mixer


def _mix(mixer: Array, scores: Array, classes: int) -> tuple[int, Array, Array, Array]:
    experts = mixer.shape[1]
    z, squares, proba = np.zeros((experts, classes)), np.zeros(experts), np.zeros(classes)
    best = mix(mixer, scores.astype(np.float32), z, squares, proba)
    return int(best), z, squares, proba


def test_many_classes_are_centred_normalised_and_blended() -> None:
    mixer, scores = _mixer(3), np.random.default_rng(1).normal(size=(3, 4))
    best, z, squares, proba = _mix(mixer, scores, 4)
    centred = scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(z, centred / np.sqrt(mixer[POWER])[:, None], rtol=1e-4)
    np.testing.assert_allclose(squares, (centred**2).sum(axis=1), rtol=1e-5)
    logits = mixer[TRUST] @ z
    np.testing.assert_allclose(proba, np.exp(logits) / np.exp(logits).sum())
    assert best == int(np.argmax(proba))


def test_two_classes_share_a_score() -> None:
    mixer = _mixer(2)
    scores = np.array([[1.2], [-0.4]])
    best, z, squares, proba = _mix(mixer, scores, 2)
    halves = scores[:, 0] / 2 / np.sqrt(mixer[POWER])
    np.testing.assert_allclose(z, np.stack([-halves, halves], axis=1), rtol=1e-5)
    np.testing.assert_allclose(squares, scores[:, 0] ** 2, rtol=1e-6)
    assert proba[1] == pytest.approx(1 / (1 + np.exp(-2 * mixer[TRUST] @ halves)), rel=1e-5)
    assert best == int(proba[1] > proba[0])


def test_one_class_is_certain() -> None:
    best, _, _, proba = _mix(_mixer(2), np.array([[3.0], [-9.0]]), 1)
    assert best == 0
    assert proba.tolist() == [1]


@pytest.mark.parametrize("size", [1e30, 3e38])
def test_an_enormous_score_is_clipped(size: float) -> None:
    for scores, classes in ((np.array([[size], [-size]]), 2), (np.diag([size, 0.0, -size]), 3)):
        _, z, _, proba = _mix(_mixer(len(scores)), scores, classes)
        assert np.abs(z).max() <= Z_CLIP
        assert np.isfinite(proba).all()


@pytest.mark.parametrize("columns", [1, 3])
def test_the_step_follows_the_log_likelihoods_gradient(columns: int) -> None:
    classes, label = max(2, columns), 1
    mixer, scores = _mixer(4), np.random.default_rng(2).normal(size=(4, columns))

    def log_likelihood(trust: Array) -> float:
        there = mixer.copy()
        there[TRUST] = trust
        return float(np.log(_mix(there, scores, classes)[3][label]))

    gradient = np.zeros(4)
    for e in range(4):
        step = np.where(np.arange(4) == e, 1e-6, 0)
        up, down = log_likelihood(mixer[TRUST] + step), log_likelihood(mixer[TRUST] - step)
        gradient[e] = (up - down) / 2e-6
    _, z, squares, proba = _mix(mixer, scores, classes)
    after = mixer.copy()
    after[EFFORT] = 0.7
    rate = min(LARGEST_RATE, RATE / 4) * np.sqrt(classes / 2)
    assert rate_of(4, classes) == pytest.approx(rate)
    learn_mix(after, 9.0, z, squares, proba, label, 1.5 * rate, len(z))
    effort = FADE * 0.7 + gradient**2
    np.testing.assert_allclose(after[EFFORT], effort, rtol=1e-4)
    moved = 1.5 * rate * gradient / np.sqrt(1 + effort)
    np.testing.assert_allclose(after[TRUST] - mixer[TRUST], moved, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(after[POWER], mixer[POWER] + (squares - mixer[POWER]) / 10)


def test_who_says_nothing_is_left_as_it_was() -> None:
    """A member that sleeps: else its mean square would fade, and its return be a shout."""
    mixer = _mixer(2)
    _, z, squares, proba = _mix(mixer, np.array([[0.0], [1.0]]), 2)
    before = mixer.copy()
    learn_mix(mixer, 3.0, z, squares, proba, 1, LARGEST_RATE, len(z))
    assert np.array_equal(mixer[:, 0], before[:, 0])
    assert not np.array_equal(mixer[:, 1], before[:, 1])


def test_trust_stays_in_bounds_whatever_a_record_weighs() -> None:
    mixer = np.zeros((MIXER_ROWS, 1))
    mixer[TRUST], mixer[POWER] = 2, 1
    for label in (0, 1, 1, 0):
        _, z, squares, proba = _mix(mixer, np.array([[2.0]]), 2)
        learn_mix(mixer, 1.0, z, squares, proba, label, 1e6 * LARGEST_RATE, len(z))
        assert np.abs(mixer[TRUST]).max() <= LARGEST_TRUST


def test_an_expert_that_knows_gains_the_trust_that_a_guesser_loses() -> None:
    rng = np.random.default_rng(3)
    mixer = np.zeros((MIXER_ROWS, 2))
    mixer[TRUST], mixer[POWER] = 1, 1
    for i in range(500):
        label = int(rng.integers(2))
        scores = np.array([[2.0 * label - 1], [rng.normal()]])
        _, z, squares, proba = _mix(mixer, scores, 2)
        learn_mix(mixer, i + 1.0, z, squares, proba, label, LARGEST_RATE, len(z))
    assert mixer[TRUST, 0] > 4
    assert abs(mixer[TRUST, 1]) < 0.7
