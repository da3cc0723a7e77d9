"""A sparse matrix is learned as the records that name what it stores, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stream_llsvm import FeaturesLeftOutWarning, SAPLClassifier
from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import ALL_LEARNERS, everything, small

WIDTH = 300


def documents(n: int = 60, seed: int = 0) -> tuple[Any, list[str]]:
    """Return word counts: common words first, and topics with words of their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    chance = np.outer(np.ones(n), 0.15 / (1 + np.arange(WIDTH) / 20))
    for topic in range(3):
        chance[np.ix_(y == topic, np.arange(topic, WIDTH, 29))] += 0.3
    X = sparse.csr_array((rng.random((n, WIDTH)) < chance) * rng.integers(1, 4, (n, WIDTH)))
    return X, [f"topic {label}" for label in y]


def record(X: Any, i: int) -> dict[int, float]:
    row = X[[i]]
    return dict(zip(row.indices.tolist(), row.data.astype(float).tolist(), strict=True))


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_learn_many_is_row_by_row(kind: type[LocalClassifier]) -> None:
    X, y = documents()
    one, many, tested = small(kind), small(kind), small(kind)
    before = []
    for i, label in enumerate(y):
        before.append(one.predict_one(record(X, i)))
        one.learn_one(record(X, i), label)
    for part in (slice(0, 1), slice(1, 40), slice(40, 60)):
        many.learn_many(X[part], y[part])
    told = tested.test_then_learn(X, y).tolist()
    assert everything(many) == everything(one) == everything(tested)
    assert told == before
    assert many.predict_many(X).tolist() == [one.predict_one(record(X, i)) for i in range(60)]
    proba = many.predict_proba_many(X)
    np.testing.assert_array_equal(
        proba, [list(one.predict_proba_one(record(X, i)).values()) for i in range(60)]
    )


def test_rows_that_count_nothing_bring_nothing() -> None:
    X, y = documents()
    w = np.ones(60)
    w[:30:2] = 0
    one, many = small(SAPLClassifier), small(SAPLClassifier)
    for i, label in enumerate(y):
        one.learn_one(record(X, i), label, w=float(w[i]))
    many.learn_many(X, y, w=w)
    assert everything(many) == everything(one)


def test_only_features_that_occur_take_room() -> None:
    X = sparse.csr_array(([1.0, 2.0], ([0, 1], [7, 999_999])), shape=(2, 1_000_000))
    model = small(SAPLClassifier)
    model.learn_many(X, ["a", "b"])
    assert model.features == (7, 999_999)
    started = small(SAPLClassifier)
    started.warm_start(X, ["a", "b"])
    assert started.features == (7, 999_999)
    assert started.predict_many(X).tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_warm_start_learns_documents(kind: type[LocalClassifier]) -> None:
    X, y = documents(400)
    model = small(kind)
    model.warm_start(X[:300], y[:300], epochs=3)
    right = np.mean(model.predict_many(X[300:]) == np.array(y[300:]))
    assert right > 0.5, "one in three is chance"


def test_words_for_which_there_is_no_room_are_left_out() -> None:
    X, y = documents()
    model = SAPLClassifier(max_mb=4)
    with pytest.warns(FeaturesLeftOutWarning, match="max_mb=4 has room for"):
        model.learn_many(X, y)
    assert model.left_out > 0 and len(model.features) < len(np.unique(X.indices))
    assert set(model.classes) == set(y)


def test_a_class_that_does_not_fit_is_refused_before_anything_is_learned() -> None:
    X, _ = documents()
    model = SAPLClassifier(max_mb=1)
    with pytest.raises(ValueError, match="more than max_mb=1"):
        model.learn_many(X, range(X.shape[0]))
    assert model.features == () and model.classes == ()
