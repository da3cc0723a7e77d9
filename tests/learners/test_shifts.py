"""Features that move far out of their range: scales follow, and what was learned stays valid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier, PegasosClassifier, SAPLClassifier, load_model
from stream_llsvm.kernels.levels import RUN
from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import everything
from tests.oracle_parts import Array

Labels = NDArray[np.int64]

SHIFT, BACK, N = 4_000, 7_000, 10_000


def _stream(factor: float, shift: float) -> tuple[Array, Labels]:
    """Return two noisy features, the first of which moves away and back; y asks for both."""
    X = np.random.default_rng(0).normal(size=(N, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    X[:, 0] += 3
    X[SHIFT:BACK, 0] = factor * X[SHIFT:BACK, 0] + shift
    return X, y


@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
@pytest.mark.parametrize(
    ("factor", "shift"), [(1, 3), (1, 10), (1, 30), (1, 100), (1, -1e6), (1_000, 0), (0.001, 0)]
)
def test_it_recovers_within_two_thousand_records_there_and_back(
    kind: type[LocalClassifier], factor: float, shift: float
) -> None:
    X, y = _stream(factor, shift)
    hits = np.array(kind().test_then_learn(X, y)) == y
    assert hits[SHIFT - 1_000 : SHIFT].mean() > 0.9
    for change in (SHIFT, BACK):
        assert hits[change + 1_000 : change + 2_000].mean() > 0.88


def test_one_row_is_a_batch_in_the_middle_of_a_shift() -> None:
    X, y = _stream(1, 100)
    batch, one, sparse = SAPLClassifier(), SAPLClassifier(), SAPLClassifier()
    batch.learn_many(X[:4_500], y[:4_500])
    for row, label in zip(X[:4_500].tolist(), y[:4_500].tolist(), strict=True):
        one.learn_one({0: row[0], 1: row[1]}, label)
        sparse.learn_one({1: row[1], 0: row[0]}, label)
    assert everything(one) == everything(batch) == everything(sparse)


def test_a_model_saved_and_grown_in_the_middle_of_a_run_goes_on(tmp_path: Path) -> None:
    X, y = _stream(1, 100)
    model = SAPLClassifier()
    middle = SHIFT + 100
    model.learn_many(X[:middle], y[:middle])
    assert model._state is not None
    assert 0 < model._state.views(0)["statistics"][0, RUN] < 24
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert everything(loaded) == everything(model)
    run = model._state.views(0)["statistics"][0, RUN]
    for either in (model, loaded):
        for feature in range(2, 40):
            either.learn_one({0: 103.0, 1: 0.0, feature: 1.0}, 0)
        either.learn_many(X[middle : SHIFT + 400], y[middle : SHIFT + 400])
    assert everything(loaded) == everything(model)
    mean = model._state.views(0)["statistics"][0, 1]
    assert run > 0 and mean == pytest.approx(103, abs=1)


def test_a_linear_machine_recovers_too() -> None:
    X, y = _stream(1, 100)
    y = (X[:, 1] + np.where(np.abs(X[:, 0]) > 50, X[:, 0] - 100, X[:, 0]) > 3).astype(np.int64)
    model = PegasosClassifier()
    hits = np.array([_tested(model, x, int(label)) for x, label in zip(X, y, strict=True)])
    for change in (SHIFT, BACK):
        assert hits[change + 1_000 : change + 2_000].mean() > 0.9


def _tested(model: PegasosClassifier, x: Array, label: int) -> bool:
    told = model.predict_one(dict(enumerate(x.tolist())))
    model.learn_one(dict(enumerate(x.tolist())), label)
    return bool(told == label)


def test_models_in_the_middle_of_different_runs_begin_them_anew_when_merged() -> None:
    X, y = _stream(1, 100)
    a, b, c = (SAPLClassifier() for _ in range(3))
    for model, n in ((a, SHIFT + 100), (b, SHIFT + 60), (c, SHIFT + 100)):
        model.learn_many(X[:n], y[:n])
    runs = []
    for merged in (a.merge([b]), a.merge([c])):
        assert merged._state is not None
        runs.append(merged._state.views(0)["statistics"][0, RUN])
    assert runs[0] == 0 and runs[1] > 0
