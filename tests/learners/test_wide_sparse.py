"""Wide sparse records, as texts are: learned, answered, and never the end of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stream_llsvm import (
    CommitteeClassifier,
    FeaturesLeftOutWarning,
    HomogeneousKernelMap,
    PegasosClassifier,
    PegasosRegressor,
    SAPLClassifier,
    load_model,
)
from stream_llsvm.kernels.mixer import AWAKE, SINCE
from stream_llsvm.kernels.plan import MEMBER_ROW
from stream_llsvm.kernels.run import TAUGHT, USUALLY_NAMED
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.kernels.sleep import LINE, TERM, share_named
from stream_llsvm.model.room import roomy
from stream_llsvm.records.names import sort_key
from tests.kernels.alone import alone

Texts = list[tuple[dict[Any, float], int]]


def texts(n: int, words: int = 3_000, common: int = 300, seed: int = 0) -> Texts:
    """Return records of two classes that name some words oftener than others, and how often."""
    rng = np.random.default_rng(seed)
    often = np.where(np.arange(words) < common, 0.35, 5 / np.arange(1, words + 1))
    tilt = 0.2 * rng.normal(size=words)
    found: Texts = []
    for _ in range(n):
        label = int(rng.random() < 0.5)
        rate = rng.lognormal(0, 0.5) * often * np.exp((2 * label - 1) * tilt)
        named = np.flatnonzero(rng.random(words) < rate.clip(0, 0.9))
        found.append((dict.fromkeys(named.tolist(), 1.0), label))
    return found


def right(model: Any, records: Texts) -> float:
    """Return how often the model is right, each record predicted and then learned."""
    hits = 0
    for x, label in records:
        hits += model.predict_one(x) == label
        model.learn_one(x, label)
    return hits / len(records)


def test_the_linear_machine_learns_texts() -> None:
    """Steps over named columns only, seen from the anchor, grew without end: 89 % and falling."""
    model = CommitteeClassifier(members=("anchors:1",))
    assert right(model, texts(800)) > 0.92


def test_a_word_teaches_the_first_time_it_comes() -> None:
    model = CommitteeClassifier(members=("anchors:1",))
    for x, label in texts(60):
        model.learn_one(x, label)
    model.learn_one(dict.fromkeys((0, 1, "new"), 1.0), 1)
    assert model._state is not None
    weights = model._state.views(1)["weights"]
    assert (weights[..., model.features.index("new")] != 0).any()
    assert model.predict_proba_one({"new": 1.0})[1] > model.predict_proba_one({})[1]


# ---- more names than there is room for


KINDS: tuple[Any, ...] = (SAPLClassifier, CommitteeClassifier, PegasosClassifier, PegasosRegressor)


def _named(model: Any) -> int:
    return len(model.features)


def new_words(n: int, each: int) -> Texts:
    """Return records of two known numbers and so many names that never come again."""
    rng = np.random.default_rng(0)
    found: Texts = []
    for i in range(n):
        x = {("w", each * i + j): 1.0 for j in range(each)}
        number = rng.normal()
        found.append(({"a": number, "b": rng.normal()} | x, int(number > 0)))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_does_not_end_where_there_is_no_room_for_more_names(kind: Any) -> None:
    model = kind(max_mb={CommitteeClassifier: 12, SAPLClassifier: 2}.get(kind, 1))
    stream = new_words(60, 40)
    with pytest.warns(
        FeaturesLeftOutWarning, match="max_mb=.* has room for .* are left out"
    ) as told:
        for x, label in stream:
            model.predict_one(x)
            model.learn_one(x, label)
    assert [one.category for one in told].count(FeaturesLeftOutWarning) == 1
    known = _named(model)
    assert 40 < known < len(stream) * (len(stream[0][0]) - 2)
    assert model.left_out == 2 + len(stream) * (len(stream[0][0]) - 2) - known
    assert model._bytes(known, 1) <= model.max_mb * 2**20 < model._bytes(known + 1, 2)
    x = {"a": 2.0, "b": 0.0, "never": 1.0}
    before = model.predict_one(x)
    for _ in range(20):
        model.learn_one(x, 0)
    assert _named(model) == known and "never" not in model.features
    assert model.predict_one(x) != before or before == 0, "it learns on from what it knows"
    if kind is not PegasosRegressor:
        with pytest.raises(ValueError, match="more than max_mb"):
            for label in range(2, 3_000):
                model.learn_one({"a": 1.0}, label)


@pytest.mark.parametrize("kind", [SAPLClassifier, PegasosClassifier])
def test_names_are_left_out_of_batches_as_they_are_of_records(kind: Any) -> None:
    one, many = (kind(max_mb=2 if kind is SAPLClassifier else 1) for _ in range(2))
    vocabulary = [*"ab", *(("w", i) for i in range(60_000))]
    stream = new_words(40, 40)
    places = {name: i for i, name in enumerate(sorted(vocabulary, key=sort_key))}
    rows, columns, values = [], [], []
    for i, (x, _) in enumerate(stream):
        for name, value in x.items():
            rows.append(i)
            columns.append(places[name])
            values.append(value)
    X = sparse.csr_matrix((values, (rows, columns)), shape=(len(stream), len(places)))
    with pytest.warns(FeaturesLeftOutWarning):
        for x, label in stream:
            one.learn_one({places[name]: value for name, value in x.items()}, label)
    with pytest.warns(FeaturesLeftOutWarning):
        many.learn_many(X, [label for _, label in stream])
    assert one.features == many.features and one.left_out == many.left_out > 0
    state = [m._state.state for m in (one, many)]
    assert state[0].tobytes() == state[1].tobytes()


def test_a_model_begins_only_as_large_as_it_may_be() -> None:
    with pytest.raises(ValueError, match="more than max_mb=1: fold the features"):
        SAPLClassifier(max_mb=1).learn_one({i: 1.0 for i in range(20_000)}, 0)


def test_a_full_model_is_the_same_after_a_reload(tmp_path: Any) -> None:
    model = SAPLClassifier(max_mb=2)
    stream = new_words(60, 40)
    with pytest.warns(FeaturesLeftOutWarning):
        right(model, stream[:50])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    with pytest.warns(FeaturesLeftOutWarning):
        right(again, stream[50:])
    right(model, stream[50:])
    assert again._state.state.tobytes() == model._state.state.tobytes()  # type: ignore[union-attr]


def test_columns_of_a_map_stay_within_the_room() -> None:
    model = SAPLClassifier(max_mb=3, n_anchors=20, feature_map=HomogeneousKernelMap())
    with pytest.warns(FeaturesLeftOutWarning):
        for x, label in new_words(60, 40):
            model.learn_one({name: abs(value) for name, value in x.items()}, label)
    assert model._state is not None and len(model.features) <= model._state.width
    assert model.predict_one({"a": 1.0, "b": 0.5}) in (0, 1)


def test_however_many_names_come_growth_copies_the_model_once() -> None:
    """By powers of two; by a quarter it would be five times as often."""
    held, widths = 600, []
    for features in range(600, 200_000, 10):
        if roomy(held, features) != held:
            held = roomy(held, features)
            widths.append(held)
    assert sum(widths) < 2 * widths[-1] + 600


# ---- budgets


def test_the_budget_counts_what_records_name() -> None:
    """By the width it would be 8 times exceeded; what is named is a small part of it."""
    model = CommitteeClassifier(members=("anchors:1", "anchors:30"), budget=40_000)
    rng = np.random.default_rng(0)
    named: list[int] = []
    for i in range(6 * TERM + 1):
        named.append(int(rng.integers(5, 15)))
        words = rng.choice(4_000, named[-1], replace=False).tolist()
        model.learn_one(dict.fromkeys(words, 1.0), i % 2)
    assert model._state is not None and len(model.features) > 3_800
    usual = model._state.views(0)["counters"][USUALLY_NAMED]
    assert usual == pytest.approx(np.mean(named), abs=1)
    cost = model._state.plan[1:, MEMBER_ROW.cost].sum()
    assert cost > 8 * 40_000 and cost * LINE * usual / model._state.width < 40_000
    assert all(report.awake for report in model.mixture)


def test_it_counts_all_columns_of_records_that_name_them_all() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4 * TERM + 1, MANY))
    model = CommitteeClassifier(members=("anchors:1", "anchors:30"), budget=2_000)
    model.learn_many(X, X[:, 0] > 0)
    assert model._state is not None
    assert model._state.views(0)["counters"][USUALLY_NAMED] == MANY
    assert not all(report.awake for report in model.mixture)


# ---- who works among names

FEW = ("anchors:1", "additive:5", "memory:70", "prior:9", "ferns:8", "words:1024")


def awake(model: Any) -> list[str]:
    return [member.name for member in model.mixture if member.awake]


def test_members_that_see_the_first_names_only_rest_from_then_on() -> None:
    """Words learns from all; the others are still there, and keep what they know."""
    model = CommitteeClassifier(members=FEW)
    stream = texts(150, words=2_000, common=20)
    seen = set()
    for x, label in stream:
        model.learn_one(x, label)
        assert model._state is not None
        seen.add((model._state.is_capped, len(awake(model))))
        if model._state.is_capped:
            break
    assert seen == {(False, len(FEW)), (True, 2)}
    assert awake(model) == ["prior:9", "words:1024"]
    assert model._state is not None and model._state.sound()
    views, facts = model._state.views(0), model._state.views(0)["members"]
    since = facts[SINCE, facts[AWAKE] == 0]
    assert (since == views["counters"][TAUGHT] - 1).all(), "the record comes after"
    facts[AWAKE, 0] = 1
    model._make_room([f"new {i}" for i in range(6_000)], [])
    assert awake(model) == ["anchors:1", "prior:9", "words:1024"], "who was woken stays awake"


def test_a_capped_member_costs_what_it_sees() -> None:
    """Not as little as if the names in a record were few of its features, too."""
    model = CommitteeClassifier(members=FEW)
    for x, label in texts(60, words=2_000, common=20):
        model.learn_one(x, label)
    model._make_room([f"new {i}" for i in range(30_000)], [])
    state = model._state
    assert state is not None and state.is_capped and state.members[0].capped
    share = alone(share_named)
    assert share(state.plan, 0, 100.0) == 1.0
    assert share(state.plan, len(FEW) - 1, 100.0) == 1_600 / state.width


def test_whose_records_name_many_features_has_nobody_rest() -> None:
    model = CommitteeClassifier(members=FEW)
    X = np.random.default_rng(0).normal(size=(5, 700))
    model.learn_many(X, [0, 1, 0, 1, 0])
    assert len(awake(model)) == len(FEW)
    sapl = SAPLClassifier(n_anchors=5)
    for x, label in texts(100, words=2_000, common=20):
        sapl.learn_one(x, label)
    assert sapl._state is not None and sapl._state.is_capped and len(awake(sapl)) == 2


def test_records_batches_and_files_are_the_same_with_members_that_rest(tmp_path: Any) -> None:
    stream = texts(300, words=2_000, common=20)
    rows, columns = zip(*((i, c) for i, (x, _) in enumerate(stream) for c in x), strict=True)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(300, 2_000))
    y = [label for _, label in stream]
    one, many, read = (CommitteeClassifier(members=FEW) for _ in range(3))
    told = [one.test_then_learn(X[i : i + 1], y[i : i + 1])[0] for i in range(300)]
    assert many.test_then_learn(X, y).tolist() == told
    for i in range(0, 300, 67):
        read.learn_many(X[i : i + 67], y[i : i + 67])
        read.save(tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert isinstance(again, CommitteeClassifier)
        read = again
    assert awake(one) == awake(many) == awake(read) == ["prior:9", "words:1024"]
    states = [m._state.state for m in (one, many, read) if m._state is not None]
    assert states[0].tobytes() == states[1].tobytes() == states[2].tobytes()


@pytest.mark.parametrize("names", [490, 513])
def test_models_that_see_room_for_more_than_has_come_are_merged(names: int) -> None:
    """Capped members have room for 512 features, of which fewer may have come."""
    X = sparse.random(300, names, 0.02, format="csr", random_state=0)
    models = []
    for n in (150, 300):
        model = SAPLClassifier(n_anchors=5)
        model.learn_many(X[:n], np.arange(n) % 2)
        models.append(model)
    assert any(m._state is not None and m._state.is_capped for m in models)
    for model in models:
        assert model.merge([]).predict_many(X).tolist() == model.predict_many(X).tolist()
