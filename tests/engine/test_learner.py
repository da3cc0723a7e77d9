"""A block is answered as its records are, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm import LLSVMClassifier
from stream_llsvm.engine.learner import Learner

NAMES = tuple(f"f{i}" for i in range(12))  # which the model puts in another order


@pytest.mark.parametrize("unlabelled", [0.0, 0.3])
def test_a_block_is_answered_as_its_records_are(unlabelled: float) -> None:
    rng = np.random.default_rng(0)
    blocks, records = (Learner(LLSVMClassifier(n_anchors=4)) for _ in range(2))
    for _ in range(4):
        values = rng.normal(size=(60, len(NAMES)))
        labels = [
            None if rng.random() < unlabelled else "abc"[int(3 * abs(v)) % 3] for v in values[:, 0]
        ]
        got = blocks.block(NAMES, values, labels)
        rows = [dict(zip(NAMES, row, strict=True)) for row in values.tolist()]
        expected = records.records(rows, labels)
        assert list(got.labels) == expected.labels
        assert got.truth == pytest.approx(expected.truth)
        assert got.sure == pytest.approx(expected.sure)
        assert not got.refused
    assert len(set(expected.labels)) == 3
