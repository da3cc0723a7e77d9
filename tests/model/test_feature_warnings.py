"""Who asks about features that the model does not know is told so, once."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import preprocessing
from scipy import sparse

from stream_llsvm import (
    CommitteeClassifier,
    HomogeneousKernelMap,
    LLSVMRegressor,
    PegasosClassifier,
    PegasosRegressor,
    SAPLClassifier,
    UnknownFeatureWarning,
)
from stream_llsvm.model.feature_warnings import unknown_features, without_warnings

pytestmark = pytest.mark.filterwarnings(
    "error::stream_llsvm.model.feature_warnings.UnknownFeatureWarning"
)

KINDS = (CommitteeClassifier, SAPLClassifier, PegasosClassifier, PegasosRegressor, LLSVMRegressor)
each_kind = pytest.mark.parametrize("kind", KINDS)


def taught(kind: Any, **options: Any) -> Any:
    model = kind(**options)
    for i in range(20):
        model.learn_one({"length": i * 0.1, "width": i % 3}, i % 2)
    return model


def asked(model: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the ways to ask about one record with these names."""
    x = dict.fromkeys(names, 1.0)
    frame = pd.DataFrame([x])
    ways = [lambda: model.predict_one(x), lambda: model.predict_many(frame)]
    if hasattr(model, "predict_proba_one"):
        ways += [lambda: model.predict_proba_one(x), lambda: model.predict_proba_many(frame)]
        ways += [lambda: model.decision_function_one(x)]
    return tuple(ways)


@each_kind
def test_an_unknown_feature_is_told_once(kind: Any) -> None:
    for way in range(len(asked(taught(kind), ("length",)))):
        model = taught(kind)
        with pytest.warns(UnknownFeatureWarning) as told:
            asked(model, ("lenght", "width"))[way]()
        text = str(told[0].message)
        assert "names 'lenght', not known to the model, which knows 'length', 'width':" in text
        assert told[0].filename == __file__, "it points at who asked"
        assert len(told) == 1
        for ask in asked(model, ("lenght", "width")):
            ask()  # a second warning would be an error here
        pickle.loads(pickle.dumps(model)).predict_one({"foo": 1.0})
        copy.deepcopy(model).predict_one({"foo": 1.0})


@each_kind
@pytest.mark.parametrize("x", [{"foo": 1.5}, {}])
def test_a_record_of_which_nothing_is_known(kind: Any, x: dict[str, float]) -> None:
    with pytest.warns(UnknownFeatureWarning, match="none of the features that the model knows"):
        taught(kind).predict_one(x)


@each_kind
def test_missing_values_and_missing_names_are_no_surprise(kind: Any) -> None:
    model = taught(kind)
    model.predict_one({"length": None, "width": float("nan")})
    model.predict_one({"width": 1.0})
    model.predict_many(pd.DataFrame({"length": [np.nan, 1.0]}))


@each_kind
def test_what_is_learned_is_no_surprise(kind: Any) -> None:
    model = kind()
    model.predict_one({"length": 1.0})
    model = taught(kind)
    model.learn_one({"length": 1.0, "height": 2.0}, 1)
    model.predict_one({"length": 1.0, "height": 2.0})
    frame = pd.DataFrame({"length": [1.0, 2.0], "age": [1.0, 2.0]})
    if hasattr(model, "test_then_learn"):
        model.test_then_learn(frame, [0, 1])
    else:
        model.learn_many(frame, [0, 1])
    model.predict_many(frame)
    assert "age" in model.features


def test_new_words_of_a_text_are_no_surprise_unless_all_are() -> None:
    model = SAPLClassifier()
    rng = np.random.default_rng(0)
    for i in range(60):
        words = [f"w{j}" for j in rng.choice(200, 8, replace=False)]
        model.learn_one(dict.fromkeys(words, 1.0), i % 2)
    x = {"w1": 1.0, "w2": 1.0, "never": 1.0}
    assert model.predict_one(x) is not None
    with pytest.warns(UnknownFeatureWarning, match="none of the features"):
        model.predict_one({"never": 1.0, "ever": 1.0})


def test_rows_of_a_sparse_matrix_are_looked_at_by_what_they_name() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.random((80, 200)) < 0.05, dtype=float)
    model = SAPLClassifier()
    model.learn_many(X[:10], np.arange(10) % 2)
    assert 64 < len(model.features) < 200
    assert len(unknown_features(model, range(200)) or ()) > 0
    model.predict_many(X)  # some of the words are new
    nothing = sparse.csr_matrix(([1.0], ([0], [250])), shape=(1, 300))
    with pytest.warns(UnknownFeatureWarning, match="none of the features"):
        model.predict_many(nothing)


@pytest.mark.parametrize("code_in", ["input", "feature"])
def test_the_names_are_the_users_if_there_is_a_map(code_in: str) -> None:
    model = taught(SAPLClassifier, feature_map=HomogeneousKernelMap(), code_in=code_in)
    model.predict_one({"length": 1.0, "width": 1.0})
    assert unknown_features(model, {"length": 1.0, "lenght": 1.0}) == ["lenght"]
    with pytest.warns(UnknownFeatureWarning, match="names 'lenght', not known"):
        model.predict_one({"length": 1.0, "lenght": 1.0})


def test_few_of_many_unknown_features_are_listed() -> None:
    with pytest.warns(UnknownFeatureWarning) as told:
        taught(SAPLClassifier).predict_one({"width": 1.0} | {f"x{i}": 1.0 for i in range(2_000)})
    assert len(told) == 1
    text = str(told[0].message)
    assert "'x0', 'x1', 'x2', 'x3', 'x4' and 1,995 more" in text and len(text) < 300


def test_it_can_be_turned_off_and_be_an_error() -> None:
    model = taught(SAPLClassifier)
    with without_warnings():
        model.predict_one({"foo": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownFeatureWarning)
        with pytest.raises(UnknownFeatureWarning):
            model.predict_one({"foo": 1.0})
    assert model.predict_one({"foo": 1.0}) in (0, 1)


def test_other_models_are_not_asked() -> None:
    assert unknown_features(preprocessing.StandardScaler(), {"a": 1}) is None
