"""The l2 penalty on a live stream: it shrinks the weights and, however large, breaks nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import LCCClassifier, LLSVMClassifier, SAPLClassifier
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import LEARNERS, records, sound

STREAM = records(3_000)
X = np.array([list(x.values()) for x, _ in STREAM])
Y = np.array([label for _, label in STREAM])


def learned(kind: type[AnchorClassifier], **options: Any) -> tuple[LocalClassifier, NDArray[Any]]:
    model = kind(**options)
    return model, model.test_then_learn(X, Y)


@pytest.mark.parametrize("l2", [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize("step_size", ["auto", 1.0, 100.0])
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_penalty_breaks_the_model(
    kind: type[AnchorClassifier], step_size: float | str, l2: float
) -> None:
    """Scales that the penalty shrinks are folded into the weights again and again."""
    model, _ = learned(kind, n_anchors=40, step_size=step_size, l2=l2)
    assert sound(model)
    assert np.isfinite(model.predict_proba_many(X)).all()


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_small_penalty_costs_little(kind: type[AnchorClassifier]) -> None:
    _, plain = learned(kind, n_anchors=40)
    for l2 in (1e-5, 1e-4, 1e-3):
        _, told = learned(kind, n_anchors=40, l2=l2)
        assert np.mean(told[1_500:] == Y[1_500:]) > np.mean(plain[1_500:] == Y[1_500:]) - 0.03


def size(model: LocalClassifier) -> float:
    """Return how long the anchors' machines are on the whole."""
    return sum(
        abs(weight) for anchor in model.anchors for row in anchor.weights.values()
        for weight in row.values()
    )  # fmt: skip


@pytest.mark.parametrize("kind", [LLSVMClassifier, SAPLClassifier])
def test_it_shrinks_the_weights(kind: type[AnchorClassifier]) -> None:
    sizes = [size(learned(kind, n_anchors=40, step_size=1.0, l2=l2)[0]) for l2 in (0.0, 1e-3, 1e-2)]
    assert sizes[0] > 1.2 * sizes[1] > 1.2 * 1.2 * sizes[2] > 0


def test_it_shrinks_the_biases_that_are_all_that_lcc_has() -> None:
    biases = []
    for l2 in (0.0, 1e-2):
        model, _ = learned(LCCClassifier, n_anchors=40, step_size=1.0, l2=l2)
        assert model._state is not None
        biases.append(float(np.abs(model._state.views(1)["biases"]).sum()))
    assert biases[1] < 0.9 * biases[0]
