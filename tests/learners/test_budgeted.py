"""Budgeted Pegasos as a classifier: what only it does.

What any optional member must do: test_optional_members.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from river import datasets, evaluate, metrics

from stream_llsvm import (
    BudgetedPegasosClassifier,
    PegasosClassifier,
)
from stream_llsvm.members.family.budget_svm import kernel
from tests.learners.support import accuracy, records, sound, taught
from tests.learners.test_optional_members import arrays


def test_a_stream_of_any_length_takes_no_more_memory() -> None:
    X, y = arrays(3_000)
    model = BudgetedPegasosClassifier(budget=30)
    model.learn_many(X, y)
    assert model._state is not None
    before = model._state.n_bytes, len(model._state.state), len(model._state.scratch)
    for _ in range(5):
        model.learn_many(X, y)
    assert before == (
        model._state.n_bytes, len(model._state.state), len(model._state.scratch)
    )  # fmt: skip
    own = model._state.views(1)
    assert own["running"][kernel.HELD] == 30 and own["running"][kernel.MADE] > 500


@pytest.mark.parametrize(
    ("dataset", "floor"),
    [(datasets.Bananas, 0.86), (datasets.Phishing, 0.875), (datasets.ImageSegments, 0.84)],
)
def test_what_it_reaches(dataset: type[datasets.Bananas], floor: float) -> None:
    model = BudgetedPegasosClassifier()
    score = evaluate.progressive_val_score(dataset(), model, metrics.Accuracy())
    assert score.get() > floor


def test_it_sees_what_a_plane_does_not_and_merging_keeps_more_than_removal() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (4_000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    right = {}
    for name, model in (
        ("merging", BudgetedPegasosClassifier(budget=30)),
        ("removal", BudgetedPegasosClassifier(budget=30, maintenance="removal")),
        ("plane", PegasosClassifier()),
    ):
        model.learn_many(X[:3_000], y[:3_000])
        right[name] = float((model.predict_many(X[3_000:]) == y[3_000:]).mean())
    assert right["merging"] > 0.95
    assert right["plane"] < 0.7
    assert right["removal"] < right["merging"]


def test_many_more_features_leave_room_for_fewer_vectors() -> None:
    model = BudgetedPegasosClassifier(budget=100)
    taught(model, records(300))
    assert model._state is not None
    wide = {f"w{i}": 1.0 for i in range(60_000)}
    model.learn_one({"f0": 1.0} | wide, 1)
    own = model._state.views(1)
    assert len(own["vectors"]) < 100 and own["running"][kernel.HELD] == len(own["vectors"])
    assert sound(model) and model.predict_one({"f0": 1.0}) in model.classes
    taught(model, records(200, seed=1))
    assert accuracy(model, records(200, seed=2)) > 0.6
