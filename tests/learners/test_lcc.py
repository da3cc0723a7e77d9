"""LCC: a bias for each anchor and nothing else, with or without the supervised step."""

from __future__ import annotations

import numpy as np
import pytest
from river import datasets

from stream_llsvm import LCCClassifier, LLSVMClassifier
from tests.learners.support import accuracy, records, small, taught


@pytest.mark.parametrize("supervised", [True, False])
def test_there_are_no_weights(supervised: bool) -> None:
    model = taught(LCCClassifier(supervised=supervised), records(500))
    assert model._state is not None
    assert model._state.views(1)["weights"].size == 0
    for anchor in model.anchors:
        assert set(anchor.weights) == set(anchor.bias) == set(model.classes)
        assert all(v == 0 for row in anchor.weights.values() for v in row.values())
    assert any(v != 0 for anchor in model.anchors for v in anchor.bias.values())
    told = model.explain_one({"f0": 1.0, "f1": -1.0})
    assert told.contributions == {}
    assert told.score == pytest.approx(told.bias)


def test_supervised_anchors_move_by_the_labels() -> None:
    stream = records(500)
    rng = np.random.default_rng(0)
    shuffled = [(x, int(rng.integers(3))) for x, _ in stream]
    for supervised in (True, False):
        told = [
            [a.position for a in taught(small(LCCClassifier, supervised=supervised), s).anchors]
            for s in (stream, shuffled)
        ]
        assert (told[0] == told[1]) is not supervised


def test_it_is_smaller_than_the_others() -> None:
    sizes = []
    for kind in (LCCClassifier, LLSVMClassifier):
        memory = taught(kind(), records(10, features=40))._state
        assert memory is not None
        sizes.append(memory.state.nbytes)
    assert sizes[0] < 0.5 * sizes[1]


@pytest.mark.parametrize("supervised", [True, False])
def test_bananas(supervised: bool) -> None:
    model = LCCClassifier(supervised=supervised)
    assert accuracy(model, list(datasets.Bananas())) > 0.88
