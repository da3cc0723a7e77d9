"""Budgeted Pegasos as a classifier and as a committee's member: the same however records come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import datasets, evaluate, metrics

from stream_llsvm import (
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    ModelFileError,
    PegasosClassifier,
)
from stream_llsvm.kernels.budget import run as kernel
from stream_llsvm.learners.saving import from_payload
from tests.learners.support import accuracy, everything, records, small, sound, taught
from tests.learners.test_hostile_state import changed
from tests.learners.test_local_svm import arrays, same_thrice
from tests.oracle_compare import stream

WITH_KERNEL = ("anchors:5", "pegasos:25", "ferns:6")
WAYS: dict[str, dict[str, Any]] = {
    "merging": {},
    "removal": {"maintenance": "removal"},
    "one width": {"gamma": 0.2},
    "logistic": {"loss": "logistic", "multiclass": "crammer_singer"},
}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_rows_blocks_and_files_are_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    models = [small(BudgetedPegasosClassifier, **options) for _ in range(3)]
    same_thrice(models[0], models[1], models[2], tmp_path / "model")


def test_in_a_committee_too(tmp_path: Path) -> None:
    models = [CommitteeClassifier(members=WITH_KERNEL) for _ in range(3)]
    same_thrice(models[0], models[1], models[2], tmp_path / "model")


def test_on_several_cores_too() -> None:
    X, y = arrays(900)
    one, many = (CommitteeClassifier(members=WITH_KERNEL, threads=t) for t in (1, 2))
    assert one.test_then_learn(X, y).tolist() == many.test_then_learn(X, y).tolist()
    assert everything(one) == everything(many)


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_weights_are_slopes(options: dict[str, Any]) -> None:
    X, y = stream(0, 600, 4, 3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = BudgetedPegasosClassifier(standardize=False, **{"budget": 30} | options)
    model.learn_many(X, y)
    assert model._memory is not None
    normal = model._memory.views(0)["normal"]
    checked = 0
    for row in X[:60]:
        x = dict(enumerate(row.tolist()))
        label = model.predict_one(x)
        explained = model.explain_one(x, label)
        assert explained.score == pytest.approx(model.decision_function_one(x)[label], abs=1e-4)
        if (np.abs(normal) >= 4).any():
            continue  # the mixer cut an answer off
        for i in range(4):
            up, down = (
                model.decision_function_one(x | {i: x[i] + s * 1e-3})[label] for s in (1, -1)
            )
            assert (up - down) / 2e-3 == pytest.approx(
                explained.weights[i], abs=3e-2 * max(1, abs(explained.weights[i]))
            )
            checked += explained.weights[i] != 0
    assert checked > 20


def test_a_stream_of_any_length_takes_no_more_memory() -> None:
    X, y = arrays(3_000)
    model = BudgetedPegasosClassifier(budget=30)
    model.learn_many(X, y)
    assert model._memory is not None
    before = model._memory.n_bytes, len(model._memory.state), len(model._memory.scratch)
    for _ in range(5):
        model.learn_many(X, y)
    assert before == (
        model._memory.n_bytes, len(model._memory.state), len(model._memory.scratch)
    )  # fmt: skip
    own = model._memory.views(1)
    assert own["running"][kernel.HELD] == 30 and own["running"][kernel.MADE] > 500


@pytest.mark.parametrize(
    ("dataset", "floor"),
    [(datasets.Bananas, 0.86), (datasets.Phishing, 0.88), (datasets.ImageSegments, 0.84)],
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
    assert model._memory is not None
    wide = {f"w{i}": 1.0 for i in range(60_000)}
    model.learn_one({"f0": 1.0} | wide, 1)
    own = model._memory.views(1)
    assert len(own["vectors"]) < 100 and own["running"][kernel.HELD] == len(own["vectors"])
    assert sound(model) and model.predict_one({"f0": 1.0}) in model.classes
    assert accuracy(model, records(100, seed=1)) > 0.6


IMPOSSIBLE: dict[str, tuple[str, Any, float]] = {
    "more vectors than there is room for": ("running", kernel.HELD, 21.0),
    "half a vector": ("running", kernel.HELD, 2.5),
    "less than no records": ("running", kernel.SEEN, -1.0),
    "more records than can be counted": ("running", kernel.SEEN, 2.0**53),
    "a usual distance below 0": ("running", kernel.SPREAD, -1.0),
    "a norm below 0": ("norms", 0, -1.0),
    "a stamp below 0": ("stamps", 0, -1.0),
    "infinity in a vector": ("vectors", (0, 0), np.inf),
    "nan in a coefficient": ("coefficients", (0, 0, 0), np.nan),
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_is_impossible_is_refused(change: tuple[str, Any, float]) -> None:
    model = taught(small(BudgetedPegasosClassifier), records(100))
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 1, *change))
