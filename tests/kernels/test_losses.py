"""Losses: the pushes are the negative derivatives of the losses written down in the oracle."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.kernels import losses
from stream_llsvm.kernels.losses import (
    CRAMMER_SINGER,
    FARTHEST,
    HINGE,
    LOGISTIC,
    LOSSES,
    LOSSES_OF_NUMBERS,
    LOSSES_OF_PEGASOS,
    MULTICLASS,
    OVR,
)
from tests.kernels.alone import alone
from tests.oracle_parts import FAINT, Array, pushes_at, total_loss

pushes = alone(losses.pushes)
margin_loss, margin_push = alone(losses.margin_loss), alone(losses.margin_push)
residual_loss, residual_push = alone(losses.residual_loss), alone(losses.residual_push)
curvature_of = alone(losses.curvature_of)
OF_CLASSES = LOSSES | LOSSES_OF_PEGASOS
#: As their names are understood everywhere, of a margin and of a residual.
WRITTEN_DOWN: dict[str, Callable[[float], float]] = {
    "hinge": lambda m: max(0.0, 1 - m),
    "huberized_hinge": lambda m: (max(0.0, 1 - m) ** 2 - max(0.0, -m) ** 2) / 2,
    "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
    "logistic": lambda m: float(np.log(1 + np.exp(-m))),
    "epsilon_insensitive": lambda r: max(0.0, abs(r) - EPSILON),
    "squared_epsilon_insensitive": lambda r: max(0.0, abs(r) - EPSILON) ** 2,
    "squared": lambda r: r * r / 2,
    "huber": lambda r: r * r / 2 if abs(r) < EPSILON else EPSILON * (abs(r) - EPSILON / 2),
}
EPSILON = 0.3


def _pushes(loss: int, multiclass: int, scores: Array, label: int) -> tuple[bool, list[float]]:
    out = np.full(len(scores), 7, dtype=np.float32)
    pushed = pushes(loss, multiclass, scores.astype(np.float32), label, out)
    return bool(pushed), out.tolist()


@pytest.mark.parametrize("multiclass", sorted(MULTICLASS.values()))
@pytest.mark.parametrize("loss", sorted(LOSSES.values()))
@pytest.mark.parametrize("columns", [1, 3, 6])
def test_pushes_are_the_losss_derivative(loss: int, multiclass: int, columns: int) -> None:
    """By finite differences. Logistic pushes below 0.01 are dropped on purpose."""
    rng = np.random.default_rng(columns)
    for label in range(max(2, columns)):
        for _ in range(20):
            scores = rng.normal(size=columns) * 2
            scores = scores.astype(np.float32).astype(float)
            pushed, out = _pushes(loss, multiclass, scores, label)
            for c in range(columns):
                step = np.where(np.arange(columns) == c, 1e-6, 0)
                down = total_loss(loss, multiclass, scores + step, label)
                up = total_loss(loss, multiclass, scores - step, label)
                slope = (up - down) / 2e-6
                faint = loss == LOGISTIC and abs(slope) < FAINT
                assert out[c] == pytest.approx(0 if faint else slope, abs=1e-4)
            assert pushed == any(out)


@given(
    loss=st.sampled_from(sorted(LOSSES.values())),
    multiclass=st.sampled_from(sorted(MULTICLASS.values())),
    scores=st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=6),
    data=st.data(),
)
def test_pushes_are_finite_bounded_and_the_oracles(
    loss: int, multiclass: int, scores: list[float], data: st.DataObject
) -> None:
    label = data.draw(st.integers(0, max(1, len(scores) - 1)))
    out = np.array(_pushes(loss, multiclass, np.array(scores), label)[1])
    assert (np.abs(out) <= 1).all()
    expected = pushes_at(loss, multiclass, np.array(scores), label)
    if loss == HINGE:
        return  # at a margin of exactly 1, or between equal rivals, rounding decides
    dropped = np.maximum(np.abs(out), np.abs(expected)) < 1.01 * FAINT
    np.testing.assert_allclose(out[~dropped], expected[~dropped], atol=1e-4)


def test_a_hinge_is_silent_from_its_margin_on() -> None:
    one_class = np.array([1.0])
    assert _pushes(HINGE, OVR, one_class, 1) == (False, [0])
    assert _pushes(HINGE, OVR, np.array([0.99]), 1) == (True, [1])
    assert _pushes(HINGE, OVR, one_class, 0) == (True, [-1])


def test_the_joint_hinge_moves_two_classes_apart() -> None:
    scores = np.array([0.2, 1.5, 1.4, -3.0])
    assert _pushes(HINGE, CRAMMER_SINGER, scores, 2)[1] == [0, -1, 1, 0]
    assert _pushes(HINGE, CRAMMER_SINGER, scores, 1)[1] == [0, 1, -1, 0]
    assert _pushes(HINGE, CRAMMER_SINGER, np.array([0.2, 2.5, 1.4]), 1)[0] is False


def test_two_classes_have_one_loss_however_they_are_joined() -> None:
    for loss in LOSSES.values():
        for label in (0, 1):
            one, other = (_pushes(loss, m, np.array([0.3]), label) for m in (OVR, CRAMMER_SINGER))
            assert one[1] == other[1]


@pytest.mark.parametrize("name", OF_CLASSES | LOSSES_OF_NUMBERS)
def test_each_name_is_one_loss_and_its_push_the_derivative(name: str) -> None:
    for place in np.linspace(-4.03, 4.01, 60).tolist():
        down, here, up = (WRITTEN_DOWN[name](place + step) for step in (-1e-6, 0.0, 1e-6))
        if name in OF_CLASSES:
            lost = margin_loss(OF_CLASSES[name], place)
            push = margin_push(OF_CLASSES[name], place)
        else:
            lost = residual_loss(LOSSES_OF_NUMBERS[name], place, EPSILON)
            push = -residual_push(LOSSES_OF_NUMBERS[name], place, EPSILON)
        assert lost == pytest.approx(here, abs=1e-9)
        assert push == pytest.approx((down - up) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("name", OF_CLASSES | LOSSES_OF_NUMBERS)
def test_no_push_changes_faster_than_its_curvature(name: str) -> None:
    places = np.linspace(-4, 4, 200).tolist()
    if name in OF_CLASSES:
        found = [margin_push(OF_CLASSES[name], place) for place in places]
        curvature = curvature_of(OF_CLASSES[name])
    else:
        found = [residual_push(LOSSES_OF_NUMBERS[name], place, EPSILON) for place in places]
        curvature = curvature_of(LOSSES_OF_NUMBERS[name])
    steps = [abs(b - a) / (places[1] - places[0]) for a, b in pairwise(found)]
    assert max(np.abs(found)) <= 1 if curvature == 0 else max(steps) <= curvature + 1e-9


@pytest.mark.parametrize("name", LOSSES_OF_NUMBERS)
def test_far_residuals_lose_along_a_straight_line(name: str) -> None:
    loss = LOSSES_OF_NUMBERS[name]
    most = residual_push(loss, FARTHEST, EPSILON)
    assert residual_push(loss, -1e9, EPSILON) == -most
    near, far = (residual_loss(loss, n * FARTHEST, EPSILON) for n in (2, 3))
    assert far - near == pytest.approx(FARTHEST * most)
