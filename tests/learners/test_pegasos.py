"""Pegasos beside a slow, obvious one; and all that is asked of the other learners."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, datasets, evaluate, metrics
from scipy import sparse

from stream_llsvm import ModelFileError, PegasosClassifier, PegasosRegressor, load_model
from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS, LOSSES_OF_PEGASOS
from stream_llsvm.kernels.surprise import FORGOTTEN
from stream_llsvm.model import file as model_file
from tests.learners.support import records
from tests.oracle_pegasos import pegasos

KINDS: list[Any] = [PegasosClassifier, PegasosRegressor]
BOTH = pytest.mark.parametrize("kind", KINDS)


def everything(model: Any) -> Any:
    known = model._payload()
    state = b"" if known["state"] is None else known["state"].tobytes()
    return state, known["width"], known["features"], known["labels"]


def taught(model: Any, stream: Any) -> Any:
    for x, y in stream:
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("forgets", [False, True])
def test_the_regressor_is_the_oracles(
    loss: str, batch_size: int, projection: bool, forgets: bool
) -> None:
    if loss == "epsilon_insensitive" and batch_size > 1:
        projection = True  # or its first steps are too long to compare digits
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32).astype(float)
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=400)
    if forgets:  # from here on nothing can be known
        y[200:] = 5 * y[:200]
    w = rng.integers(1, 3, 400).astype(float)
    options: dict[str, Any] = {"loss": loss, "batch_size": batch_size, "projection": projection}
    options |= {"l2": 1e-3, "t0": 2_000} if forgets else {"l2": 0.05, "t0": 3}
    model = PegasosRegressor(standardize=False, forgets=forgets, **options)
    scores = []
    for row, target, c in zip(X, y, w, strict=True):
        x = dict(enumerate(row.tolist()))
        scores.append(model.predict_one(x))
        model.learn_one(x, target, w=float(c))
    weights, wanted, forgotten = pegasos(model, loss, X, y, w, model.epsilon)
    assert model._state is not None
    views = model._state.views(1)
    assert views["clock"][FORGOTTEN] == pytest.approx(forgotten)
    assert (forgotten > 0) == forgets
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-6)  # answers are 4-byte floats
    own = views["scale"][0] * np.append(views["weights"][0], views["bias"][0])
    np.testing.assert_allclose(own, weights, rtol=2e-6, atol=1e-8)
    assert views["norm"][0] == pytest.approx(float(weights @ weights), rel=1e-5)


def test_in_the_end_it_is_the_best_linear_machine() -> None:
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 5))
    y = X @ [1, 1, -1, 0, 0] + rng.normal(size=5_000) > 0
    signs = np.where(y, 1, -1)
    model = PegasosClassifier(l2=1e-2, standardize=False, forgets=False)
    model.learn_many(X[:1], np.array([False]), w=1e-6)
    model.warm_start(X, y, epochs=10)
    peer = LinearSVC(C=1 / (1e-2 * 5_000), loss="hinge", max_iter=100_000).fit(X, y)

    def objective(w: Any, b: float) -> float:
        hinge = np.maximum(0, 1 - signs * (X @ w + b)).mean()
        return float(hinge + 1e-2 / 2 * (w @ w + b * b))

    assert model._state is not None
    views = model._state.views(1)
    scale = float(views["scale"][0])
    ours = objective(scale * views["weights"][0, :5], scale * float(views["bias"][0]))
    assert ours < 1.01 * objective(peer.coef_[0], float(peer.intercept_[0]))


def all_checks() -> Iterator[Any]:
    for kind in KINDS:
        for i, check in enumerate(checks.yield_checks(kind())):
            name = getattr(check, "__name__", str(check))
            assert name not in kind()._unit_test_skips()
            yield pytest.param(kind, check, id=f"{kind.__name__}-{name}-{i}")


@pytest.mark.parametrize(("kind", "check"), list(all_checks()))
def test_river_checks(kind: Any, check: Callable[[Any], None]) -> None:
    check(kind())


@pytest.mark.parametrize("batch_size", [1, 16])
@BOTH
def test_learn_many_is_row_by_row(kind: Any, batch_size: int) -> None:
    one, many = kind(batch_size=batch_size), kind(batch_size=batch_size)
    rng = np.random.default_rng(0)
    for names in ("ba", "abc", "dbac", "c", "cabdef"):
        X = pd.DataFrame({name: rng.normal(3, 2, 30) for name in names})
        X[rng.random(X.shape) < 0.1] = np.nan
        y = pd.Series(rng.integers(0, 2 + len(names), 30))
        w = rng.integers(0, 3, 30).astype(float)
        w[0] = 1
        for row, label, c in zip(X.to_dict("records"), y.tolist(), w.tolist(), strict=True):
            one.learn_one(row, label, w=c)
        many.learn_many(X, y, w=w)
        assert everything(many) == everything(one)
        told = list(many.predict_many(X))
        assert told == [one.predict_one(row) for row in X.to_dict("records")]


def test_arrays_of_known_labels_take_the_short_way_to_the_same() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    short, long = PegasosClassifier(), PegasosClassifier()
    for model in (short, long):
        model.learn_many(X, y)
    short.learn_many(X, y)
    long.learn_many(X, y.tolist())
    assert everything(short) == everything(long)


def test_a_sparse_matrix_is_its_records() -> None:
    X = sparse.random_array((80, 300), density=0.03, format="csr", rng=0)
    y = np.arange(80) % 3
    one, many = PegasosClassifier(), PegasosClassifier()
    for i in range(80):
        row = X[[i]]
        one.learn_one(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)), int(y[i]))
    many.learn_many(X, y)
    assert everything(one) == everything(many)
    rows = [X[[i]] for i in range(80)]
    named = [dict(zip(r.indices.tolist(), r.data.tolist(), strict=True)) for r in rows]
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x in named]


@BOTH
@pytest.mark.parametrize("batch_size", [1, 16])
def test_a_saved_model_goes_on_to_the_bit(kind: Any, batch_size: int, tmp_path: Path) -> None:
    stream = records(300)
    model = taught(kind(batch_size=batch_size), stream[:155])
    model.save(tmp_path / "model")
    others = [
        load_model(tmp_path / "model"),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    for other in others:
        assert type(other) is kind and everything(other) == everything(model)
    for either in (model, *others):
        taught(either, stream[155:])
        taught(either, [({"late": 1.0}, 3)])
    for other in others:
        assert everything(other) == everything(model)
    empty = kind()
    empty.save(tmp_path / "model")
    assert everything(load_model(tmp_path / "model")) == everything(empty)


@BOTH
def test_bad_files_are_refused(kind: Any, tmp_path: Path) -> None:
    model = taught(kind(), records(50))
    payload = dict(model._payload())
    state: Any = payload["state"]
    nan = state.copy()
    nan.view(np.float64)[20:] = np.nan
    negative = state.copy()
    negative.view(np.float64)[0] = -1
    changes: list[dict[str, Any]] = [
        {"state": state[:-8]},
        {"state": nan},
        {"state": negative},
        {"width": 10**9},
        {"features": ("f0", "f0", "f1")},
        {"labels": ("a", "a")},
        {"params": {"l2": -1.0}},
        {"params": {"nonsense": 1}},
    ]
    for change in changes:
        model_file.write(tmp_path / "model", payload | change)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "model")


@BOTH
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"f0": 1j}, "has the value 1j"),
        ({"f0": float("inf")}, "infinite"),
        ({float("nan"): 1.0}, "does not equal itself"),
    ],
)
def test_bad_records_change_nothing(kind: Any, x: Any, message: str) -> None:
    model = taught(kind(), records(20))
    before = everything(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, 1)
    with pytest.raises(ValueError, match=message):
        model.predict_one(x)
    assert everything(model) == before


@pytest.mark.parametrize("y", [None, float("nan"), "7", float("inf")])
def test_bad_targets_are_refused(y: Any) -> None:
    model = PegasosRegressor()
    with pytest.raises(ValueError, match="the target"):
        model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match="row 1"):
        model.learn_many(np.ones((2, 1)), [1.0, y])
    with pytest.raises(ValueError, match="2 targets for 3 rows"):
        model.learn_many(np.ones((3, 1)), [1.0, 2.0])
    assert model.features == ()


@BOTH
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("l2", 0),
        ("batch_size", 0),
        ("projection", 1),
        ("loss", "absolute"),
        ("t0", -1),
        ("forgets", 1),
    ],
)
def test_bad_options_are_refused(kind: Any, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=option):
        kind(**{option: value})


@BOTH
def test_too_much_is_refused(kind: Any) -> None:
    model = kind(max_mb=1)
    with pytest.raises(ValueError, match="more than max_mb=1"):
        model.learn_one({f"f{i}": 1.0 for i in range(100_000)}, 1)
    assert model.features == ()


@BOTH
@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_extremes_stay_finite(kind: Any, size: float) -> None:
    model = kind()
    for i in range(200):
        model.learn_one({"a": size * (i % 3 - 1), "b": 1.0}, i % 2)
    assert np.isfinite(model._payload()["state"].view(np.float64)).all()
    assert model.predict_one({"a": size}) is not None


def test_memory_is_flat() -> None:
    model = taught(PegasosClassifier(), records(1_000))
    stream = records(3_000, seed=1)
    tracemalloc.start()
    taught(model, stream)
    model.predict_one(stream[0][0])
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 20_000


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_it_learns_numbers(loss: str) -> None:
    """River's linear regression behind a scaler has 0.56 on this stream."""
    stream = datasets.TrumpApproval()
    score = evaluate.progressive_val_score(stream, PegasosRegressor(loss=loss), metrics.MAE())
    assert score.get() < 0.5


@pytest.mark.parametrize("loss", LOSSES_OF_PEGASOS)
def test_it_learns_classes(loss: str) -> None:
    for stream, least in ((datasets.Phishing(), 0.85), (datasets.ImageSegments(), 0.78)):
        model = PegasosClassifier(loss=loss)
        score = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
        assert score.get() > least


def test_what_it_answers_fits_together() -> None:
    for classes in (1, 2, 3):
        model = taught(PegasosClassifier(loss="logistic"), records(200, classes=classes))
        for x, _ in records(20, seed=1):
            proba, scores = model.predict_proba_one(x), model.decision_function_one(x)
            assert sum(proba.values()) == pytest.approx(1)
            assert set(proba) == set(scores) == set(model.classes)
            assert model.predict_one(x) in [c for c in scores if scores[c] == max(scores.values())]
    empty = PegasosClassifier()
    assert empty.predict_one({"a": 1.0}) is None
    assert empty.predict_proba_one({"a": 1.0}) == empty.decision_function_one({}) == {}
    assert empty.predict_many(np.ones((2, 1))).tolist() == [None, None]
    assert PegasosRegressor().predict_many(np.ones((2, 1))).tolist() == [0, 0]
