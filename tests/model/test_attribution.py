"""A contribution is what the score loses when the feature is set to its mean."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stream_llsvm import (
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    FernsClassifier,
    L3SVMClassifier,
    LCCClassifier,
    LLSVMRegressor,
    LocalSVMClassifier,
    MemoryClassifier,
    PegasosClassifier,
    PegasosRegressor,
    SAPLClassifier,
)
from stream_llsvm.kernels.scaling import CENTRE, MEAN
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model import attribution as module
from stream_llsvm.model.attribution import losses, places_of
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.rows import ABSENT, Row
from tests.learners.support import everything

#: Of which the whole score is the features': nothing is remembered.
TELLING: dict[str, Any] = {
    "sapl": SAPLClassifier,
    "one against the rest": lambda: SAPLClassifier(multiclass="ovr", loss="hinge"),
    "ferns": FernsClassifier,
    "linear landmarks": L3SVMClassifier,
    "local, linear": lambda: LocalSVMClassifier(kernel="linear"),
    "committee": lambda: CommitteeClassifier(
        members=("anchors:1", "anchors:30", "additive", "waves", "ferns", "prior")
    ),
}


def record(row: Any) -> dict[Any, float]:
    return dict(enumerate(row.tolist()))


def quadrants(n: int, classes: int, seed: int = 0) -> tuple[Any, list[int]]:
    """Return rows far from 0, and labels of which two features tell only together."""
    x = np.random.default_rng(seed).normal(size=(n, 4))
    labels = (x[:, 0] * x[:, 1] > 0).astype(int) + (classes > 2) * 2 * (x[:, 2] > 0.5)
    return x * [1, 20, 3, 0.1] + [5, -30, 0, 1], labels.tolist()


def means(model: LocalClassifier) -> dict[Any, float]:
    assert model._state is not None
    centres = model._state.views(0)["statistics"][: len(model.features), CENTRE]
    return dict(zip(model.features, centres.tolist(), strict=True))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", TELLING)
def test_it_is_what_the_score_loses_at_the_mean(name: str, classes: int) -> None:
    model = TELLING[name]()
    x, labels = quadrants(2_500, classes)
    model.learn_many(x, labels)
    mean = means(model)
    for row in x[-12:]:
        own = record(row)
        told = model.explain_one(own)
        for i, contribution in told.contributions.items():
            without = model.decision_function_one(own | {i: mean[i]})[told.label]
            assert contribution == pytest.approx(told.score - without, abs=1e-4)
        nothing = model.decision_function_one(mean)[told.label]
        assert told.reference == pytest.approx(nothing, abs=1e-4)


def bananas() -> tuple[Any, list[int]]:
    """Return two arcs around each other."""
    rng = np.random.default_rng(1)
    side = rng.integers(0, 2, 5_200)
    angle = rng.normal(0, 0.9, 5_200)
    x = np.stack([2 * np.cos(angle), 2 * np.sin(angle)], axis=1) * np.where(side, 1, -1)[:, None]
    x[:, 0] -= np.where(side, 1.0, -1.0)
    return x + rng.normal(0, 0.35, x.shape), side.tolist()


def crossed() -> tuple[Any, list[int]]:
    """Return exclusive or."""
    x = np.random.default_rng(2).normal(size=(5_200, 2))
    return x, (x[:, 0] * x[:, 1] > 0).astype(int).tolist()


def showers() -> tuple[Any, list[int]]:
    """Return ten features that depend on each other, some with long tails, like magic04's."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 5_200)
    hidden = rng.normal(size=(5_200, 4)) * np.where(labels, 1.0, 1.6)[:, None]
    x = hidden @ rng.normal(size=(4, 10)) + rng.normal(0, 0.5, (5_200, 10))
    x[:, :3] = np.exp(0.5 * x[:, :3])
    return x, labels.tolist()


@pytest.mark.parametrize("made", [bananas, crossed, showers])
@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
def test_contributions_go_with_what_the_whole_score_loses(kind: Any, made: Any) -> None:
    """Of a committee, too, whose memory votes as its neighbours lie and is told by itself."""
    x, labels = made()
    model = kind()
    model.learn_many(x[:5_000], labels[:5_000])
    mean, given, lost = means(model), [], []
    for row in x[5_000:5_100]:
        own = record(row)
        told = model.explain_one(own)
        parts = [told.bias, told.memory, *told.contributions.values()]
        assert sum(parts) == pytest.approx(told.score, abs=1e-9 * max(map(abs, parts)))
        for i, contribution in told.contributions.items():
            without = model.decision_function_one(own | {i: mean[i]})[told.label]
            given.append(contribution)
            lost.append(told.score - without)
    assert np.corrcoef(given, lost)[0, 1] > 0.9


def test_of_more_features_than_there_is_time_for_the_strongest_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = SAPLClassifier()
    x, labels = quadrants(800, 2)
    wide = np.hstack([x, np.random.default_rng(1).normal(size=(800, 20))])
    model.learn_many(wide, labels)
    exact = model.explain_one(record(wide[0]))
    monkeypatch.setattr(module, "_WORK", 1)
    told = model.explain_one(record(wide[0]))
    same = [i for i, v in told.contributions.items() if v == pytest.approx(exact.contributions[i])]
    assert 8 <= len(same) < 24
    parts = [told.bias, *told.contributions.values()]
    assert sum(parts) == pytest.approx(told.score, abs=1e-9 * max(map(abs, parts)))


@pytest.mark.parametrize(
    "kind", [LCCClassifier, MemoryClassifier, LocalSVMClassifier, BudgetedPegasosClassifier]
)
def test_who_cannot_attribute_says_nothing(kind: Any) -> None:
    model = kind()
    x, labels = quadrants(300, 2)
    model.learn_many(x, labels)
    told = model.explain_one(record(x[0]))
    assert told.contributions == {}
    assert 0.0 not in told.weights.values()
    assert told.bias + told.memory == pytest.approx(told.score)


@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier, LocalSVMClassifier])
def test_explaining_leaves_every_bit_as_it_is(kind: Any) -> None:
    """The state, and the predictions that wait for their labels."""
    model, twin = kind(), kind()
    x, labels = quadrants(400, 3)
    for one in (model, twin):
        one.learn_many(x, labels)
        one.predict_one(record(x[0]))
    before = everything(model)
    for row in x[:30]:
        model.explain_one(record(row))
    assert everything(model) == before
    assert model._state.foretold().entries.tolist() == twin._state.foretold().entries.tolist()
    for row, label in zip(x[:30], labels[:30], strict=True):
        model.explain_one(record(row))
        for one in (model, twin):
            one.predict_one(record(row))
            one.learn_one(record(row), label)
    assert everything(model) == everything(twin)


# ---- Pegasos and regressors


@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("standardize", [True, False])
def test_pegasos_explains_itself(classes: int, standardize: bool) -> None:
    model = PegasosClassifier(standardize=standardize)
    x, labels = quadrants(2_000, max(2, classes))
    x = x if standardize else (x - x.mean(axis=0)) / x.std(axis=0)
    labels = [0 if classes == 1 else label for label in labels]
    model.learn_many(x, labels)
    assert model._state is not None
    for row in x[-10:]:
        for label, score in model.decision_function_one(record(row)).items():
            told = model.explain_one(record(row), label)
            assert told.label == label
            assert told.score == score
            total = told.bias + sum(told.contributions.values())
            assert total == pytest.approx(score, abs=1e-9)
            for i, contribution in told.contributions.items():
                usual = float(model._state.views(0)["statistics"][i, MEAN])
                without = model.decision_function_one(record(row) | {i: usual})[label]
                assert contribution == pytest.approx(score - without, abs=1e-4)
        assert model.explain_one(record(row)).label == model.predict_one(record(row))


def test_pegasos_explains_sparse_records_and_refuses_as_others_do() -> None:
    rng = np.random.default_rng(0)
    model = PegasosClassifier()
    with pytest.raises(ValueError, match="nothing has been learned"):
        model.explain_one({"a": 1.0})
    for _ in range(300):
        words = {f"w{i}": 1.0 for i in rng.choice(300, size=6, replace=False)}
        model.learn_one(words, "w1" in words or "w7" in words)
    told = model.explain_one(words)
    assert set(told.contributions) == set(told.weights) == set(words)
    score = model.decision_function_one(words)[told.label]
    assert told.bias + sum(told.contributions.values()) == pytest.approx(score, abs=1e-9)
    for word, contribution in told.contributions.items():
        rest = {name: 1.0 for name in words if name != word}
        without = model.decision_function_one(rest)[told.label]
        assert contribution == pytest.approx(score - without, abs=1e-5)
    with pytest.raises(ValueError, match="has not been seen"):
        model.explain_one(words, "never")


@pytest.mark.parametrize("kind", [PegasosRegressor, LLSVMRegressor])
@pytest.mark.parametrize("width", [5, 200])
def test_numbers_are_explained_in_their_own_units(kind: Any, width: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_500, width))
    x[:, 2] *= rng.random(2_500) < 0.7  # some are 0, which is like missing among many
    y = 100 + 30 * x[:, 0] - 10 * x[:, 1]
    model = kind()
    model.learn_many(x, y.tolist())
    for row in x[-5:]:
        told = model.explain_one(record(row))
        assert told.score == pytest.approx(model.predict_one(record(row)))
        total = told.bias + sum(told.contributions.values())
        assert total == pytest.approx(told.score, abs=1e-6)
        for i in range(3):
            without = model.predict_one(record(row) | {i: None})
            assert told.contributions[i] == pytest.approx(told.score - without, abs=1e-2)
        assert told.weights[0] == pytest.approx(30, rel=0.4)


# ---- rows with some values as usual


def test_rows_with_some_values_as_usual_dense_and_sparse() -> None:
    seen: list[Row] = []

    def score(rows: Row) -> Any:
        seen.append(rows)
        if rows.starts.size == 0:
            return np.where(rows.values == ABSENT, 0.0, rows.values).sum(axis=1)
        ends = itertools.pairwise(rows.starts.tolist())
        return np.array([rows.values[begin:end].sum() for begin, end in ends])

    dense = FeatureSpace(["a", "b", "c"]).encode({"a": 1.0, "b": 2.0, "c": 4.0})
    places = places_of(dense, ["a", "b", "c"])
    usual = np.array([ABSENT, 0.5, ABSENT])
    found = losses(dense, usual, list(places.values()), score, 2)
    assert found.each.tolist() == [1, 1.5, 4]
    assert found.reference == 0.5
    assert [len(rows.values) for rows in seen] == [2, 2, 1]
    names = [f"w{i}" for i in range(200)]
    sparse = FeatureSpace(names).encode({"w9": 5.0, "w3": 7.0})
    both = places_of(sparse, ["first", None])
    assert list(both) == ["first"]
    found = losses(sparse, np.full(2, ABSENT), list(both.values()), score, 100)
    assert (found.each.tolist(), found.reference) == ([7.0], 5.0)
    assert seen[-1].columns.tolist() == [3, 9, 9, 9]
