"""Labels that come late: whom to trust is learned from what was foretold, by whom."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_llsvm import CommitteeClassifier, SAPLClassifier, load_model
from stream_llsvm.kernels.mixer import EFFORT, POWER, TRUST
from stream_llsvm.kernels.run import MIXED, WAITING
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.model.file import ModelFileError
from tests.learners.support import everything
from tests.oracle_mixer import Mixer

KINDS = [SAPLClassifier, CommitteeClassifier]
Record = dict[str, float]


def stream(n: int, seed: int = 0, classes: int = 3) -> tuple[list[Record], list[int]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.digitize(x[:, 0] * x[:, 1] + 0.5 * x[:, 2], np.linspace(-0.7, 0.7, classes - 1))
    return [dict(zip("abc", row, strict=True)) for row in x.tolist()], y.tolist()


def grown_up(kind: type[LocalClassifier], classes: int = 3) -> LocalClassifier:
    model = kind()
    for x, y in zip(*stream(300, classes=classes), strict=True):
        model.learn_one(x, y)
    return model


def views(model: LocalClassifier) -> dict[str, Any]:
    assert model._state is not None
    return model._state.views(0)


def waiting(model: LocalClassifier) -> int:
    entries = views(model)["foretold"]
    n = int((entries[:, 0] != 0).sum())
    assert views(model)["memo"][WAITING] == n
    return n


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_trust_is_learned_from_the_scores_of_the_prediction(
    kind: type[LocalClassifier], classes: int
) -> None:
    model = grown_up(kind, classes)
    records, labels = stream(60, seed=1, classes=classes)
    model.predict_one(records[0])
    foretold = views(model)["scores"][0, 0].astype(float)
    for x, y in zip(records[1:], labels[1:], strict=True):
        model.learn_one(x, y)
    before = {name: views(model)[name].copy() for name in ("mixer", "counters")}
    model.learn_one(records[0], labels[0])
    fresh = views(model)["scores"][0, 0].astype(float)
    assert not np.allclose(fresh, foretold, atol=1e-3), "the model has not learned meanwhile"

    on_top = int(kind is CommitteeClassifier)
    oracle = Mixer([4.0] * len(foretold), classes, on_top, seldom=4)  # the words' experts
    oracle.trust, oracle.power, oracle.effort = before["mixer"][[TRUST, POWER, EFFORT]]
    oracle.mixed = int(before["counters"][MIXED]) + 1
    oracle.learn(oracle.mix(foretold), model.classes.index(labels[0]), 1.0)
    after = views(model)["mixer"]
    np.testing.assert_allclose(after[TRUST], oracle.trust, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(after[POWER], oracle.power, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_the_one_of_now(kind: type[LocalClassifier]) -> None:
    model, twin = grown_up(kind), grown_up(kind)
    records, labels = stream(100, seed=1)
    X = np.array([list(x.values()) for x in records])
    model.predict_many(X)  # named by position: these are other features
    assert waiting(model) == 0
    for x in records:
        model.predict_one(x)
    for x, y in zip(records, labels, strict=True):
        assert model.predict_one(x) is not None
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert waiting(model) == 0
    assert everything(model) == everything(twin), "a prediction anew takes the place of the old one"


def saved_and_loaded(model: LocalClassifier) -> LocalClassifier:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        loaded: LocalClassifier = load_model(Path(folder) / "model")
        return loaded


@pytest.mark.parametrize(
    "passed_on",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        saved_and_loaded,
    ],
    ids=["deepcopy", "pickle", "save"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_passed_on_knows_what_it_foretold(
    kind: type[LocalClassifier], passed_on: Callable[[Any], Any]
) -> None:
    model = grown_up(kind)
    records, labels = stream(80, seed=1)
    for x in records:
        model.predict_one(x)
    heir = passed_on(model)
    forgetful = grown_up(kind)
    assert waiting(heir) == waiting(model) > 60
    for each in (model, heir, forgetful):
        for x, y in zip(records, labels, strict=True):
            each.learn_one(x, y)
    assert everything(heir) == everything(model)
    assert everything(forgetful) != everything(model), "nothing hung on what was foretold"


def test_rows_are_found_again_as_records() -> None:
    model = grown_up(SAPLClassifier)
    records, labels = stream(50, seed=1)
    frame = pd.DataFrame(records)
    model.predict_many(frame[["c", "a", "b"]])
    assert waiting(model) > 45
    for x, y in zip(records, labels, strict=True):
        model.learn_one(x, y)
    assert waiting(model) == 0


def test_predictions_that_nobody_labels_take_no_more_room() -> None:
    model = grown_up(SAPLClassifier)
    assert model._state is not None
    before = everything(model), len(model._state.scratch)
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    model.predict_many(pd.DataFrame(X, columns=list("abc")))
    assert (everything(model), len(model._state.scratch)) == before
    assert 0.9 * len(views(model)["foretold"]) < waiting(model) < 20_000


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("entries", lambda a: a[:-1]),
        ("entries", lambda a: a.astype(np.float64)),
        ("entries", lambda a: 0 * a),
        ("entries", lambda a: -a),
        ("entries", lambda a: np.repeat(a[:1], len(a), axis=0)),
        ("scores", lambda a: a + np.float32(np.nan)),
        ("scores", lambda a: a[:, :, :0]),
        ("scores", lambda a: a.astype(np.float64)),
    ],
)
def test_a_file_with_impossible_predictions_is_refused(
    part: str, wrong: Callable[[Any], Any], tmp_path: Path
) -> None:
    model = grown_up(SAPLClassifier)
    for x in stream(20, seed=1)[0]:
        model.predict_one(x)
    payload: dict[str, Any] = model._payload()
    assert from_payload(payload).predict_one({"a": 1.0}) is not None
    payload["foretold"] = payload["foretold"] | {part: wrong(payload["foretold"][part])}
    with pytest.raises(ModelFileError):
        from_payload(payload)
