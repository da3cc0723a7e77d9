"""Many rows at once are the rows one by one, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from stream_llsvm import LCCClassifier, SAPLClassifier
from stream_llsvm.learners import many
from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import ALL_LEARNERS, everything, small, taught

Frame = Callable[[dict[str, NDArray[np.float64]]], Any]

FRAMES: dict[str, Frame] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars nulls": lambda columns: pl.DataFrame(columns, nan_to_null=True),
    "pyarrow": lambda columns: pa.table(dict(columns)),
}
SERIES: dict[str, Callable[[list[str]], Any]] = {
    "pandas": pd.Series,
    "polars": pl.Series,
    "polars nulls": np.array,
    "pyarrow": lambda labels: pa.chunked_array([labels]),
}


def blocks(seed: int) -> list[tuple[dict[str, NDArray[np.float64]], list[str]]]:
    """Return blocks of records: columns come in other orders, appear, vanish and return."""
    rng = np.random.default_rng(seed)
    found = []
    for i, names in enumerate(["ba", "abc", "dbac", "c", "a", "fdebac", "cabdef"]):
        n = int(rng.integers(1, 40))
        columns = {name: rng.normal(3, 2, n) for name in names}
        for column in columns.values():
            column[rng.random(n) < 0.1] = np.nan
        found.append((columns, [f"class {c}" for c in rng.integers(0, 2 + i, n)]))
    return found


def rows_of(columns: dict[str, NDArray[np.float64]]) -> list[dict[str, float]]:
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


@pytest.mark.parametrize("backend", FRAMES)
@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_learn_many_is_row_by_row(kind: type[LocalClassifier], backend: str) -> None:
    one, many, tested = small(kind), small(kind), small(kind)
    for columns, labels in blocks(1):
        frame = FRAMES[backend](columns)
        before = []
        for x, y in zip(rows_of(columns), labels, strict=True):
            before.append(one.predict_one(x))
            one.learn_one(x, y)
        many.learn_many(frame, SERIES[backend](labels))
        assert tested.test_then_learn(frame, labels).tolist() == before
        assert everything(many) == everything(one) == everything(tested)
        told = many.predict_many(frame)
        told = told.to_pylist() if backend == "pyarrow" else list(told)
        assert told == [one.predict_one(x) for x in rows_of(columns)]


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_an_array_is_records_named_by_position(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = rng.integers(0, 5, 300)
    one, many = small(kind), small(kind)
    before = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        before.append(one.predict_one(x))
        one.learn_one(x, label)
    assert many.test_then_learn(X, y).tolist() == before
    assert everything(many) == everything(one)
    assert many.predict_proba_many(X).tolist() == [
        list(one.predict_proba_one(dict(enumerate(row))).values()) for row in X.tolist()
    ]


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_blocks_of_any_length_are_the_same(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(700, 3)), rng.integers(0, 3, 700)
    whole, cut = small(kind), small(kind)
    whole.learn_many(X, y)
    at = 0
    for n in (1, 2, 255, 256, 1, 0, 100, 85):
        cut.learn_many(X[at : at + n], y[at : at + n])
        at += n
    assert at == 700
    assert everything(whole) == everything(cut)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_wide_sparse_frames_are_row_by_row(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(4)
    one, many = small(kind), small(kind)
    for _ in range(30):
        names = [f"w{i}" for i in rng.choice(200, 10, replace=False)]
        frame = pd.DataFrame(rng.poisson(1.0, (8, 10)).astype(float), columns=names)
        labels = rng.integers(0, 4, 8)
        before = []
        for x, y in zip(frame.to_dict("records"), labels, strict=True):
            before.append(one.predict_one(x))
            one.learn_one(x, y)
        assert many.test_then_learn(frame, labels).tolist() == before
    assert everything(one) == everything(many)
    assert many._state is not None and many._state.width > 100


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_many_wide_rows_get_the_answers_of_one(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 150))
    X[rng.random(X.shape) < 0.7] = 0
    X[rng.random(X.shape) < 0.01] = np.nan
    X[130] = 0
    X[131] = np.nan
    model = small(kind)
    model.learn_many(X[:100], rng.integers(0, 4, 100))
    rows = [dict(enumerate(row)) for row in X[100:].tolist()]
    assert model.predict_many(X[100:]).tolist() == [model.predict_one(x) for x in rows]
    assert model.predict_proba_many(X[100:]).tolist() == [
        list(model.predict_proba_one(x).values()) for x in rows
    ]


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_weights_by_row(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    w = rng.choice([0.0, 0.5, 1.0, 3.0], 200)
    one, many = small(kind), small(kind)
    for row, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        one.learn_one(dict(enumerate(row)), label, w=weight)
    many.learn_many(X, y, w=w)
    assert everything(one) == everything(many)
    plain = small(kind)
    plain.learn_many(X, y)
    assert everything(plain) != everything(many), "weights do matter"


@pytest.mark.parametrize("weights", [pd.Series, pl.Series, pa.array, list, tuple])
def test_weights_come_in_any_series(weights: Callable[[list[float]], Any]) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    w = rng.random(20)
    model, plain = small(SAPLClassifier), small(SAPLClassifier)
    model.learn_many(X, y, w=weights(w.tolist()))
    plain.learn_many(X, y, w=w)
    assert everything(model) == everything(plain)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_weight_of_zero_changes_nothing_at_all(kind: type[LocalClassifier]) -> None:
    model, twin = small(kind), small(kind)
    model.learn_one({"new": 1.0}, "new", w=0)
    model.learn_many(pd.DataFrame({"new": [1.0, 2.0]}), ["a", "b"], w=0.0)
    assert everything(model) == everything(twin)
    assert model.predict_one({"new": 1.0}) is None
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model.learn_many(X, y)
    twin.learn_many(X, y)
    model.learn_one({0: 1.0, "new": 1.0}, 1, w=0)
    model.learn_one({0: 1.0}, "new", w=0)
    told = model.test_then_learn(np.ones((2, 9)), ["new", 1], w=[0, 0])
    assert everything(model) == everything(twin)
    assert told.tolist() == [model.predict_one(dict.fromkeys(range(9), 1.0))] * 2
    w = (rng.random(60) < 0.5).astype(float)
    labels = [int(label) if weight else "never" for label, weight in zip(y, w, strict=True)]
    model.learn_many(X, labels, w=w)
    twin.learn_many(X[w > 0], y[w > 0])
    assert everything(model) == everything(twin)


def test_nothing_to_learn_is_learned() -> None:
    for kind in ALL_LEARNERS:
        model = taught(small(kind), [({"a": 1.0}, 0)])
        before = everything(model)
        empty = pd.DataFrame({"b": np.zeros(0)})
        model.learn_many(empty, [])
        model.warm_start(empty, [])
        assert len(model.test_then_learn(empty, [])) == 0
        assert len(model.predict_many(empty)) == 0
        assert everything(model) == before


def test_labels_in_a_plain_arrow_array_are_the_values_in_it() -> None:
    model = small(SAPLClassifier)
    model.learn_many(pa.table({"a": [1.0, 2.0]}), pa.array(["no", "yes"]))
    assert model.classes == ("no", "yes")


def test_frames_come_back_in_kind() -> None:
    model = small(LCCClassifier)
    frame = pd.DataFrame({"a": [0.0, 1.0, 0.0, 1.0]}, index=[9, 8, 7, 6])
    assert model.predict_many(frame).tolist() == [None] * 4
    assert model.predict_proba_many(frame).shape == (4, 0)
    model.learn_many(frame, ["no", "yes", "no", "yes"])
    told = model.predict_many(frame)
    assert isinstance(told, pd.Series) and told.index.tolist() == [9, 8, 7, 6]
    proba = model.predict_proba_many(frame)
    assert proba.columns.tolist() == ["no", "yes"] and proba.index.tolist() == [9, 8, 7, 6]
    assert proba.sum(axis=1).to_numpy() == pytest.approx(np.ones(4))
    assert isinstance(model.predict_many(pl.DataFrame({"a": [0.0]})), pl.Series)
    assert model.predict_proba_many(pl.DataFrame({"a": [0.0]})).columns == ["no", "yes"]
    assert isinstance(model.predict_many(np.zeros((2, 1))), np.ndarray)


LABELS = {
    "text": ["a", "b"],
    "text with a closing nul": ["a\0", "b"],
    "flags": [False, True],
    "whole numbers": [-1, 7],
    "whole numbers beyond 64 bits": [-1, 2**63],
    "tuples": [("a", 1), ("b", 2)],
    "mixed": ["a", 7],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_come_back_as_they_went_in(labels: list[Any]) -> None:
    model = small(SAPLClassifier)
    X = np.array([[-1.0], [1.0]] * 20)
    told = model.test_then_learn(X, labels * 20)
    assert told[0] is None
    for one, several in (
        (model.predict_one({0: -1.0}), model.predict_many(X[:1])[0]),
        (model.predict_one({0: 1.0}), model.predict_many(X[1:2])[0]),
        (model.predict_one({0: 1.0}), model.test_then_learn(X, labels * 20)[1]),
    ):
        plain = several.item() if isinstance(several, np.generic) else several
        assert plain == one and type(plain) is type(one)
    assert [model.predict_one({0: -1.0}), model.predict_one({0: 1.0})] == labels


def test_a_row_that_counts_nothing_is_still_predicted() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    y = np.array(["plus" if row[0] > 0 else "minus" for row in X])
    w = (rng.random(60) < 0.5).astype(float)
    w[0], y[40], w[40] = 0.0, "never learned", 0.0
    one, many = small(SAPLClassifier), small(SAPLClassifier)
    told = many.test_then_learn(X, y, w)
    for row, label, weight, said in zip(X.tolist(), y.tolist(), w.tolist(), told, strict=True):
        x = dict(enumerate(row))
        assert one.predict_one(x) == said
        one.learn_one(x, label, w=weight)
    assert everything(one) == everything(many)
    assert "never learned" not in many.classes
    before = everything(many)
    assert set(many.test_then_learn(X, y, w=0.0)) <= {"plus", "minus"}
    assert everything(many) == before


def test_a_row_that_counts_nothing_leaves_nothing_behind_where_nobody_asked_for_it() -> None:
    """Not even for its twin with a label, from which the mixer would learn as of then."""
    rng = np.random.default_rng(10)
    X = np.repeat(rng.normal(size=(100, 3)), 2, axis=0)
    X[100:140] = X[60:100]
    y = (X[:, 0] > 0).astype(int)
    w = np.ones(200)
    w[60:100] = 0.0
    one, many = small(SAPLClassifier), small(SAPLClassifier)
    many.learn_many(X, y, w)
    for row, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        one.learn_one(dict(enumerate(row)), label, w=weight)
    assert everything(one) == everything(many)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_batch_is_encoded_some_rows_at_a_time(
    kind: type[LocalClassifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(57, 4)), rng.integers(0, 3, 57)
    at_once = small(kind)
    told, shares = at_once.test_then_learn(X, y), at_once.predict_proba_many(X)
    monkeypatch.setattr(many, "_BLOCK_FLOATS", 4 * 10)
    in_blocks = small(kind)
    assert in_blocks.test_then_learn(X, y).tolist() == told.tolist()
    np.testing.assert_array_equal(in_blocks.predict_proba_many(X), shares)
    assert everything(in_blocks) == everything(at_once)
    assert in_blocks.predict_many(X[:0]).size == 0
