"""A model for each key: what it learns, all ways in, explanations, files, and bad input."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import stream as river_stream

from stream_llsvm import (
    CommitteeClassifier,
    KeyedClassifier,
    ModelFileError,
    PegasosRegressor,
    SAPLClassifier,
    load_model,
)
from stream_llsvm.model import file as model_file
from stream_llsvm.model.packing import pack
from stream_llsvm.records.keys import BadKey

KEY = "customer"
Stream = list[tuple[dict[str, Any], Any]]


def made(**options: Any) -> KeyedClassifier:
    return KeyedClassifier(SAPLClassifier(n_anchors=12, n_neighbors=4), key=KEY, **options)


def records(n: int = 1_000, seed: int = 0) -> Stream:
    """Return customers who like the opposite; features, names and a class come on the way."""
    rng = np.random.default_rng(seed)
    found: Stream = []
    for i in range(n):
        customer = int(rng.integers(30))
        x: dict[str, Any] = {KEY: f"c{customer}", "a": rng.normal(), "b": rng.normal()}
        if i > 300:
            x["late"] = rng.normal()
        if i % 100 >= 50:
            x["sky"] = ("blue", "grey", "red")[i // 100 % 3]
        score = x["a"] * (1 if customer % 2 else -1) + 0.3 * x["b"]
        found.append((x, int(score > 0) + int(i > 500 and score > 1)))
    return found


def bits(model: KeyedClassifier) -> bytes:
    return pack(model._payload())


def in_frames(model: KeyedClassifier, stream: Stream, library: Any) -> list[Any]:
    """Predict and learn, each time as many records as name the same fields."""
    told: list[Any] = []
    begin = 0
    for i in range(1, len(stream) + 1):
        if i == len(stream) or stream[i][0].keys() != stream[begin][0].keys() or i - begin == 97:
            frame = library.DataFrame([x for x, _ in stream[begin:i]])
            told += list(model.test_then_learn(frame, [y for _, y in stream[begin:i]]))
            begin = i
    return told


@pytest.fixture(scope="module")
def stream() -> Stream:
    return records()


@pytest.mark.filterwarnings("ignore:a record names")
@pytest.mark.parametrize("options", [{}, {"max_keys": 11}, {"most_features": 2}])
def test_one_by_one_is_as_in_batches_to_the_bit(stream: Stream, options: dict[str, int]) -> None:
    single, told = made(**options), []
    for x, y in stream:
        told.append(single.predict_one(x))
        single.learn_one(x, y)
    for library in (pd, pl):
        batches = made(**options)
        assert in_frames(batches, stream, library) == told
        assert bits(batches) == bits(single)
    alone = made(**options)
    for x, y in stream:
        alone.learn_one(x, y)
    assert alone._bank.matrix.tobytes() == single._bank.matrix.tobytes()
    assert single.n_keys <= options.get("max_keys", 30)
    assert single.classes == tuple(dict.fromkeys(y for _, y in stream))
    assert KEY not in single.features and KEY not in single.model.features


@pytest.mark.filterwarnings("ignore:a record names")
def test_one_that_spills_answers_as_one_that_keeps_all(stream: Stream, tmp_path: Path) -> None:
    unbounded, spills = made(), made(max_keys=11, spill=tmp_path)
    for x, y in stream:
        assert spills.predict_proba_one(x) == unbounded.predict_proba_one(x)
        for model in (unbounded, spills):
            model.learn_one(x, y)
    assert len(spills._bank.places) <= 11 < spills.n_keys == unbounded.n_keys == 30
    for x, _ in stream[:60]:
        assert spills.records_of(x[KEY]) == unbounded.records_of(x[KEY]) > 0
        assert spills.explain_one(x) == unbounded.explain_one(x)
    single, batches = (made(max_keys=11, spill=tmp_path / "another") for _ in range(2))
    told = []
    for x, y in stream:
        told.append(single.predict_one(x))
        single.learn_one(x, y)
    assert in_frames(batches, stream, pd) == told
    assert bits(batches) == bits(single)
    assert single.clone().spill == str(tmp_path / "another")
    copied = copy.deepcopy(single)
    assert bits(copied) == bits(single)
    copied.learn_one(stream[0][0], stream[0][1])
    assert bits(copied) != bits(single)


def test_to_spill_takes_a_bound() -> None:
    with pytest.raises(ValueError, match="say how many are kept in memory"):
        made(spill="anywhere")


def test_customers_who_differ_are_told_apart() -> None:
    data = [({**x, "sky": "blue", "late": 0.0}, y > 0) for x, y in records(4_000)]
    keyed, alike = made(), SAPLClassifier(n_anchors=12, n_neighbors=4)
    right = np.zeros((2, len(data)), dtype=bool)
    for i, (x, y) in enumerate(data):
        rest = {name: value for name, value in x.items() if name != KEY}
        for row, model, seen in ((0, keyed, x), (1, alike, rest)):
            right[row, i] = model.predict_one(seen) == y
            model.learn_one(seen, y)
    mine, others = right[:, 2_000:].mean(axis=1)
    assert mine > 0.85
    assert others < 0.6
    ages = keyed.ages
    assert sum(age.answers for age in ages) == len(data)
    assert sum(age.right for age in ages) == right[0].sum()
    assert sum(age.model_right for age in ages) == right[1].sum()
    assert ages[0].answers == keyed.n_keys == 30
    assert keyed.records_of("c3") == sum(x[KEY] == "c3" for x, _ in data)
    assert keyed.records_of("nobody") == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_models_part_and_the_keys_add_up(classes: int) -> None:
    model = made()
    for x, y in records(900):
        model.learn_one({**x, "sky": "blue", "late": 0.0}, min(y, classes - 1))
    x = {KEY: "c3", "a": 0.7, "b": -0.2, "sky": "blue", "late": 0.1}
    proba = model.predict_proba_one(x)
    scores = []
    for label in model.classes:
        why = model.explain_one(x, label)
        assert why.label == label and why.key == "c3" and why.records == model.records_of("c3")
        assert why.score == pytest.approx(why.model_part + why.key_part)
        assert why.key_part == pytest.approx(why.bias + sum(why.contributions.values()))
        rest = {name: value for name, value in x.items() if name != KEY}
        assert why.model == model.model.explain_one(rest, label)
        scores.append(why.score)
    assert sum(scores) == pytest.approx(0, abs=1e-6)
    shares = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(list(proba.values()), shares, rtol=1e-5)
    assert model.explain_one(x).label == max(proba, key=proba.__getitem__)
    assert model.explain_one({**x, KEY: "new"}).key_part == 0
    assert set(model.explain_one(x).contributions) >= {"a", "b"}


def test_what_a_key_adds_is_said_of_fields() -> None:
    model = made()
    for x, y in records(900):
        model.learn_one({**x, "sky": "blue" if x["a"] > 0 else "grey"}, y)
    why = model.explain_one({KEY: "c3", "a": 0.7, "b": -0.2, "sky": "blue"})
    assert set(why.contributions) == {"a", "b", "sky"}
    assert why.contributions["sky"] != 0


@pytest.mark.parametrize("library", [pd, pl])
def test_history_is_learned_first(library: Any) -> None:
    data = [({**x, "sky": "blue", "late": 0.0}, y > 0) for x, y in records(4_000)]
    past, live = data[:2_000], data[2_000:]
    X, y = library.DataFrame([x for x, _ in past]), [label for _, label in past]
    keyed, alike, alone = made(), made(), SAPLClassifier(n_anchors=12, n_neighbors=4)
    keyed.warm_start(X, y, epochs=2)
    without = X.drop(columns=KEY) if library is pd else X.drop(KEY)
    alone.warm_start(without, y, epochs=2)
    assert pack(keyed.model._payload()) == pack(alone._payload())  # which hears of no key
    right = []
    for x, label in live:
        right.append(keyed.predict_one(x) == label)
        keyed.learn_one(x, label)
    assert np.mean(right) > 0.85
    assert keyed.n_keys == 30
    assert sum(age.answers for age in keyed.ages) == len(data)
    assert keyed.records_of("c3") == sum(x[KEY] == "c3" for x, _ in data)

    none = library.DataFrame([{**x, KEY: "unweighted"} for x, _ in past[:50]])
    both = pd.concat([X, none]) if library is pd else pl.concat([X, none])
    alike.warm_start(both, [*y, *y[:50]], epochs=2, w=[1.0] * len(y) + [0.0] * 50)
    assert alike.n_keys == 30
    keyed = made()
    keyed.warm_start(X, y, epochs=2)
    assert bits(alike) == bits(keyed)


def test_a_global_model_that_knows_already_can_be_taken(stream: Stream) -> None:
    before = CommitteeClassifier(("anchors:1", "prior"))
    for x, y in stream:
        before.learn_one({"a": x["a"], "b": x["b"]}, y)
    model = KeyedClassifier(before, key=KEY)
    x = {KEY: "c1", "a": 0.5, "b": 0.1}
    told = before.predict_proba_one({"a": 0.5, "b": 0.1})
    assert model.predict_one(x) == max(told, key=told.__getitem__)
    model.learn_one(x, 1)
    assert model.records_of("c1") == 1


def test_arrays_name_their_key_by_its_column() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=300), rng.integers(0, 4, 300), rng.normal(size=300)]
    y = (X[:, 0] * np.where(X[:, 1] > 1, 1, -1) > 0).tolist()
    many = KeyedClassifier(SAPLClassifier(n_anchors=8), key=1)
    one = many.clone()
    told = many.test_then_learn(X, y)
    for (x, label), expected in zip(river_stream.iter_array(X, y), told, strict=True):
        assert one.predict_one(x) == expected
        one.learn_one(x, label)
    assert bits(one) == bits(many) and many.n_keys == 4 and many.features == (0, 2)
    proba = many.predict_proba_many(X[:5])
    assert proba.shape == (5, 2) and many.predict_many(X[:5]).shape == (5,)
    frame = pd.DataFrame({KEY: ["c1", "new"], "a": [1.0, 2.0]}, index=[7, 9])
    other = made()
    other.learn_many(frame, [True, False])
    assert other.predict_many(frame).index.tolist() == [7, 9]
    assert list(other.predict_proba_many(frame).columns) == [True, False]


def test_weights_count(stream: Stream) -> None:
    light, heavy = made(), made()
    for x, y in stream[:100]:
        light.learn_one(x, y)
        heavy.learn_one(x, y, w=3.0)
        heavy.learn_one(x, y, w=0)
    assert heavy.records_of("c1") == light.records_of("c1")
    w = [np.abs(m._bank.matrix[:, :, 1, 0]).sum() for m in (light, heavy)]
    assert w[1] > 2 * w[0]
    frame = pd.DataFrame([{KEY: "c1", "a": 1.0}] * 3)
    before = light._bank.matrix.tobytes()
    light.learn_many(frame, [1, 0, 1], w=[0, 0, 0])
    light.predict_many(frame)
    assert light.records_of("c1") == heavy.records_of("c1")
    assert light._bank.matrix.tobytes() == before


@pytest.mark.filterwarnings("ignore:a record names")
def test_a_file_continues_to_the_bit(stream: Stream, tmp_path: Path) -> None:
    model = made(max_keys=20)
    for x, y in stream[:600]:
        model.learn_one(x, y)
    model.save(tmp_path / "model.llsvm")
    others = [load_model(tmp_path / "model.llsvm"), pickle.loads(pickle.dumps(model))]
    for x, y in stream[600:]:
        told = model.predict_proba_one(x)
        model.learn_one(x, y)
        for other in others:
            assert other.predict_proba_one(x) == told
            other.learn_one(x, y)
    assert all(bits(other) == bits(model) for other in others)
    assert load_model(tmp_path / "model.llsvm").clone().n_keys == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": None},
        {"model": {"class": "KeyedClassifier"}},
        {"model": {"class": "PegasosRegressor"}},
        {"max_keys": 0},
        {"max_keys": 2},
        {"max_keys": "many"},
        {"most_features": 1},
        {"key": []},
        {"bank": None},
        {"bank": {}},
    ],
)
def test_files_that_do_not_fit_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    model = made()
    for x, y in records(50):
        model.learn_one({KEY: x[KEY], "a": x["a"], "b": x["b"]}, y)
    path = tmp_path / "model.llsvm"
    model_file.write(path, model._payload() | wrong)
    with pytest.raises(ModelFileError):
        load_model(path)
    for part in ("key", "max_keys", "most_features", "model", "bank"):
        payload = model._payload()
        del payload[part]
        model_file.write(path, payload)
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize("key", [None, float("nan"), "x" * 1_001, ["a"], {}])
def test_what_is_no_key_is_refused_and_nothing_learned(key: Any) -> None:
    model = made()
    model.learn_one({KEY: "c1", "a": 1.0}, 1)
    model.learn_one({KEY: "c2", "a": 2.0}, 0)
    before = bits(model)
    for call in (model.predict_one, model.predict_proba_one, model.explain_one):
        with pytest.raises(BadKey, match="'customer': the key"):
            call({KEY: key, "a": 1.0})
    with pytest.raises(BadKey, match="'customer': the key"):
        model.learn_one({KEY: key, "a": 1.0}, 1)
    with pytest.raises(BadKey, match="the key is missing"):
        model.learn_one({"a": 1.0}, 1)
    with pytest.raises(BadKey, match=r"'customer' of row 1 \(the first row is 0\): the key"):
        model.learn_many(pd.DataFrame({KEY: ["c1", key], "a": [1.0, 2.0]}), [1, 0])
    assert bits(model) == before


def test_other_mistakes_have_clear_messages() -> None:
    with pytest.raises(TypeError, match="one of this package's classifiers"):
        KeyedClassifier(PegasosRegressor(), key=KEY)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_keys must be a whole number"):
        made(max_keys=0)
    model = made()
    assert model.predict_one({KEY: "c1", "a": 1.0}) is None
    assert model.predict_proba_one({KEY: "c1", "a": 1.0}) == {}
    with pytest.raises(TypeError, match="a record is a mapping"):
        model.learn_one([1, 2], 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column of the frame is called 'customer'"):
        model.learn_many(pd.DataFrame({"a": [1.0]}), [1])
    with pytest.raises(ValueError, match="no column of the array is called 'customer'"):
        model.learn_many(np.ones((2, 2)), [1, 0])
    with pytest.raises(ValueError, match="infinite"):
        model.learn_one({KEY: "c1", "a": float("inf")}, 1)
    with pytest.raises(ValueError, match="weight"):
        model.learn_one({KEY: "c1", "a": 1.0}, 1, w=-1)
    assert model.n_keys == 0


def test_memory_is_what_keys_take() -> None:
    model = made()
    model.learn_one({KEY: "c1", "a": 1.0, "b": 2.0}, 1)
    before = model._raw_memory_usage
    frame = pd.DataFrame({KEY: [f"c{i}" for i in range(20_000)], "a": 1.0, "b": 2.0})
    model.learn_many(frame, [1, 0] * 10_000)
    assert 20_000 * 100 < model._raw_memory_usage - before < 20_000 * 400
