"""A block is answered as its records are, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_llsvm import (
    CommitteeClassifier,
    KeyedClassifier,
    LLSVMClassifier,
    LLSVMRegressor,
    SAPLClassifier,
)
from stream_llsvm.connectors import message_codec
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.model.packing import pack

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


def decoded(rng: np.random.Generator, number: int, *, ragged: bool, labels: bool) -> Batch:
    """Return records of four customers; ragged ones have other fields each."""
    raws = []
    for i in range(number):
        a, b = rng.normal(size=2).round(3).tolist()
        more = f', "f{i % 3}": 1.5, "said": "go home {i % 5}"' if ragged else ""
        label = f', "y": {int(a * b > 0)}' if labels else ""
        raws.append(f'{{"a": {a}, "b": {b}, "who": "c{i % 4}"{more}{label}}}'.encode())
    return message_codec(label="y").decode(raws, [None] * number, {})  # type: ignore[list-item]


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: LLSVMClassifier(n_anchors=4),
        CommitteeClassifier,
        LLSVMRegressor,
        lambda: KeyedClassifier(SAPLClassifier(n_anchors=8), key="who", max_keys=3),
    ],
)
def test_what_is_asked_leaves_no_trace(make: Callable[[], Any], ragged: bool) -> None:
    rng = np.random.default_rng(1)
    learner = Learner(make())
    learner.take(learner.readable(decoded(rng, 120, ragged=ragged, labels=True)))
    asked = learner.readable(decoded(rng, 60, ragged=ragged, labels=False))

    def bits(answers: Answers) -> tuple[list[Any], bytes]:
        sure = b"" if answers.sure is None else answers.sure.tobytes()
        return list(answers.labels), sure

    before = pack(learner.model._payload())
    told = bits(learner.ask(asked))
    assert pack(learner.model._payload()) == before
    assert bits(learner.take(asked)) == told, "the answers are those of a record that waits"
