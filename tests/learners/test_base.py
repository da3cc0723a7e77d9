"""What every learner does with the streams that life sends."""

from __future__ import annotations

import tracemalloc
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from stream_llsvm import (
    BoostedTreesClassifier,
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    ContextsClassifier,
    FernsClassifier,
    LCCClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    PegasosClassifier,
    SAPLClassifier,
)
from stream_llsvm.kernels.scaling import CENTRE, MEAN
from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model import state as model_state
from tests.learners.memory import held
from tests.learners.support import (
    ALL_LEARNERS,
    LEARNERS,
    Stream,
    accuracy,
    everything,
    records,
    small,
    sound,
    taught,
)

each_learner = pytest.mark.parametrize("kind", ALL_LEARNERS)
with_anchors = pytest.mark.parametrize("kind", LEARNERS)

#: Those that cannot share their scores out among features.
SILENT = (LCCClassifier, MemoryClassifier, LocalSVMClassifier, BudgetedPegasosClassifier)


@each_learner
def test_before_anything_is_learned(kind: type[LocalClassifier]) -> None:
    model = kind()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.decision_function_one({"a": 1.0}) == {}
    assert model.anchors == []
    assert model.classes == model.features == ()
    with pytest.raises(ValueError, match="nothing has been learned yet"):
        model.explain_one({"a": 1.0})


@each_learner
def test_asking_never_changes_the_model(kind: type[LocalClassifier]) -> None:
    stream = records(200)
    asked, silent = small(kind), small(kind)
    for x, y in stream:
        asked.predict_one({"f0": 9.0, "stranger": 1.0})
        asked.predict_many(np.ones((3, 2)))
        if asked.classes:
            asked.explain_one({"f1": 0.5})
        asked.decision_function_one(x)
        asked.predict_proba_one({**x, "stranger": 1.0})
        assert len(asked.anchors) <= 12
        asked.learn_one(x, y)
        silent.learn_one(x, y)
    assert everything(asked) == everything(silent)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
def test_sure_answers_can_still_be_ranked(kind: type[LocalClassifier], classes: int) -> None:
    """Where the classes lie apart nearly all answers are sure, and few may tie."""
    rng = np.random.default_rng(0)
    n = 8_000
    y = rng.integers(classes, size=n)
    X = rng.normal(size=(n, 3)) + 8 * np.eye(3)[y]
    model = kind()
    model.learn_many(X, y)
    asked = X[-2_000:] + 0.1 * rng.normal(size=(2_000, 3))
    proba = np.asarray(model.predict_proba_many(asked))
    sure = proba.max(axis=1)
    assert np.mean(sure > 0.999) > 0.9
    assert len(np.unique(sure)) > 0.99 * len(sure)
    scores = [model.decision_function_one(dict(enumerate(x))) for x in asked.tolist()]
    logits = np.array([list(s.values()) for s in scores])
    if classes == 2:
        margins = logits[:, 1] - logits[:, 0]
        assert (np.diff(proba[np.argsort(margins), 1]) >= 0).all()


@each_learner
def test_answers_agree_with_each_other(kind: type[LocalClassifier]) -> None:
    model = taught(kind(), records(400))
    for x, _ in records(50, seed=1):
        proba, scores = model.predict_proba_one(x), model.decision_function_one(x)
        assert list(proba) == list(scores) == list(model.classes)
        assert sum(proba.values()) == pytest.approx(1)
        assert sum(scores.values()) == pytest.approx(0, abs=1e-9)
        logits = np.array(list(scores.values()))
        shares = np.exp(logits - logits.max())
        label = model.predict_one(x)
        # Calibration changes how likely the likeliest is; the others keep their proportions.
        others = [c for c in model.classes if c != label]
        before = np.array([shares[model.classes.index(c)] for c in others])
        after = np.array([proba[c] for c in others])
        assert (after / after.sum()).tolist() == pytest.approx((before / before.sum()).tolist())
        assert label == max(proba, key=proba.__getitem__)
        for asked in (None, *model.classes):
            told = model.explain_one(x, label=asked)
            assert told.label == (label if asked is None else asked)
            assert told.score == pytest.approx(scores[told.label], abs=1e-5)
            parts = told.bias + told.memory + sum(told.contributions.values())
            assert parts == pytest.approx(told.score, abs=1e-4)
            assert set(told.contributions) == (set() if kind in SILENT else set(x))


@each_learner
def test_an_unknown_label_cannot_be_explained(kind: type[LocalClassifier]) -> None:
    model = taught(small(kind), records(20))
    with pytest.raises(ValueError, match=r"the label 'x' has not been seen; those seen: \("):
        model.explain_one({"f0": 1.0}, label="x")


KINDS: dict[str, list[Any]] = {
    "bool": [False, True],
    "numpy bool": [np.False_, np.True_],
    "int": [3, -1, 10**30],
    "numpy int": [np.int64(4), np.int8(5)],
    "str": ["no", "yes", ""],
    "numpy str": [np.str_("no"), np.str_("yes")],
    "float": [0.5, 1.5],
    "tuple": [("a", 1), ("a", 2), ()],
    "bytes": [b"a", b"b"],
    "frozenset": [frozenset({1}), frozenset()],
    "mixed": ["1", 1, (1,), False, 2.5],
}


@each_learner
@pytest.mark.parametrize("labels", KINDS.values(), ids=KINDS)
def test_labels_of_every_kind(kind: type[LocalClassifier], labels: list[Hashable]) -> None:
    model = small(kind)
    for i in range(200):
        model.learn_one({"a": float(i % len(labels))}, labels[i % len(labels)])
    assert list(model.classes) == labels
    for i, label in enumerate(labels):
        told = model.predict_one({"a": float(i)})
        # One linear machine a class cannot tell those in the middle of a line from both ends.
        assert told == label or (kind is PegasosClassifier and len(labels) > 2)
        assert not isinstance(told, np.generic), "numpy's labels become Python's"
        assert set(model.predict_proba_one({"a": float(i)})) == set(labels)


@each_learner
def test_one_class_only(kind: type[LocalClassifier]) -> None:
    model = taught(kind(), [(x, "only") for x, _ in records(300)])
    assert model.predict_one({"f0": 0.1}) == "only"
    assert model.predict_proba_one({}) == {"only": 1.0}
    assert model.explain_one({"f0": 1.0}).label == "only"
    assert sound(model)


@each_learner
def test_letters_that_arrive_late(kind: type[LocalClassifier]) -> None:
    """A new class every hundred records, until there are 26."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(26, 6)) * 3
    model, right = kind(), []
    for i in range(6_000):
        known = min(26, 2 + i // 100)
        c = int(rng.integers(known))
        x = dict(enumerate((centres[c] + rng.normal(size=6)).tolist()))
        right.append(model.predict_one(x) == chr(97 + c))
        model.learn_one(x, chr(97 + c))
    assert set(model.classes) == {chr(97 + c) for c in range(26)}
    partitions = {ContextsClassifier: 0.85, FernsClassifier: 0.88, BoostedTreesClassifier: 0.88}
    least = ({PegasosClassifier: 0.7} | partitions).get(kind, 0.9)
    assert np.mean(right[-1_000:]) > least
    assert sound(model)


@each_learner
def test_features_appear_and_vanish(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    model, right = kind(), []
    for i in range(3_000):
        y = bool(rng.random() < 0.5)
        hints = {f"f{j}": float(rng.normal(2 * y - 1, 0.7)) for j in range(6)}
        # Three of the six at any time; each comes, goes and returns.
        x = {name: v for j, (name, v) in enumerate(hints.items()) if (j + i // 250) % 6 < 3}
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert len(model.features) == 6
    assert np.mean(right[1_500:]) > 0.95
    assert sound(model)


@each_learner
def test_three_hundred_features_one_at_a_time(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    one, frames = small(kind), small(kind)
    for i in range(300):
        values = rng.normal(size=i + 1)
        one.learn_one(dict(enumerate(values.tolist())), i % 3)
        frames.learn_many(values.reshape(1, -1), [i % 3])
    assert len(one.features) == 300
    assert everything(one) == everything(frames)
    assert sound(one)


def test_a_late_feature_is_scaled_like_an_early_one() -> None:
    """A feature that every record has named since it came is dense, however many there are."""
    rng = np.random.default_rng(0)
    model = SAPLClassifier(n_anchors=4)
    for i in range(900):
        names = 60 if i == 0 else 100 if i < 500 else 101
        model.learn_one({j: float(rng.normal(5, 1)) for j in range(names)}, i % 2)
    assert model._state is not None
    early, late = model._state.views(0)["statistics"][[0, 100]]
    assert early[CENTRE] == early[MEAN] == pytest.approx(5, abs=0.3)
    assert late[CENTRE] == late[MEAN] == pytest.approx(5, abs=0.3)


@each_learner
def test_constant_and_missing_features(kind: type[LocalClassifier]) -> None:
    """Features that say nothing neither harm nor help."""
    plain = records(1_500, features=2)
    padded: Stream = [({**x, "c": 7.0, "big": -1e30, "zero": 0, "gone": None}, y) for x, y in plain]
    model = kind()
    assert accuracy(model, padded) == pytest.approx(accuracy(kind(), plain), abs=0.01)
    assert sound(model)
    contributions = model.explain_one(padded[0][0]).contributions
    # Where there are curves, that of a constant is a bias by another name.
    if kind in LEARNERS and kind not in SILENT:
        assert [contributions[name] for name in ("c", "big", "zero", "gone")] == [0.0] * 4


@each_learner
def test_missing_is_missing_however_it_is_said(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    models = [small(kind) for _ in range(3)]
    for x, y in records(200):
        said = {name: v if rng.random() > 0.2 else None for name, v in x.items()}
        for model, nothing in zip(models, (None, float("nan"), np.float32("nan")), strict=True):
            model.learn_one({n: nothing if v is None else v for n, v in said.items()}, y)
    assert everything(models[0]) == everything(models[1]) == everything(models[2])


@each_learner
def test_empty_records(kind: type[LocalClassifier]) -> None:
    model = small(kind)
    for label in ["a", "b", "a"]:
        model.learn_one({}, label)
    assert model.predict_one({}) in ("a", "b")
    assert set(model.predict_proba_one({})) == {"a", "b"}
    taught(model, [({}, "a"), ({"x": 1.0}, "a"), ({}, "b"), ({"x": -1.0}, "b")])
    assert model.features == ("x",) and sound(model)


@each_learner
def test_a_model_without_features_can_be_asked(kind: type[LocalClassifier]) -> None:
    model = taught(small(kind), [({}, "a"), ({}, "b")])
    assert model.explain_one({}).contributions == {}
    assert len(model.anchors) <= 1


@each_learner
def test_duplicated_records(kind: type[LocalClassifier]) -> None:
    model = small(kind)
    for _ in range(2_000):
        model.learn_one({"a": 1.0, "b": 2.0}, "x")
    if kind in LEARNERS:
        assert len(model.anchors) == 1, "an anchor is never born where one lies"
    assert model.predict_one({"a": 1.0, "b": 2.0}) == "x"
    taught(model, records(300))
    assert sound(model)


@with_anchors
def test_more_anchors_than_records(kind: type[AnchorClassifier]) -> None:
    model = taught(kind(n_anchors=500, n_neighbors=900), records(50))
    assert 0 < len(model.anchors) <= 50
    assert sound(model)
    assert sum(model.predict_proba_one({"f0": 1.0}).values()) == pytest.approx(1)


@with_anchors
def test_more_neighbours_than_anchors(kind: type[AnchorClassifier]) -> None:
    all_of_them, too_many = small(kind, n_neighbors=12), small(kind, n_neighbors=1_000)
    assert everything(taught(all_of_them, records(300))) == everything(
        taught(too_many, records(300))
    )


@each_learner
def test_the_order_of_a_dict_does_not_matter(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    stream = records(200, features=5)
    shuffled = [({n: x[n] for n in rng.permutation(list(x)).tolist()}, y) for x, y in stream]
    assert everything(taught(small(kind), stream)) == everything(taught(small(kind), shuffled))


@each_learner
def test_extreme_values_pass(kind: type[LocalClassifier]) -> None:
    """A few absurd records cost little, and leave no NaN behind."""
    model = kind()
    before = accuracy(model, records(2_000))
    rng = np.random.default_rng(1)
    for magnitude in (1e30, -1e30, 1e300, -1.7e308, 5e-324):
        for name in ("f0", "f1", "f2", "new"):
            model.learn_one({"f0": 1.0, "f1": 0.5, name: magnitude}, int(rng.integers(3)))
            assert sound(model)
            assert np.isfinite(list(model.predict_proba_one({name: magnitude}).values())).all()
    assert accuracy(model, records(2_000, seed=2)) > before - 0.02


@each_learner
def test_memory_does_not_grow(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1_000, 5)), rng.integers(0, 3, 1_000)
    model = kind()
    model.learn_many(X[:100], y[:100])
    assert model._state is not None
    size = model._state.state.nbytes
    stream = [(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y, strict=True)]
    taught(model, stream)
    tracemalloc.start()
    for _ in range(18):
        model.learn_many(X, y)
    taught(model, stream)
    grown = held()
    assert model._state.state.nbytes == size
    assert grown < 100_000


@pytest.mark.parametrize("where", ["announce", "run"])
def test_an_interrupted_lesson_leaves_no_label_behind(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the first call compiles, or just before it runs."""
    model, untouched = SAPLClassifier(), SAPLClassifier()
    for one in (model, untouched):
        taught(one, records(50))
    x, y = records(60)[-1]
    assert model._state is not None
    model._state._ready = where == "run"  # else as in a new process, which compiles or loads
    model._state._last_row = None

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(model_state, where, interrupted)
        model.learn_one(x, y, w=2.0)
    for ask in ("predict_one", "predict_proba_one", "decision_function_one", "explain_one"):
        getattr(model, ask)(x)
    assert everything(model) == everything(untouched)
    for one in (model, untouched):
        one.learn_one(x, y)
    assert everything(model) == everything(untouched)
