"""Records with names, times and texts, whatever the learner: taken as they are.

One by one, in batches, on threads and after a reload: the same to the bit.
"""

from __future__ import annotations

import copy
import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier, load_model
from stream_llsvm.learners.numbers import NumberLearner
from tests.learners.support import ALL_LEARNERS

COUNTRIES = ["DE", "SE", "NO", "US", "FR", "ES", "IT", "PL"]


def records(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[bool]]:
    """Return records whose label hangs on a name, on an hour and on a number."""
    rng = random.Random(seed)
    xs, ys = [], []
    start = datetime.datetime(2026, 11, 19)
    for i in range(n):
        when = start + datetime.timedelta(minutes=37 * i)
        x: dict[str, Any] = {
            "country": rng.choice(COUNTRIES),
            "user": f"u{int(rng.paretovariate(1)) % 100}",
            "when": when.isoformat(),
            "amount": rng.gauss(0, 1),
            "maybe": rng.choice([None, 1.5, "NA", "some", True]),
        }
        score = (x["country"] in ("DE", "SE")) + (when.hour < 12) + 0.5 * x["amount"]
        xs.append(x)
        ys.append(score > 1)
    return xs, ys


def learned_one_by_one(model: Any, xs: list[dict[str, Any]], ys: list[Any]) -> list[Any]:
    told = []
    for x, y in zip(xs, ys, strict=True):
        told.append(model.predict_one(x))
        model.learn_one(x, y)
    return told


def same(one: Any, other: Any) -> bool:
    assert one._features.names == other._features.names
    assert list(map(str, one._features.names)) == list(map(str, other._features.names))
    assert one._payload()["width"] == other._payload()["width"]
    states = [model._payload()["state"] for model in (one, other)]
    return bool(states[0].tobytes() == states[1].tobytes())


@pytest.mark.parametrize("kind", ALL_LEARNERS, ids=lambda kind: kind.__name__)
def test_every_learner_takes_names(kind: Any, tmp_path: Path) -> None:
    xs, ys = records(150)
    model = kind()
    targets = [float(y) for y in ys] if isinstance(model, NumberLearner) else ys
    learned_one_by_one(model, xs[:100], targets[:100])
    assert set(model.features) == set(xs[0])
    model.save(tmp_path / "model.llsvm")
    loaded = load_model(tmp_path / "model.llsvm")
    assert same(model, loaded)
    one = learned_one_by_one(model, xs[100:], targets[100:])
    many = loaded.test_then_learn(pd.DataFrame(xs[100:]), targets[100:])
    assert list(many) == pytest.approx(one) if targets is not ys else list(many) == one
    assert same(model, loaded)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_batches_are_as_one_by_one(frame: Any, threads: int) -> None:
    xs, ys = records(700)
    for x in xs:
        x["maybe"] = str(x["maybe"])  # polars wants one kind
    one, many = CommitteeClassifier(), CommitteeClassifier(threads=threads)
    told = learned_one_by_one(one, xs, ys)
    batched: list[Any] = []
    for begin, end in [(0, 1), (1, 90), (90, 500), (500, 700)]:
        batched += list(many.test_then_learn(frame(xs[begin:end]), ys[begin:end]))
    assert batched == told
    assert same(one, many)
    proba = many.predict_proba_many(frame(xs[:50]))
    for i, x in enumerate(xs[:50]):
        assert list(one.predict_proba_one(x).values()) == list(proba.to_numpy()[i])


def test_names_tell() -> None:
    xs, ys = records(2_000)
    model = SAPLClassifier()
    told = learned_one_by_one(model, xs, ys)
    right = np.mean([a == b for a, b in zip(told[1000:], ys[1000:], strict=True)])
    dropped = SAPLClassifier()
    less = learned_one_by_one(dropped, [{"amount": x["amount"]} for x in xs], ys)
    assert right > 0.85 > np.mean([a == b for a, b in zip(less[1000:], ys[1000:], strict=True)])


def test_thirty_names_are_no_thirty_copies() -> None:
    model = SAPLClassifier()
    widths = set()
    for i in range(400):
        model.learn_one({f"f{j}": f"n{(i + j) % 60}" for j in range(8)}, i % 2 == 0)
        assert model._state is not None
        widths.add(model._state.width)
    assert len(model._features) == 8 + 8 * 30
    assert len(widths) < 12


def test_a_field_that_changes_its_kind_spoils_nothing() -> None:
    model = CommitteeClassifier()
    values: list[Any] = [1.5, "DE", None, "2026-11-19T12:00", ["a", "b"], "one two three", 7, "SE"]
    for i in range(300):
        model.learn_one({"a": values[i % len(values)], "b": float(i % 5)}, i % 2 == 0)
    assert model.features == ("a", "b")
    for value in values:
        proba = model.predict_proba_one({"a": value, "b": 1.0})
        assert sum(proba.values()) == pytest.approx(1.0)
        told = model.explain_one({"a": value, "b": 1.0})
        assert set(told.contributions) <= {"a", "b"}
        parts = told.bias + told.memory + sum(told.contributions.values())
        assert parts == pytest.approx(told.score)


def test_contributions_are_by_field() -> None:
    xs, ys = records(1_500)
    model = CommitteeClassifier()
    learned_one_by_one(model, xs, ys)
    for x in xs[-20:]:
        told = model.explain_one(x)
        assert set(told.contributions) <= set(x)
        assert set(told.weights) <= set(x)
        parts = told.bias + told.memory + sum(told.contributions.values())
        assert parts == pytest.approx(told.score)
    weight = {name: 0.0 for name in xs[0]}
    for x in xs[-100:]:
        for name, value in model.explain_one(x).contributions.items():
            weight[name] += abs(value)
    assert min(weight["country"], weight["when"], weight["amount"]) > weight["user"]
    assert set(model.feature_relevance) == set(xs[0])
    assert np.mean(list(model.feature_relevance.values())) == pytest.approx(1.0)


def test_anchors_are_in_terms_of_fields() -> None:
    xs, ys = records(500)
    model = SAPLClassifier()
    learned_one_by_one(model, xs, ys)
    for anchor in model.anchors:
        assert set(anchor.position) == {*xs[0], "when hour", "when weekday"} - {"when"}
        assert anchor.position["country"] in COUNTRIES
        assert set(anchor.weights[True]) == set(anchor.position)


def test_merged_models_know_all_names() -> None:
    xs, ys = records(900)
    first = CommitteeClassifier()
    learned_one_by_one(first, xs[:300], ys[:300])
    other = copy.deepcopy(first)
    learned_one_by_one(
        first, [x | {"country": f"A{i % 20}"} for i, x in enumerate(xs[300:600])], ys[300:600]
    )
    learned_one_by_one(
        other, [x | {"country": f"B{i % 20}"} for i, x in enumerate(xs[600:])], ys[600:]
    )
    merged = first.merge([other])
    shown = set(map(str, merged._features.names))
    assert {"country=A1", "country=B1", "country=DE"} <= shown
    for x in ({"country": "A3"}, {"country": "B3"}, {"country": "XX", "amount": 1.0}):
        assert merged.predict_one(x) in (True, False)
    merged.learn_one({"country": "C1"}, True)
    swapped = other.merge([first])
    assert swapped.predict_proba_one(xs[0])[True] == pytest.approx(
        first.merge([other]).predict_proba_one(xs[0])[True]
    )


def test_warnings_are_of_fields() -> None:
    model = SAPLClassifier()
    model.learn_one({"country": "DE", "p": {"x": 1.0}}, True)
    model.learn_one({"country": "SE", "p": {"x": 2.0}}, False)
    model.predict_one({"country": "NO", "p": {"x": 2.0}})  # a new name is nothing unusual
    with pytest.warns(UserWarning, match=r"names 'county', .* knows 'country', 'p.x': a feature"):
        model.predict_one({"county": "NO", "p": {"x": 2.0}})


def test_predictions_wait_for_their_labels_as_one_by_one() -> None:
    xs, ys = records(400)
    one, many = CommitteeClassifier(), CommitteeClassifier()
    for model in (one, many):
        learned_one_by_one(model, xs[:200], ys[:200])
    for x in xs[200:]:
        one.predict_proba_one(x)
    many.predict_proba_many(pd.DataFrame(xs[200:]))
    for x, y in zip(xs[200:], ys[200:], strict=True):
        one.learn_one(x, y)
        many.learn_one(x, y)
    assert same(one, many)


def test_a_warm_start_knows_names() -> None:
    xs, ys = records(600)
    model = CommitteeClassifier()
    model.warm_start(pd.DataFrame(xs), ys, epochs=2)
    assert set(model.features) == set(xs[0])
    right = np.mean([model.predict_one(x) == y for x, y in zip(xs, ys, strict=True)])
    assert right > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_hostile_records(seed: int) -> None:
    """Whatever comes, a record that can be read is learned, and the state stays sound."""
    rng = random.Random(seed)
    odd: list[Any] = [
        None, "", "?", "x" * 2_000, "\ud800", "e\u0301", "\u00e9", "E", "e", 1e308, -1e308, True,
        10**30, {"a": {"a": {"a": 1}}}, {}, [], ["x"], ["x", "y", 3], "a b c d", "NaN", "1_0", "0",
        datetime.date(2026, 1, 1), "2026-01-01T00:00:00Z", 1_763_550_000, "\x00", " ", "\u3000",
        np.float32(1.5), np.str_("np"), np.datetime64("2026-01-01"), {"b": "c"},
    ]  # fmt: skip
    model = CommitteeClassifier(max_mb=64)
    for i in range(400):
        x = {rng.choice(["a", "b", "c", "ts", "A", "\udfff", 3]): rng.choice(odd) for _ in range(4)}
        model.predict_one(x)
        model.learn_one(x, i % 3)
    assert model._state is not None
    assert model._state.sound()


@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
def test_who_was_asked_when_there_was_one_class_learns_the_same(kind: Any) -> None:
    """What was foretold of one class says nothing of two."""
    records = [("a b c d", 1), ("e f g h", 0), ("a b e f", 1), ("c d a e", 0)]
    asked, not_asked = kind(), kind()
    for text, label in records:
        asked.predict_one({"text": text})
        asked.learn_one({"text": text}, label)
        not_asked.learn_one({"text": text}, label)
    assert same(asked, not_asked)
