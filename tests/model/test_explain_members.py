"""Explanations of models with several kinds of members: all parts add up, and name their causes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm import (
    AdditiveSVMClassifier,
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    FernsClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    SAPLClassifier,
)
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.neighbours.kernel import NEAREST, YOUNG
from stream_llsvm.model.explain import Explanation
from tests.learners.support import NEW_LEARNERS, small
from tests.oracle_compare import stream

WIDTH = 5
#: Those whose reasons are records.
SILENT = ("memory", "memory, plain distances", "local")
MODELS: dict[str, tuple[type[LocalClassifier], dict[str, Any]]] = {
    "additive": (AdditiveSVMClassifier, {}),
    "additive, one against the rest": (
        AdditiveSVMClassifier,
        {"multiclass": "ovr", "loss": "hinge", "standardize": False},
    ),
    "memory": (MemoryClassifier, {}),
    "memory, plain distances": (MemoryClassifier, {"metric": None, "window": 40}),
    "ferns": (FernsClassifier, {}),
    "ferns, Huberized hinge": (FernsClassifier, {"loss": "huberized_hinge", "depth": 3}),
    "local": (LocalSVMClassifier, {}),
    "local, linear": (LocalSVMClassifier, {"kernel": "linear"}),
    "local, linear, diagonal": (LocalSVMClassifier, {"kernel": "linear", "metric": "diagonal"}),
    "local, linear, plain": (
        LocalSVMClassifier,
        {"kernel": "linear", "metric": None, "standardize": False},
    ),
    "committee": (CommitteeClassifier, {}),
    "waves": (CommitteeClassifier, {"members": ("waves",)}),
    "committee of one": (CommitteeClassifier, {"members": ("anchors:1",)}),
    "committee with a local member": (CommitteeClassifier, {"members": ("ferns", "local:80")}),
    "committee of twins": (CommitteeClassifier, {"members": ("memory:50", "memory:50", "ferns")}),
}


def _learned(name: str, classes: int, n: int = 300) -> tuple[LocalClassifier, Any]:
    kind, options = MODELS[name]
    make: Any = kind
    model: LocalClassifier = make(**options)
    x, labels = stream(0, n, WIDTH, classes, missing=0.05)
    model.learn_many(x, [f"class {c}" for c in labels])
    return model, x


def _record(row: Any) -> dict[Any, float]:
    return dict(enumerate(row.tolist()))


def _check_sum(explained: Explanation, score: float) -> None:
    parts = [explained.bias, explained.memory, *explained.contributions.values()]
    size = max(abs(score), *map(abs, parts))
    assert sum(parts) == pytest.approx(score, abs=1e-4 * size)
    assert sum(explained.members.values()) == pytest.approx(score, abs=1e-4 * size)
    assert explained.score == pytest.approx(score, abs=1e-6 * size)


@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_the_parts_add_up_to_every_classs_score(name: str, classes: int) -> None:
    model, x = _learned(name, classes)
    for row in x[:15]:
        for label, score in model.decision_function_one(_record(row)).items():
            _check_sum(model.explain_one(_record(row), label), score)


@pytest.mark.parametrize("n", [1, 2, 30, 55])
@pytest.mark.parametrize("name", MODELS)
def test_the_parts_add_up_from_the_first_records_on(name: str, n: int) -> None:
    """Before the window is full, and before the ferns are drawn."""
    model, x = _learned(name, 2, n=n)
    for label, score in model.decision_function_one(_record(x[0])).items():
        _check_sum(model.explain_one(_record(x[0]), label), score)


@pytest.mark.parametrize("name", MODELS)
def test_records_with_gaps_strangers_and_nothing_at_all(name: str) -> None:
    model, x = _learned(name, 3)
    for record in (
        {},
        {0: None, 1: float("nan"), 2: x[0, 2], "never seen": 1.0},
        {3: 1.0},
        dict.fromkeys(range(WIDTH)),
        dict.fromkeys(range(WIDTH), 1e30),
    ):
        for label, score in model.decision_function_one(record).items():
            explained = model.explain_one(record, label)
            _check_sum(explained, score)
            known = set(record) - {"never seen"} if name not in SILENT else set()
            assert set(explained.contributions) == set(explained.weights) == known


@pytest.mark.parametrize("kind", NEW_LEARNERS)
def test_sparse_records_are_explained_by_the_features_that_they_name(
    kind: type[LocalClassifier],
) -> None:
    rng = np.random.default_rng(1)
    model = small(kind)
    words = [f"w{i}" for i in range(90)]
    model.learn_one(dict.fromkeys(words, 1.0), 0)  # so that there is no room to spare
    for _ in range(200):
        named = rng.choice(90, size=8, replace=False)
        record = {f"w{i}": float(rng.integers(1, 4)) for i in named}
        model.learn_one(record, int(named.min() % 3))
    for label, score in model.decision_function_one(record).items():
        explained = model.explain_one(record, label)
        _check_sum(explained, score)
        silent = kind in (MemoryClassifier, LocalSVMClassifier, BudgetedPegasosClassifier)
        assert set(explained.contributions) == (set() if silent else set(record))


@pytest.mark.parametrize(
    "kind",
    [
        SAPLClassifier,
        AdditiveSVMClassifier,
        MemoryClassifier,
        FernsClassifier,
        CommitteeClassifier,
    ],
)
def test_room_for_features_that_nobody_has_seen_changes_nothing(
    kind: type[LocalClassifier],
) -> None:
    """From 64 features on, new ones find room made in advance."""
    rng = np.random.default_rng(0)
    model: LocalClassifier = kind()
    for i in range(400):
        values = rng.normal(size=66 if i == 0 else 67)
        model.learn_one(dict(enumerate(values.tolist())), i % 3)
    assert model._state is not None and model._state.width > len(model.features)
    record = {j: float(rng.normal()) for j in range(67)}
    for label, score in model.decision_function_one(record).items():
        _check_sum(model.explain_one(record, label), score)


def test_explaining_changes_nothing_and_can_be_repeated() -> None:
    model, x = _learned("committee", 3)
    twin, _ = _learned("committee", 3)
    first = model.explain_one(_record(x[0]))
    model.predict_one(_record(x[1]))
    assert model.explain_one(_record(x[0])) == first
    model.learn_one(_record(x[2]), "class 0")
    twin.learn_one(_record(x[2]), "class 0")
    assert model.predict_proba_one(_record(x[3])) == twin.predict_proba_one(_record(x[3]))


# ---- members


def test_the_members_are_named_as_the_user_named_them() -> None:
    members = ("anchors:1", "anchors:30", "additive:33", "memory:200", "ferns:20")
    model = CommitteeClassifier(members=members)
    x, labels = stream(0, 100, WIDTH, 2)
    model.learn_many(x, labels)
    assert list(model.explain_one(_record(x[0])).members) == list(members)


def test_only_the_memory_remembers() -> None:
    for name in ("additive", "ferns", "committee of one"):
        model, x = _learned(name, 2)
        explained = model.explain_one(_record(x[0]))
        assert explained.memory == 0
        assert explained.voters == []
    model, x = _learned("memory", 2)
    explained = model.explain_one(_record(x[0]))
    assert explained.memory == pytest.approx(explained.score)
    assert explained.bias == 0 and explained.contributions == explained.weights == {}


# ---- voters


def test_voters_are_the_nearest_records_nearest_first() -> None:
    """Label, age and distance are those of records that the test knows."""
    rng = np.random.default_rng(0)
    model = MemoryClassifier(metric=None, standardize=False, window=50)
    x, labels = rng.normal(size=(80, 3)), np.arange(80) % 20  # no five neighbours agree
    model.learn_many(x, [f"class {c}" for c in labels])
    for asked in rng.normal(size=(10, 3)):
        distance = np.sqrt(((x[-50:] - asked) ** 2).sum(axis=1))
        order = np.argsort(distance)[:NEAREST]
        voters = model.explain_one(_record(asked)).voters
        np.testing.assert_allclose([v.distance for v in voters], distance[order], rtol=1e-4)
        assert [v.age for v in voters] == (49 - order).tolist()
        assert [v.label for v in voters] == [f"class {c}" for c in labels[-50:][order]]


def test_the_voters_shares_are_their_part_of_the_votes() -> None:
    rng = np.random.default_rng(0)
    model = MemoryClassifier(metric=None, standardize=False)
    x = rng.normal(size=(40, 2))
    w = rng.choice([1.0, 3.0], 40)
    model.learn_many(x, [i % 11 for i in range(40)], w=w)
    voters = model.explain_one({0: 0.1, 1: -0.3}).voters
    weights = np.array([w[39 - int(v.age)] / (v.distance + 1e-3) for v in voters])
    np.testing.assert_allclose([v.share for v in voters], weights / weights.sum(), rtol=1e-4)


def test_a_remembered_record_is_its_own_first_voter() -> None:
    x, _ = stream(0, 300, WIDTH, 3)
    labels = np.arange(300) % 80  # no five neighbours agree: all are remembered
    model = MemoryClassifier(standardize=False)
    model.learn_many(x, labels)
    for i in (YOUNG, 100, 299):  # those before are forgotten
        first = model.explain_one(_record(x[i])).voters[0]
        assert (first.label, first.age) == (labels[i], 299 - i)


def test_the_distance_is_the_learned_metrics() -> None:
    x, labels = stream(0, 300, WIDTH, 3)
    model = MemoryClassifier(standardize=False)
    model.learn_many(x, labels)
    assert model._state is not None
    ruler = model._state.views(1)["ruler"].astype(float)
    assert np.ptp(ruler) > 0.1
    asked = x.mean(axis=0)
    for voter in model.explain_one(_record(asked)).voters:
        stored = x[299 - int(voter.age)]
        squared = float(ruler @ (stored - asked) ** 2)
        assert voter.distance == pytest.approx(np.sqrt(squared), rel=1e-3)


def test_with_few_records_all_of_them_vote() -> None:
    model = MemoryClassifier()
    model.learn_one({"a": 1.0}, "x")
    (voter,) = model.explain_one({"a": 2.0}).voters
    assert (voter.label, voter.age, voter.share) == ("x", 0, 1)


# ---- contributions


def test_an_additive_models_contribution_is_its_features_own() -> None:
    """Whatever the other features are; the record's score changes by just that."""
    model = AdditiveSVMClassifier(standardize=False)
    x, labels = stream(0, 500, WIDTH, 3)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model.learn_many(x, labels)
    label = model.predict_one(_record(x[0]))
    for row in x[:10]:
        one = model.explain_one(_record(row), label)
        other = model.explain_one(_record(row) | {0: 0.123}, label)
        for i in range(1, WIDTH):
            assert one.contributions[i] == pytest.approx(other.contributions[i], abs=1e-6)
        change = one.contributions[0] - other.contributions[0]
        assert one.score - other.score == pytest.approx(change, abs=1e-4)


@pytest.mark.parametrize("far", [False, True])
def test_an_additive_models_weights_are_its_curves_slopes(far: bool) -> None:
    model = AdditiveSVMClassifier(standardize=False)
    x, labels = stream(0, 500, WIDTH, 2)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model.learn_many(x, labels)
    knot = 2 * Z_MOST / 32
    for row in np.random.default_rng(1).uniform(-1.5, 1.5, size=(20, WIDTH)):
        # The middle between two knots, or far beyond the last one.
        row[:] = 2 * Z_MOST if far else (np.floor(row / knot) + 0.5) * knot
        explained = model.explain_one(_record(row), labels[0])
        for i in range(WIDTH):
            step = np.where(np.arange(WIDTH) == i, 0.25 * knot, 0)
            up, down = (
                model.decision_function_one(_record(row + s * step))[labels[0]] for s in (1, -1)
            )
            slope = (up - down) / (0.5 * knot)
            assert explained.weights[i] == pytest.approx(slope, abs=1e-3)


def test_a_feature_that_no_fern_asks_for_contributes_nothing() -> None:
    model = FernsClassifier(n_ferns=3, depth=2)
    x, labels = stream(0, 300, 20, 3)
    model.learn_many(x, labels)
    assert model._state is not None
    asked = set(model._state.views(1)["features"].reshape(-1).tolist())
    contributions = model.explain_one(_record(x[0])).contributions
    assert {i for i, v in contributions.items() if v != 0} <= asked < set(range(20))


def test_a_fern_that_asks_of_one_feature_is_explained_by_it() -> None:
    rng = np.random.default_rng(0)
    model = FernsClassifier()
    for _ in range(800):
        y = bool(rng.random() < 0.5)
        model.learn_one({"tells": rng.normal(3.0 * y), "noise": rng.normal()}, y)
    told = model.explain_one({"tells": 3.0, "noise": 0.0}, True).contributions
    assert told["tells"] > 5 * abs(told["noise"])


def test_what_a_feature_turns_of_the_waves_is_the_gradient_along_the_way() -> None:
    """By the midpoint rule, on the straight way from the mean record."""
    model, _ = _learned("waves", 3)
    assert model._state is not None
    member: Any = model._state.members[0]
    views = model._state.views(1)
    z = np.array([0.7, -1.3, 0.0, 2.1, -0.4])
    parts = member.parts(views, z)
    steps = (np.arange(2_000) + 0.5) / 2_000
    along = np.mean([member.parts(views, t * z).slopes for t in steps], axis=0)
    np.testing.assert_allclose(parts.of_features, along * z, rtol=1e-4, atol=1e-6)
    assert np.abs(parts.of_features).max() > 0.01
    assert (parts.of_features[..., 2] == 0).all()
    nowhere = member.parts(views, np.zeros(WIDTH))
    assert not nowhere.of_features.any()
    np.testing.assert_allclose(nowhere.rest, parts.rest)
