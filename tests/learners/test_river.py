"""The learners behave as river's own do: its checks, its pipelines, its evaluation."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import base, checks, compose, datasets, evaluate, metrics, preprocessing

from stream_llsvm import (
    AdditiveSVMClassifier,
    CommitteeClassifier,
    ContextsClassifier,
    PegasosClassifier,
    SAPLClassifier,
)
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.model.feature_warnings import FeaturesLeftOutWarning
from tests.learners.support import ALL_LEARNERS, SMALL, everything, records, small, taught


def all_checks() -> Iterator[Any]:
    for kind in ALL_LEARNERS:
        model = kind()
        for i, check in enumerate(checks.yield_checks(model)):
            name = getattr(check, "__name__", str(check))
            assert name not in model._unit_test_skips(), "no check of river's is left out"
            yield pytest.param(kind, check, id=f"{kind.__name__}-{name}-{i}")


@pytest.mark.parametrize(("kind", "check"), list(all_checks()))
def test_river_checks(kind: type[LocalClassifier], check: Callable[[Any], None]) -> None:
    check(kind().clone())


def scaled(model: LocalClassifier) -> Any:
    return preprocessing.StandardScaler() | model


def encoded(model: LocalClassifier) -> Any:
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    return (numbers + words) | model


def united(model: LocalClassifier) -> Any:
    return (
        compose.TransformerUnion(preprocessing.MinMaxScaler(), preprocessing.StandardScaler())
        | model
    )


@pytest.mark.parametrize("kind", [SAPLClassifier, CommitteeClassifier])
@pytest.mark.parametrize("pipeline", [scaled, united])
def test_river_checks_in_pipelines(
    kind: type[LocalClassifier], pipeline: Callable[[LocalClassifier], Any]
) -> None:
    model = pipeline(kind())
    for check in checks.yield_checks(model):
        # A scaler that learns a whole batch before it scales the first row cannot match one that
        # learns row by row, whatever comes after it.
        if check.__name__ == "check_learn_many_matches_learn_one" and pipeline is scaled:
            continue
        check(model.clone())


ON_A_STREAM = [
    check
    for name, check in sorted(vars(checks.common).items())
    if name.startswith("check_")
    and list(inspect.signature(check).parameters) == ["model", "dataset"]
    # These ask every step for methods that an encoder does not have.
    and "many" not in name
    and "transform" not in name
]


@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize("check", ON_A_STREAM, ids=lambda check: check.__name__)
def test_river_checks_behind_an_encoder(
    kind: type[LocalClassifier], check: Callable[..., None]
) -> None:
    check(preprocessing.OneHotEncoder() | kind(), dataset=datasets.Phishing().take(200))


@pytest.mark.parametrize("kind", [k for k in ALL_LEARNERS if k is not AdditiveSVMClassifier])
def test_a_pipeline_learns_words_and_numbers(kind: type[LocalClassifier]) -> None:
    rng = np.random.default_rng(0)
    model = encoded(kind())
    right = 0
    for i in range(600):
        colour, size = str(rng.choice(["red", "blue", "green"])), float(rng.normal())
        y = (colour == "red") == (size > 0)
        right += i >= 300 and model.predict_one({"colour": colour, "size": size}) == y
        model.learn_one({"colour": colour, "size": size}, y)
    # Colour and size tell only together, which no plane sees.
    assert right / 300 > (0.55 if kind is PegasosClassifier else 0.9)


def test_text_as_a_bag_of_words() -> None:
    from river.feature_extraction import BagOfWords

    model: Any = BagOfWords() | SAPLClassifier()
    for i in range(100):
        model.learn_one(f"cheap offer number {i}", "spam")
        model.learn_one(f"see you at lunch {i}", "ham")
        model.learn_one(f"invoice attached {i}", "work")
    assert model.predict_one("an offer so cheap") == "spam"
    assert model.predict_one("lunch with you") == "ham"


@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize("delay", [None, 1, 50])
def test_progressive_validation_with_delayed_labels(
    kind: type[LocalClassifier], delay: int | None
) -> None:
    stream = datasets.Bananas().take(1_500)
    score = evaluate.progressive_val_score(stream, kind(), metrics.Accuracy(), delay=delay)
    # No sum of curves follows the bananas, and to a plane they are one heap.
    least = {AdditiveSVMClassifier: 0.65, PegasosClassifier: 0.5}
    assert score.get() > least.get(kind, 0.75)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_clone_is_new_and_keeps_the_options(kind: type[LocalClassifier]) -> None:
    model = taught(small(kind, seed=3, standardize=False), records(50))
    clone = model.clone()
    assert clone._get_params() == model._get_params() != kind()._get_params()
    assert clone.classes == clone.features == ()
    assert clone.predict_one({"f0": 1.0}) is None
    assert everything(taught(clone, records(50))) == everything(model)
    with pytest.raises(ValueError, match="max_mb must be a whole number from 1"):
        model.clone({"max_mb": 0})


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_options_of_a_live_model_cannot_change(kind: type[LocalClassifier]) -> None:
    model = taught(kind(), records(10))
    before = everything(model)
    for option, value in SMALL[kind].items():
        with pytest.raises(ValueError, match="not a mutable attribute"):
            model.mutate({option: value})
    model.mutate({})
    assert everything(model) == before


def pickled(model: LocalClassifier) -> LocalClassifier:
    copied = pickle.loads(pickle.dumps(model))
    assert isinstance(copied, LocalClassifier)
    return copied


@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_goes_on_to_the_bit(
    kind: type[LocalClassifier], copied: Callable[[LocalClassifier], LocalClassifier]
) -> None:
    stream = records(300)
    model = taught(small(kind), stream[:150])
    x, y = stream[150]
    model.predict_one(x)  # the copy is made between a prediction and its label
    other = copied(model)
    assert everything(other) == everything(model)
    model.learn_one(x, y)
    other.learn_one(x, y)
    for x, y in stream[151:]:
        assert model.predict_proba_one(x) == other.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert everything(other) == everything(model)
    before = everything(other)
    taught(model, stream)
    assert everything(other) == before, "copies share nothing"


def test_the_learners_are_rivers() -> None:
    for kind in ALL_LEARNERS:
        assert issubclass(kind, base.Classifier)
        assert issubclass(kind, base.MiniBatchClassifier)
        assert kind()._multiclass


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_what_may_change_changes_in_a_model_that_has_begun(kind: type[LocalClassifier]) -> None:
    model: Any = kind()
    model.learn_one({"a": 1.0}, True)
    # Contexts alone have a table of 3 MB.
    little = 8 if kind in (CommitteeClassifier, ContextsClassifier) else 1
    model.mutate({"max_mb": little})
    assert model._get_params()["max_mb"] == little
    with pytest.warns(FeaturesLeftOutWarning, match=f"max_mb={little} has room"):
        model.learn_one({str(i): 1.0 for i in range(100_000)}, False)
    known = len(model.features)
    model.mutate({"max_mb": 1_024})
    model.learn_one({f"late {i}": 2.0 for i in range(100)}, False)
    assert len(model.features) == known + 100
    with pytest.raises(ValueError, match="max_mb must be a whole number"):
        model.mutate({"max_mb": 0})
    with pytest.raises(ValueError, match="'seed' is not a mutable attribute of"):
        model.mutate({"max_mb": 7, "seed": 3})
    assert model.max_mb == 1_024


def test_threads_may_change_without_a_trace() -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = (X[:, 0] > 0).tolist()
    one, two = CommitteeClassifier(), CommitteeClassifier()
    for model in (one, two):
        model.learn_many(X[:300], y[:300])
    two.mutate({"threads": 2})
    for model in (one, two):
        model.learn_many(X[300:], y[300:])
    assert one._state is not None and two._state is not None
    assert one._state.state.tobytes() == two._state.state.tobytes()


@pytest.mark.parametrize("many", [False, True])
def test_max_mb_below_what_a_model_takes_stops_its_growth(many: bool) -> None:
    model = CommitteeClassifier()
    model.learn_one({str(i): 1.0 for i in range(20_000)}, True)
    model.learn_one({"0": 1.0}, False)
    model.mutate({"max_mb": 1})
    with pytest.warns(FeaturesLeftOutWarning, match="max_mb=1 has room"):
        if many:
            names = [f"new {i}" for i in range(20_000)]
            model.learn_many(pd.DataFrame(np.ones((2, 20_000)), columns=names), [True, False])
        else:
            model.learn_one({f"new {i}": 1.0 for i in range(20_000)}, True)
    assert model.left_out > 0
    with pytest.raises(ValueError, match="more than max_mb=1"):
        model.learn_one({"0": 1.0}, "a third class")
