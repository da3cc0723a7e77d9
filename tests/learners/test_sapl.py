"""LLC-SAPL: what one pass with all defaults has to reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from river import datasets, dummy, evaluate, linear_model, metrics, preprocessing

from stream_llsvm import LLSVMClassifier, SAPLClassifier
from stream_llsvm.learners.anchored import AnchorClassifier
from tests.learners.support import LEARNERS, records, small, taught

STREAMS: list[tuple[type[Any], Any, float, float]] = [
    # the stream; river's linear model; SAPL's lead over it; the least it has to reach
    (datasets.Bananas, linear_model.LogisticRegression, 0.30, 0.885),
    (datasets.Phishing, linear_model.LogisticRegression, 0.00, 0.890),
    (datasets.ImageSegments, linear_model.SoftmaxRegression, 0.05, 0.895),
]


def score(stream: list[Any], model: Any, metric: Any) -> float:
    return float(evaluate.progressive_val_score(stream, model, metric).get())


@pytest.mark.parametrize(("dataset", "linear", "lead", "floor"), STREAMS)
def test_it_is_ahead_of_the_baselines(
    dataset: type[Any], linear: type[Any], lead: float, floor: float
) -> None:
    stream = list(dataset())
    reached = score(stream, SAPLClassifier(), metrics.Accuracy())
    assert reached > floor
    assert reached > score(stream, dummy.PriorClassifier(), metrics.Accuracy()) + 0.3
    assert reached > score(stream, dummy.NoChangeClassifier(), metrics.Accuracy()) + 0.3
    rival = preprocessing.StandardScaler() | linear()
    assert reached > score(stream, rival, metrics.Accuracy()) + lead


@pytest.mark.parametrize("dataset", [datasets.Bananas, datasets.Phishing])
def test_its_probabilities_mean_something(dataset: type[Any]) -> None:
    stream = list(dataset())
    linear = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    reached = score(stream, SAPLClassifier(), metrics.LogLoss())
    assert reached < score(stream, linear, metrics.LogLoss()) + 0.01
    assert reached < score(stream, dummy.PriorClassifier(), metrics.LogLoss()) - 0.3


def xor(n: int, seed: int, swapped: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, (X[:, 0] * X[:, 1] > 0) ^ swapped


@pytest.mark.parametrize("kind", LEARNERS)
def test_xor_and_back_after_a_sudden_change(kind: type[AnchorClassifier]) -> None:
    """No linear model is right more often than chance here."""
    model = kind()
    reached = []
    for part, swapped in enumerate((False, True, False)):
        X, y = xor(3_000, part, swapped)
        told = model.test_then_learn(X, y)
        reached.append(float(np.mean(told[-1_000:] == y[-1_000:])))
    before, swapped_labels, back = reached
    assert before > 0.96
    assert swapped_labels > before - 0.02
    assert back > before - 0.02


def test_labels_move_the_anchors() -> None:
    stream = records(500)
    sapl, llsvm = taught(small(SAPLClassifier), stream), taught(small(LLSVMClassifier), stream)
    assert [a.position for a in sapl.anchors] != [a.position for a in llsvm.anchors]


def test_streams_of_numbers_are_as_without_its_member_for_words() -> None:
    class Alone(SAPLClassifier):
        def _members(self) -> Any:
            return super()._members()[:1]

    stream = records(700, features=6)
    X, y = np.array([list(x.values()) for x, _ in stream]), [label for _, label in stream]
    whole, alone = SAPLClassifier(n_anchors=12), Alone(n_anchors=12)
    assert whole.test_then_learn(X, y).tolist() == alone.test_then_learn(X, y).tolist()
    assert np.array_equal(whole.predict_proba_many(X), alone.predict_proba_many(X))
    assert [member.name for member in whole.mixture] == ["anchors:12", "words:16384"]
    assert len(SAPLClassifier(step_size=1.0)._members()) == 1
