"""Models that learned different parts of a stream become one that is better than they are."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import datasets

from stream_llsvm import (
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    L3SVMClassifier,
    LLSVMClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    load_model,
)
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.merge import MergeWarning, _brought_to
from stream_llsvm.members.neighbours import kernel as remembering
from stream_llsvm.model.merge import merged
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.labels import LabelSpace
from tests.learners.support import ALL_LEARNERS, everything, records, small, sound, taught

# What a query's small SVM was solved from cannot be averaged, nor weights of other landmarks or
# support vectors.
NO_MEAN = (
    LocalSVMClassifier,
    L3SVMClassifier,
    BudgetedPegasosClassifier,
)
KINDS = pytest.mark.parametrize("kind", [kind for kind in ALL_LEARNERS if kind not in NO_MEAN])


def parted(kind: type[LocalClassifier], n: int = 3, **options: Any) -> list[LocalClassifier]:
    """Return models that were one for 200 records, and then learned 100 each."""
    stream = records(200 + 100 * n)
    first = taught(small(kind, **options), stream[:200])
    models = [copy.deepcopy(first) for _ in range(n)]
    for i, model in enumerate(models):
        taught(model, stream[200 + 100 * i : 300 + 100 * i])
    return models


@pytest.fixture(scope="module")
def segments() -> tuple[Any, Any]:
    rows = list(datasets.ImageSegments())
    names = sorted(rows[0][0])
    X = np.array([[x[name] for name in names] for x, _ in rows], dtype=float)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], np.array([y for _, y in rows])[order]


def loss(model: LocalClassifier, X: Any, y: Any) -> float:
    proba = model.predict_proba_many(X)
    codes = [model.classes.index(label) for label in y.tolist()]
    return float(-np.mean(np.log(np.maximum(proba[np.arange(len(y)), codes], 1e-9))))


@KINDS
def test_merged_is_better_than_its_parts(
    kind: type[LocalClassifier], segments: tuple[Any, Any]
) -> None:
    """Measured: the log loss of the merged model is 1 to 19 % below the mean of its parts'."""
    X, y = segments
    first = kind()
    first.learn_many(X[:460], y[:460])
    parts = []
    for begin in (460, 920, 1_380):
        part = copy.deepcopy(first)
        part.learn_many(X[begin : begin + 460], y[begin : begin + 460])
        parts.append(part)
    test = slice(1_840, None)
    model = parts[0].merge(parts[1:])
    alone = np.mean([loss(part, X[test], y[test]) for part in parts])
    assert loss(model, X[test], y[test]) < 0.99 * alone
    assert loss(model, X[test], y[test]) < 0.9 * loss(first, X[test], y[test])


@KINDS
def test_copies_of_one_are_that_one(kind: type[LocalClassifier]) -> None:
    model = taught(small(kind), records(300))
    assert everything(model.merge([copy.deepcopy(model) for _ in range(3)])) == everything(model)
    assert everything(model.merge([])) == everything(model)
    # Also when every number goes through the means.
    assert model._state is not None
    mean = copy.deepcopy(model)
    mean._state = merged([copy.deepcopy(model._state) for _ in range(3)], [1.0, 2.0, 0.5]).state
    assert sound(mean)
    for x, _ in records(100, seed=1):
        # Rounding may change which of two anchors is nearer.
        assert list(mean.predict_proba_one(x).values()) == pytest.approx(
            list(model.predict_proba_one(x).values()), abs=5e-3
        )
    for row in range(1 + len(model._state.members)):
        before, after = model._state.views(row), mean._state.views(row)
        if "store" in before:  # the ring begins at its oldest record now
            before["running"][remembering.HEAD] = 0
        for name in ("counters", "calibration", "members", "mixer", "running", "hits", "mass"):
            if name in before:
                np.testing.assert_allclose(after[name], before[name], rtol=1e-5, err_msg=name)


@KINDS
def test_the_order_makes_no_difference(kind: type[LocalClassifier]) -> None:
    a, b, c = parted(kind)
    before = [everything(model) for model in (a, b, c)]
    one = everything(a.merge([b, c], weights=[1, 2, 3]))
    assert one == everything(c.merge([a, b], weights=[3, 1, 2]))
    assert one == everything(b.merge([c, a], weights=[4, 6, 2])), "only proportions count"
    assert one != everything(a.merge([b, c]))
    assert before == [everything(model) for model in (a, b, c)], "the models stay as they are"


@KINDS
def test_what_counts_nothing_changes_nothing(kind: type[LocalClassifier]) -> None:
    a, b, c = parted(kind)
    assert everything(a.merge([b, c], weights=[0, 1, 0])) == everything(b)
    fresh = small(kind)
    assert everything(a.merge([fresh])) == everything(a)
    assert everything(fresh.merge([a])) == everything(a)
    assert everything(fresh.merge([small(kind)])) == everything(fresh)


@KINDS
def test_the_merged_model_goes_on(kind: type[LocalClassifier], tmp_path: Path) -> None:
    a, b, c = parted(kind)
    model = a.merge([b, c])
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for either in (model, loaded):
        taught(either, records(300, seed=5))
        taught(either, [({"f0": 1.0, "new": 2.0}, "new")])
        assert sound(either)
    assert everything(model) == everything(loaded)


def test_weights_in_the_users_units_are_means_by_mass() -> None:
    """Each model's own scales drop out: in the user's units W = sum mass W / sum mass."""
    rng = np.random.default_rng(0)
    X = rng.normal(5, 3, (900, 3))
    y = (X[:, 0] + X[:, 1] > 10).tolist()
    first = LLSVMClassifier(n_anchors=1)
    first.learn_many(X[:300], y[:300])
    other = copy.deepcopy(first)
    first.learn_many(X[300:500], y[300:500])
    other.learn_many(X[500:] + np.array([1, 0, 0]), y[500:])  # its scales differ
    model = first.merge([other], weights=[2, 1])
    (one,), (two,), (mean,) = first.anchors, other.anchors, model.anchors
    assert model._state is not None and first._state is not None and other._state is not None
    share = 2 * one.mass / (2 * one.mass + two.mass)
    machines = []
    for which in (first, other, model):
        assert which._state is not None
        memory = which._state
        (_, _, weights, biases) = next(memory.members[0].anchors(memory.views(1)))
        statistics = memory.views(0)["statistics"]
        per_unit = weights * statistics[:3, 4]
        machines.append((per_unit, biases - per_unit @ statistics[:3, 3]))
    for i in range(2):
        wanted = share * machines[0][i] + (1 - share) * machines[1][i]
        np.testing.assert_allclose(machines[2][i], wanted, rtol=2e-4, atol=2e-5)
    position = {n: share * one.position[n] + (1 - share) * two.position[n] for n in range(3)}
    assert mean.position == pytest.approx(position, rel=1e-4)
    assert mean.mass == pytest.approx((2 * one.mass + two.mass) / 3)


def test_scales_are_those_of_all_values_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([0, 100], [1, 10], (400, 2))
    X[250:] += [3, -20]
    a, b = (LLSVMClassifier(n_anchors=1) for _ in range(2))
    a.learn_many(X[:250], [i % 2 for i in range(250)])
    b.learn_many(X[250:], [i % 2 for i in range(150)])
    memory = a.merge([b])._state
    assert memory is not None
    statistics = memory.views(0)["statistics"]
    np.testing.assert_allclose(statistics[:2, 1], X.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(statistics[:2, 2], X.var(axis=0), rtol=1e-9)


@KINDS
def test_features_and_classes_in_another_order(kind: type[LocalClassifier]) -> None:
    """A model brought to another order is the same model."""
    model = taught(small(kind), records(300))
    twin = copy.deepcopy(model)
    twin._features, twin._labels = FeatureSpace(["f2", "f0", "f1"]), LabelSpace([1, 2, 0])
    twin._state = _brought_to(model, twin._features, twin._labels, 3)
    for x, _ in records(100, seed=1):
        assert twin.predict_proba_one(x) == pytest.approx(model.predict_proba_one(x), abs=1e-4)
    both = model.merge([twin])
    assert both.features == model.features and both.classes == model.classes


@KINDS
def test_two_classes_the_other_way_round(kind: type[LocalClassifier]) -> None:
    model = taught(small(kind), records(300, classes=2))
    twin = copy.deepcopy(model)
    twin._labels = LabelSpace(model.classes[::-1])
    twin._state = _brought_to(model, twin._features, twin._labels, 3)
    for x, _ in records(100, seed=1):
        assert twin.predict_proba_one(x) == pytest.approx(model.predict_proba_one(x), abs=1e-4)


@KINDS
def test_each_found_features_and_classes_of_its_own(kind: type[LocalClassifier]) -> None:
    a, b, c = parted(kind)
    taught(a, [({"f0": 1.0, "left": 1.0 * i}, "a") for i in range(20)])
    taught(b, [({"f1": 1.0, "right": 1.0 * i, "f9": 0.0}, "b") for i in range(20)])
    model = a.merge([b, c])
    assert set(model.features) == {"f0", "f1", "f2", "left", "right", "f9"}
    assert set(model.classes) == {0, 1, 2, "a", "b"}
    assert sound(model)
    assert sum(model.predict_proba_one({"f0": 1.0, "right": 3.0}).values()) == pytest.approx(1)
    taught(model, records(50, seed=3))


def test_the_union_of_what_is_remembered() -> None:
    a, b = parted(MemoryClassifier, 2)
    model = a.merge([b])

    def held(of: LocalClassifier) -> Any:
        assert of._state is not None
        views = of._state.views(1)
        n = int(views["running"][remembering.HELD])
        ages = views["running"][remembering.SEEN] - views["facts"][remembering.STAMP, :n]
        return views, n, ages

    views, n, ages = held(model)
    assert n == 70, "as many as the window holds"
    both = sorted(np.concatenate([held(a)[2], held(b)[2]]).tolist())
    # Records of the time before they parted are in both, and are counted once.
    assert sorted(ages.tolist())[:60] == [age for age in both if age < 100][:60]
    rows = {views["store"][:, j].tobytes() + views["facts"][:, j].tobytes() for j in range(n)}
    assert len(rows) == n


def test_shares_of_labels_and_weights_of_waves_are_means() -> None:
    a, b = parted(CommitteeClassifier, 2, members=("prior:9", "waves:8"))
    model = a.merge([b])
    for row, names in ((1, ("shares",)), (2, ("weights", "variance"))):
        of, left, right = (m._state.views(row) for m in (model, a, b) if m._state is not None)
        for name in names:
            assert not np.array_equal(left[name], right[name])
            np.testing.assert_allclose(of[name], (left[name] + right[name]) / 2, atol=1e-6)


def test_of_waves_that_differ_those_that_have_seen_the_most_are_taken() -> None:
    """Features in another order have other waves."""
    stream = records(300)
    a = taught(small(CommitteeClassifier, members=("waves:8",)), stream)
    late = [({"f2": 1.0}, 0), *stream[:200]]
    b = taught(small(CommitteeClassifier, members=("waves:8",)), late)
    assert a.features != b.features
    model = a.merge([b])
    assert model._state is not None and a._state is not None
    for name in ("frequencies", "weights", "variance"):
        assert np.array_equal(model._state.views(1)[name], a._state.views(1)[name])


def test_of_anchors_that_are_not_shared_the_newest_models_are_taken() -> None:
    options: Any = {"n_anchors": 12, "n_neighbors": 4}
    a = taught(LLSVMClassifier(**options), records(300))
    b = taught(LLSVMClassifier(**options), records(200, seed=1))
    c = taught(LLSVMClassifier(**options), records(5))
    for other in (b, c):
        with pytest.warns(MergeWarning, match=r"anchors:12 has nothing in common"):
            model = a.merge([other])
        assert model.merge_fallbacks == {"anchors:12": 1}
        assert [round(p.mass) for p in model.anchors] == [round(p.mass) for p in a.anchors]
        assert sound(model)


def test_a_local_svm_cannot_be_merged() -> None:
    first, *others = parted(LocalSVMClassifier)
    with pytest.raises(ValueError, match="'local:70' cannot be merged"):
        first.merge(others)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (L3SVMClassifier, "landmarks:5"),
        (BudgetedPegasosClassifier, "pegasos:20"),
    ],
)
def test_machines_over_landmarks_cannot_be_merged(kind: type[LocalClassifier], name: str) -> None:
    first, *others = parted(kind)
    with pytest.raises(ValueError, match=f"'{name}' cannot be merged"):
        first.merge(others)


def test_other_kinds_and_options_are_refused() -> None:
    a = taught(LLSVMClassifier(), records(50))
    other: Any = taught(MemoryClassifier(), records(50))
    with pytest.raises(ValueError, match=r"one kind.*LLSVMClassifier and a MemoryClassifier"):
        a.merge([other])
    with pytest.raises(ValueError, match=r"same options.*n_anchors=100 and 7, seed=0 and 1"):
        a.merge([LLSVMClassifier(n_anchors=7, seed=1)])
    with pytest.raises(ValueError, match="LLSVMClassifier and a str"):
        a.merge(["model"])  # type: ignore[list-item]
    many = taught(CommitteeClassifier(threads=2), records(50))
    twin = taught(CommitteeClassifier(), records(50))
    assert everything(many.merge([twin])) == everything(many)
    with pytest.raises(TypeError, match=r"several models: model.merge\(\[other\]\)"):
        LLSVMClassifier().merge(LLSVMClassifier())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "1 weights for 2 models"),
        ([1, -1], "from 0 up, got -1"),
        ([1, float("nan")], "from 0 up, got nan"),
        ([1, "2"], "from 0 up, got '2'"),
        ([0, 0], "at least one"),
    ],
)
def test_bad_weights_are_refused(weights: list[Any], message: str) -> None:
    a = taught(LLSVMClassifier(), records(20))
    with pytest.raises(ValueError, match=message):
        a.merge([copy.deepcopy(a)], weights=weights)
