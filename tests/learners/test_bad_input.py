"""Bad input is refused with what was wrong and what to do, and changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_llsvm import (
    CommitteeClassifier,
    FeaturesLeftOutWarning,
    LCCClassifier,
    SAPLClassifier,
)
from stream_llsvm.learners.base import LocalClassifier
from tests.learners.support import ALL_LEARNERS, everything, records, small, sound, taught

GOOD = {"f0": 1.0, "f1": 2.0, "f2": 3.0}
VALUES: dict[str, tuple[Any, str]] = {
    "bytes": (b"red", r"feature 'f1' has the value b'red' \(bytes\).*or drop it"),
    "infinite text": ("inf", r"feature 'f1' has the value 'inf' \(str\).*clip it"),
    "list": ([1.5, 2], r"feature 'f1' has the value \[1.5, 2\] \(list\).*or drop it"),
    "infinity": (math.inf, r"feature 'f1' has the value inf .*clip it, drop it, or send None"),
    "minus infinity": (-math.inf, r"feature 'f1' has the value -inf .*clip it"),
    "too large": (10**400, r"feature 'f1' has the value 1000.* \(int\).*too large for a float"),
    "complex": (1j, r"feature 'f1' has the value 1j \(complex\)"),
    "array": (np.ones(2), r"feature 'f1' has the value array.* \(ndarray\)"),
    "object": (object(), r"feature 'f1' has the value .*a value is a number, a text"),
}
LABELS: dict[str, tuple[Any, str]] = {
    "none": (None, "the label is missing.*can be predicted, but not learned from"),
    "nan": (math.nan, "the label is missing"),
    "numpy nan": (np.float32("nan"), "the label is missing"),
    "not a time": (np.datetime64("NaT"), "the label is missing"),
    "list": ([1], r"the label \[1\] \(list\) is not hashable: use a string, a number"),
    "dict": ({}, "not hashable"),
}
WEIGHTS: dict[str, Any] = {
    "negative": -1.0,
    "nan": math.nan,
    "infinite": math.inf,
    "too large": 1e7,
    "none": None,
    "text": "heavy",
    "digits": "2",
    "complex": 1j,
    "list": [1.0],
}
WEIGHT_TOLD = r"the weight w must be a number from 0 to 1e\+06, got "

fresh_or_live = pytest.mark.parametrize("n", [0, 40], ids=["fresh", "live"])


def refused(model: LocalClassifier, stream: Any, call: Any, message: str) -> None:
    """Assert that the call is refused, and that the model goes on as if it had not been made."""
    twin = taught(model.clone(), stream)
    taught(model, stream)
    with pytest.raises(ValueError, match=message):
        call(model)
    assert everything(model) == everything(twin)
    x = {"f0": 0.1, "f1": -1.0}
    assert model.predict_one(x) == twin.predict_one(x)
    assert everything(taught(model, records(5, seed=9))) == everything(
        taught(twin, records(5, seed=9))
    )


@fresh_or_live
@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize(("value", "message"), VALUES.values(), ids=VALUES)
def test_values(kind: type[LocalClassifier], n: int, value: Any, message: str) -> None:
    # The record also brings a feature and a class, which must not become known.
    bad = {"newcomer": 1.0, **GOOD, "f1": value}
    refused(small(kind), records(n), lambda m: m.learn_one(bad, "new class"), message)
    refused(small(kind), records(n), lambda m: m.predict_one(bad), message)
    refused(small(kind), records(n), lambda m: m.predict_proba_one(bad), message)


@fresh_or_live
@pytest.mark.parametrize(("label", "message"), LABELS.values(), ids=LABELS)
def test_labels(n: int, label: Any, message: str) -> None:
    model = small(SAPLClassifier)
    refused(model, records(n), lambda m: m.learn_one({**GOOD, "newcomer": 1.0}, label), message)


@fresh_or_live
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_weights(n: int, weight: Any) -> None:
    model = small(SAPLClassifier)
    bad = {**GOOD, "newcomer": 1.0}
    refused(model, records(n), lambda m: m.learn_one(bad, 0, w=weight), WEIGHT_TOLD)


@fresh_or_live
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_by_row(n: int, weight: Any) -> None:
    X = np.ones((3, 4))
    refused(
        small(SAPLClassifier),
        records(n),
        lambda m: m.learn_many(X, ["a", "b", "c"], w=[1.0, weight, 1.0]),
        "weight",
    )


@pytest.mark.parametrize("name", [math.nan, np.float64("nan")])
def test_a_name_that_is_not_one(name: Any) -> None:
    model = small(SAPLClassifier)
    refused(model, records(10), lambda m: m.learn_one({name: 1.0}, 0), "give the feature a name")


@pytest.mark.parametrize("record", [None, 1.0, [1.0, 2.0], "f0", np.ones(3)])
def test_a_record_that_is_not_one(record: Any) -> None:
    model = taught(small(LCCClassifier), records(10))
    before = everything(model)
    with pytest.raises(TypeError, match="a record is a mapping"):
        model.learn_one(record, 0)
    with pytest.raises(TypeError, match="a record is a mapping"):
        model.predict_one(record)
    assert everything(model) == before


FRAMES: dict[str, tuple[Any, Any, str]] = {
    "bytes": (
        pd.DataFrame({"f0": [1.0, 2.0], "f1": [b"red", None]}),
        [0, 1],
        r"feature 'f1' in row 0 .* has the value b'red' \(bytes\).*or drop it",
    ),
    "infinity": (
        pd.DataFrame({"f0": [1.0, math.inf]}),
        [0, 1],
        r"feature 'f0' in row 1 .* has the value inf .*clip it",
    ),
    "two of a name": (np.ones((2, 2)), [0, 1], "two columns have one name: rename or drop one"),
    "one dimension": (np.ones(3), [0, 1, 2], r"2-D, got shape \(3,\).*reshape"),
    "three dimensions": (np.ones((2, 2, 2)), [0, 1], "must be 2-D"),
    "few labels": (np.ones((3, 2)), [0, 1], "2 labels for 3 rows"),
    "many labels": (np.ones((1, 2)), [0, 1], "2 labels for 1 rows"),
    "missing label": (np.ones((2, 2)), [0, None], "the label of row 1 is missing"),
    "label not hashable": (np.ones((2, 9)), ["new", [1]], r"the label \[1\] \(list\)"),
    "labels in two dimensions": (np.ones((2, 2)), np.ones((2, 2)), "labels must be 1-D"),
}


@fresh_or_live
@pytest.mark.parametrize(("X", "y", "message"), FRAMES.values(), ids=FRAMES)
def test_frames(n: int, X: Any, y: Any, message: str) -> None:
    if "two columns" in message:
        X = pd.DataFrame(X, columns=["same", "same"])
    for call in (
        lambda m: m.learn_many(X, y),
        lambda m: m.test_then_learn(X, y),
        lambda m: m.warm_start(X, y),
    ):
        refused(small(SAPLClassifier), records(n), call, message)


@pytest.mark.parametrize("w", [[1.0], [1.0] * 3, np.ones((2, 1)), np.ones((2, 2))])
def test_wrongly_many_weights(w: Any) -> None:
    model, X = small(SAPLClassifier), np.ones((2, 3))
    refused(model, records(9), lambda m: m.learn_many(X, [0, 1], w=w), "weights for 2")


@pytest.mark.parametrize("X", [None, [[1.0]], {"a": [1.0]}, pd.Series([1.0]), "text"])
def test_rows_that_are_no_frame(X: Any) -> None:
    model = small(SAPLClassifier)
    for call in (model.predict_many, lambda X: model.learn_many(X, [0])):
        with pytest.raises(TypeError, match="records are a pandas, polars or pyarrow dataframe"):
            call(X)
    assert everything(model) == everything(small(SAPLClassifier))


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "10", None, True])
def test_epochs(epochs: Any) -> None:
    refused(
        small(SAPLClassifier),
        records(9),
        lambda m: m.warm_start(np.ones((2, 3)), [0, 1], epochs=epochs),
        "epochs must be a whole number from 1 to",
    )


def room_of(kind: type[LocalClassifier]) -> int:
    """Return how many megabytes a model needs for some classes: a table of words is large."""
    return 8 if kind in (SAPLClassifier, CommitteeClassifier) else 1


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_model_does_not_begin_too_large(kind: type[LocalClassifier]) -> None:
    wide = np.random.default_rng(0).normal(size=(4, 20_000))
    room = room_of(kind)
    message = rf"20,000 features and . classes .* more than max_mb={room}: fold .*raise"
    for call in (
        lambda m: m.learn_one(dict(enumerate(wide[0].tolist())), 0),
        lambda m: m.learn_many(wide, [0, 1, 2, 3]),
        lambda m: m.test_then_learn(wide, [0, 1, 2, 3]),
        lambda m: m.warm_start(wide, [0, 1, 2, 3]),
    ):
        refused(small(kind, max_mb=room), [], call, message)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_model_that_runs_leaves_out_what_it_has_no_room_for(kind: type[LocalClassifier]) -> None:
    wide = np.random.default_rng(0).normal(size=(4, 20_000))
    x = dict(enumerate(wide[0].tolist()))
    calls: tuple[Callable[[LocalClassifier], None], ...] = (
        lambda m: m.learn_one(x, 0),
        lambda m: m.learn_many(wide, [0, 1, 2, 0]),
        lambda m: m.warm_start(wide, [0, 1, 2, 0], epochs=1),
    )
    for call in calls:
        model = small(kind, max_mb=room_of(kind))
        taught(model, records(40))
        with pytest.warns(FeaturesLeftOutWarning, match=r"max_mb=\d has room for"):
            call(model)
        assert model._state is not None and model._state.n_bytes <= room_of(kind) * 2**20
        assert 3 < len(model.features) == 20_003 - model.left_out
        assert sound(model) and model.predict_one(x) is not None


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_label_that_is_an_id_is_refused_in_time(kind: type[LocalClassifier]) -> None:
    model = small(kind, max_mb=room_of(kind))
    with pytest.raises(ValueError, match="a class and not a number or an id"):
        for i in range(100_000):
            model.learn_one(GOOD, i)
    known = len(model.classes)
    assert 5 < known < 100_000
    assert model._state is not None and model._state.n_bytes <= room_of(kind) * 2**20
    model.learn_one(GOOD, known - 1)
    assert model.predict_one(GOOD) is not None


def test_a_batch_is_refused_whole() -> None:
    """With more classes there are fewer rungs: the largest model may be one on the way."""
    model = SAPLClassifier(max_mb=3)
    X = np.random.default_rng(0).normal(size=(7, 300))
    try:
        model.learn_many(X, list(range(7)))
    except ValueError:
        assert everything(model) == everything(SAPLClassifier(max_mb=3))
    else:
        assert len(model.classes) == 7
