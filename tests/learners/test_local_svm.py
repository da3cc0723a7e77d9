"""Local SVMs as classifiers: what only they do.

What any optional member must do: test_optional_members.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from river import datasets, evaluate, metrics

from stream_llsvm import LocalSVMClassifier
from stream_llsvm.members.family.local_svm import kernel
from tests.learners.test_optional_members import arrays
from tests.oracle_compare import stream


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


@pytest.mark.parametrize("history", [30, 400])
def test_a_warm_start_remembers_and_nobody_votes_on_itself(history: int) -> None:
    X, y = arrays(history)
    model = LocalSVMClassifier(window=100)
    model.warm_start(X, y, epochs=3)
    assert model._state is not None
    running = model._state.views(1)["running"]
    assert running[kernel.RESTING] == 0
    assert running[kernel.SEEN] == history
