"""Local SVMs as classifiers and as a committee's member: exact, the same however records come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from river import datasets, evaluate, metrics

from stream_llsvm import CommitteeClassifier, LocalSVMClassifier, ModelFileError, load_model
from stream_llsvm.kernels.local import run as kernel
from stream_llsvm.kernels.local.window import LABEL, NORM, STAMP, WORTH
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.saving import from_payload
from tests.learners.support import everything, records, small, taught
from tests.learners.test_hostile_state import changed
from tests.oracle_compare import stream

WITH_LOCAL = ("anchors:5", "memory:60", "local:80", "ferns:6")
WAYS: dict[str, dict[str, Any]] = {
    "megm": {},
    "plain": {"metric": None},
    "diagonal": {"metric": "diagonal"},
    "linear": {"kernel": "linear"},
    "reservoir": {"replace": "random"},
}


def arrays(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return stream(7, n, 4, 3, missing=0.05)


def same_thrice(one: LocalClassifier, block: LocalClassifier, read: Any, path: Path) -> None:
    """Row by row, in blocks, and with a file between blocks of an odd size."""
    X, y = arrays(700)
    told = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        told.append(one.predict_one(dict(enumerate(row))))
        one.learn_one(dict(enumerate(row)), label)
    assert block.test_then_learn(X, y).tolist() == told
    for i in range(0, len(X), 97):
        read.learn_many(X[i : i + 97], y[i : i + 97])
        read.save(path)
        read = load_model(path)
    assert everything(one) == everything(block) == everything(read)


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_rows_blocks_and_files_are_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    models = [small(LocalSVMClassifier, **options) for _ in range(3)]
    same_thrice(models[0], models[1], models[2], tmp_path / "model")


def test_in_a_committee_too(tmp_path: Path) -> None:
    models = [CommitteeClassifier(members=WITH_LOCAL) for _ in range(3)]
    same_thrice(models[0], models[1], models[2], tmp_path / "model")


@pytest.mark.parametrize("threads", [2, 3])
def test_on_several_cores_too(threads: int) -> None:
    X, y = arrays(900)
    one, many = (CommitteeClassifier(members=WITH_LOCAL, threads=t) for t in (1, threads))
    assert one.test_then_learn(X, y).tolist() == many.test_then_learn(X, y).tolist()
    assert everything(one) == everything(many)


def test_a_member_learns_what_it_would_learn_alone() -> None:
    X, y = arrays(500)
    together = CommitteeClassifier(members=WITH_LOCAL)
    alone = CommitteeClassifier(members=("local:80",))
    for model in (together, alone):
        model.learn_many(X, y)
    assert together._memory is not None and alone._memory is not None
    expected = alone._memory.views(1)
    for name, view in together._memory.views(3).items():
        if alone._memory._places[1][name][4] == "state":
            assert np.array_equal(view, expected[name]), name


def test_it_sleeps_where_a_plane_is_enough_and_costs_nothing_then() -> None:
    X = np.random.default_rng(0).normal(size=(3_000, 4))
    y = (X @ [1, 2, 3, 4] > 0).astype(int)
    model = CommitteeClassifier(members=("anchors:1", "local:80"), budget=1)
    model.learn_many(X, y)
    assert [report.awake for report in model.mixture] == [True, False]
    assert model._memory is not None
    before = model._memory.views(2)["running"].copy()
    explained = model.explain_one({0: 0.5, 1: 0.5})
    assert explained.members["local:80"] == 0 and explained.voters == []
    model.learn_one({0: 0.5, 1: 0.5}, 1)
    assert np.array_equal(model._memory.views(2)["running"], before)


def test_weights_are_slopes_of_a_linear_machine() -> None:
    """As far as the neighbourhood stays what it is."""
    X, y = stream(0, 600, 4, 3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LocalSVMClassifier(kernel="linear", standardize=False)
    model.learn_many(X, y)
    checked = 0
    for row in X[:60]:
        x = dict(enumerate(row.tolist()))
        label = model.predict_one(x)
        explained = model.explain_one(x, label)
        for i in range(4):
            step = 1e-3
            moved = [x | {i: x[i] + s * step} for s in (1, -1)]
            # The clip of the mixer and other neighbours would be another machine.
            if any(_asked(model, m) != _asked(model, x) for m in moved):
                continue
            up, down = (model.decision_function_one(m)[label] for m in moved)
            assert (up - down) / (2 * step) == pytest.approx(
                explained.weights[i], abs=2e-2 * max(1, abs(explained.weights[i]))
            )
            checked += explained.weights[i] != 0
    assert checked > 20


def _asked(model: LocalSVMClassifier, x: dict[Any, Any]) -> tuple[Any, ...]:
    """Return which neighbours answer, and whether the mixer cut their answer off."""
    model.predict_one(x)
    assert model._memory is not None
    own, whole = model._memory.views(1), model._memory.views(0)
    k = int(own["memo"][kernel.FOUND])
    return (*sorted(own["near"][:k].tolist()), bool((np.abs(whole["normal"]) >= 4).any()))


def test_voters_are_the_support_vectors_nearest_first() -> None:
    X, y = stream(1, 400, 2, 2)
    model = LocalSVMClassifier(metric=None, standardize=False)
    model.learn_many(X, y)
    for row in X[:30]:
        voters = model.explain_one(dict(enumerate(row.tolist()))).voters
        assert sum(v.share for v in voters) == pytest.approx(1)
        assert [v.distance for v in voters] == sorted(v.distance for v in voters)
        for voter in voters:
            stored = X[399 - voter.age]
            assert y[399 - voter.age] == voter.label
            distance = np.sqrt(((stored - row) ** 2).sum())
            assert voter.distance == pytest.approx(distance, abs=1e-2)


def test_relevance_is_the_maps() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 6))
    model = LocalSVMClassifier()
    model.learn_many(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    relevance = model.feature_relevance
    assert min(relevance[0], relevance[1]) > 2 * max(relevance[i] for i in range(2, 6))
    assert LocalSVMClassifier(metric=None).feature_relevance == {}


def test_a_stream_of_any_length_takes_no_more_memory() -> None:
    X, y = arrays(3_000)
    model = LocalSVMClassifier(window=200)
    model.learn_many(X, y)
    assert model._memory is not None
    before = model._memory.n_bytes, len(model._memory.state), len(model._memory.scratch)
    for _ in range(5):
        model.learn_many(X, y)
    assert before == (
        model._memory.n_bytes, len(model._memory.state), len(model._memory.scratch)
    )  # fmt: skip


def test_a_window_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    model = LocalSVMClassifier(window=1_000_000, max_mb=10)
    with pytest.raises(ValueError, match="more than max_mb=10"):
        model.learn_one({"a": 1.0}, 0)
    assert model.classes == () and model.predict_one({"a": 1.0}) is None


@pytest.mark.parametrize(
    ("dataset", "floor"),
    [(datasets.Bananas, 0.875), (datasets.Phishing, 0.87), (datasets.ImageSegments, 0.935)],
)
def test_what_it_reaches(dataset: type[datasets.Bananas], floor: float) -> None:
    score = evaluate.progressive_val_score(dataset(), LocalSVMClassifier(), metrics.Accuracy())
    assert score.get() > floor


IMPOSSIBLE: dict[str, tuple[str, Any, float]] = {
    "more records than there is room for": ("running", kernel.HELD, 71.0),
    "half a record": ("running", kernel.HELD, 3.5),
    "a place beyond the window": ("running", kernel.HEAD, 70.0),
    "half a place": ("running", kernel.HEAD, 0.5),
    "records seen below 0": ("running", kernel.SEEN, -1.0),
    "more records than can be counted": ("running", kernel.SEEN, 2.0**53),
    "more offered than can be counted": ("running", kernel.OFFERED, 1e300),
    "a spread below 0": ("running", kernel.SPREAD, -1.0),
    "a class that there is not": ("facts", (LABEL, 5), 3.0),
    "half a class": ("facts", (LABEL, 0), 0.5),
    "a class below 0": ("facts", (LABEL, 0), -1.0),
    "a weight below 0": ("facts", (WORTH, 0), -1.0),
    "a record of the future": ("facts", (STAMP, 0), 1e6),
    "a norm below 0": ("facts", (NORM, 0), -1.0),
    "infinity in a record": ("store", (0, 0), np.inf),
    "nan in the map": ("matrix", (0, 0), np.nan),
    "an effort below 0": ("effort", 0, -1.0),
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_is_impossible_is_refused(change: tuple[str, Any, float]) -> None:
    model = taught(small(LocalSVMClassifier), records(100))
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 1, *change))


@pytest.mark.parametrize("history", [30, 400])
def test_a_warm_start_remembers_and_nobody_votes_on_itself(history: int) -> None:
    X, y = arrays(history)
    model = LocalSVMClassifier(window=100)
    model.warm_start(X, y, epochs=3)
    assert model._memory is not None
    running = model._memory.views(1)["running"]
    assert running[kernel.RESTING] == 0
    assert running[kernel.SEEN] == history
