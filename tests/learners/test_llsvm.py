"""LL-SVM: anchors follow the records, whatever the labels are."""

from __future__ import annotations

import numpy as np
from river import datasets

from stream_llsvm import LLSVMClassifier
from tests.learners.support import accuracy, records, small, taught


def test_labels_do_not_move_the_anchors() -> None:
    stream = records(500)
    rng = np.random.default_rng(0)
    shuffled = [(x, int(rng.integers(3))) for x, _ in stream]
    model, other = taught(small(LLSVMClassifier), stream), taught(small(LLSVMClassifier), shuffled)
    for one, two in zip(model.anchors, other.anchors, strict=True):
        assert one.position == two.position


def test_bananas() -> None:
    assert accuracy(LLSVMClassifier(), list(datasets.Bananas())) > 0.885
