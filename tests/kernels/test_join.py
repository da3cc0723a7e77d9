"""What comes on top of the others is joined with what the mixer makes of all."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels import join as joining
from stream_llsvm.kernels.join import (
    ALL,
    EFFORT,
    FIRST_ALL,
    FIRST_OVER,
    GAIN,
    GAIN_FADE,
    MOST,
    OVER,
    RATE,
    SHARE,
)
from stream_llsvm.kernels.mixer import FADE, ON_TOP_SIZE
from tests.kernels.alone import alone
from tests.oracle_parts import Array

join, learn_join = alone(joining.join), alone(joining.learn_join)
COUNTED = 2


def record(seed: int, classes: int = 3) -> tuple[Array, Array, Array]:
    """Return experts' scores, of which the last comes on top, their squares, and what is mixed."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, classes)) / 4
    z -= z.mean(axis=1, keepdims=True)
    mixed = rng.dirichlet(np.ones(classes))
    return z, (z * z).sum(axis=1), mixed


def state(share: float, over: float) -> Array:
    """Return what is known when the joint answer gains."""
    return np.array([[share, over, 0.1], [2.0, 2.0, 1.0]])


def answer(joined: Array, z: Array, squares: Array, mixed: Array) -> tuple[int, Array]:
    joint, proba = np.zeros(len(mixed)), np.zeros(len(mixed))
    return int(join(joined, z, squares, COUNTED, mixed, joint, proba)), proba


def test_who_has_not_spoken_changes_nothing() -> None:
    z, squares, mixed = record(0)
    silent, never = state(0.4, 0.9), state(1.0, 0.0)
    for joined, own in ((never, 1.0), (silent, 0.0)):
        before = joined.copy()
        told, proba = answer(joined, z, squares * [1, 1, own], mixed)
        assert told == -1 and proba.tobytes() == mixed.tobytes()
        if own == 0:
            learn_join(joined, z, squares * [1, 1, 0], COUNTED, mixed, proba, 1, 1.0)
            assert np.array_equal(joined, before)
    # Nor does an only member: there is nobody that it could come on top of.
    joint, proba = np.zeros(3), np.zeros(3)
    assert join(silent, z[:1], squares[:1], 0, mixed, joint, proba) == -1


def test_the_first_word_only_begins() -> None:
    z, squares, mixed = record(1)
    joined = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    learn_join(joined, z, squares, COUNTED, mixed, mixed, 0, 1.0)
    assert joined.tolist() == [[FIRST_ALL, FIRST_OVER, 0.0], [0.0, 0.0, 0.0]]
    joined[SHARE, GAIN] = 0.1
    told, proba = answer(joined, z, squares, mixed)
    logits = FIRST_ALL * np.log(mixed) + FIRST_OVER * ON_TOP_SIZE * z[2]
    expected = np.exp(logits) / np.exp(logits).sum()
    assert proba == pytest.approx(expected) and told == expected.argmax()


@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_one_up_the_likelihood(seed: int) -> None:
    z, squares, mixed = record(seed)
    joined = state(0.6, 0.5)
    joined[EFFORT] = [0.7, 0.2, 300]
    label, gradient = seed % 3, np.zeros(2)
    for which in (ALL, OVER):
        sides = []
        for move in (1e-6, -1e-6):
            moved = joined.copy()
            moved[SHARE, which] += move
            sides.append(np.log(answer(moved, z, squares, mixed)[1][label]))
        gradient[which] = (sides[0] - sides[1]) / 2e-6
    before, both = joined.copy(), [ALL, OVER]
    learn_join(joined, z, squares, COUNTED, mixed, answer(joined, z, squares, mixed)[1], label, 1.5)
    effort = FADE * before[EFFORT, both] + gradient**2
    assert joined[EFFORT, both] == pytest.approx(effort, rel=1e-4)
    step = 1.5 * RATE * gradient / np.sqrt(1 + effort)
    assert joined[SHARE, both] - before[SHARE, both] == pytest.approx(step, rel=1e-4)


def test_the_joint_answer_is_given_while_it_gains() -> None:
    """It is followed all the same, and heard again when it would have been better.

    Records that weigh nothing leave the shares as they are.
    """
    z, squares, mixed = record(2)
    joined = state(0.6, 0.5)
    joint = answer(joined, z, squares, mixed)[1]
    gained = np.log(joint) - np.log(mixed)
    loses, gains = int(gained.argmin()), int(gained.argmax())
    heard = []
    for label in [loses] * 40 + [gains] * 400:
        told, proba = answer(joined, z, squares, mixed)
        heard.append(told >= 0)
        assert heard[-1] == (proba.tobytes() != mixed.tobytes()) == (joined[SHARE, GAIN] > 0)
        before, n = joined.copy(), joined[EFFORT, GAIN] + 1
        own = before.copy()
        own[SHARE, GAIN] = 1
        joint = answer(own, z, squares, mixed)[1]
        learn_join(joined, z, squares, COUNTED, mixed, joint, label, 0.0)
        pace = max(1 - GAIN_FADE, 1 / n)
        gain = np.log(joint[label] / mixed[label]) - before[SHARE, GAIN]
        assert joined[SHARE, GAIN] - before[SHARE, GAIN] == pytest.approx(pace * gain)
    assert heard[0] and not heard[39] and heard[-1]


def test_shares_stay_in_bounds_whatever_a_record_weighs() -> None:
    joined = state(0.7, 0.3)
    for seed in range(20):
        z, squares, mixed = record(seed)
        proba = answer(joined, z, squares, mixed)[1]
        learn_join(joined, z, squares, COUNTED, mixed, proba, seed % 3, 1e6)
        shares = joined[SHARE, [ALL, OVER]]
        assert (shares > 0).all() and (shares <= MOST).all()
