"""Several threads and one model: all is answered, and learned, as one thread alone would."""

from __future__ import annotations

import copy
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config  # type: ignore[import-untyped]
from river import compose, preprocessing
from sklearn.inspection import permutation_importance

from stream_llsvm import (
    DecidingClassifier,
    KeyedClassifier,
    LLSVMClassifier,
    OnlineNystroem,
    PegasosClassifier,
    load_model,
    sklearn,
)
from stream_llsvm.learners.registry import CLASSIFIERS, REGRESSORS, learner
from tests.learners import number_support, support

Stream = list[tuple[dict[str, Any], Any]]

#: How to make a small model of each kind.
MADE: dict[str, Callable[[], Any]] = {
    **{name: partial(support.small, learner(name)) for name in CLASSIFIERS},
    **{name: partial(number_support.small, learner(name)) for name in REGRESSORS},
    "KeyedClassifier": lambda: KeyedClassifier(PegasosClassifier(), key="sky"),
    "DecidingClassifier": lambda: DecidingClassifier(
        LLSVMClassifier(n_anchors=8), hold={"label": "b", "recall": 0.8}, coverage=0.9
    ),
    "Pipeline": lambda: compose.Pipeline(
        preprocessing.OneHotEncoder(),
        OnlineNystroem(n_landmarks=8, settled=60),
        LLSVMClassifier(n_anchors=8),
    ),
}
OWN = [name for name in MADE if name not in ("DecidingClassifier", "Pipeline")]
FACES = ("SAPLClassifier", "LLSVMRegressor")
ONE = ("predict_one", "predict_proba_one", "predict_set_one", "decision_function_one")


def stream(name: str, n: int, seed: int) -> Stream:
    """Return records of numbers and a name, with a number or a class for a label."""
    rng = np.random.default_rng(seed)
    values, skies = rng.normal(size=(n, 2)).tolist(), rng.choice(["blue", "grey"], n).tolist()
    made: Stream = []
    for (a, b), sky in zip(values, skies, strict=True):
        kind = "abc"[int(a > 0) + int(b > 0.5)]
        made.append(({"a": a, "b": b, "sky": sky}, a - b if name in REGRESSORS else kind))
    return made


def taught(model: Any, some: Stream) -> Any:
    for x, y in some:
        model.learn_one(x, y)
    return model


def asked(model: Any, xs: Sequence[dict[str, Any]]) -> list[str]:
    """Return all that a model says of records, to the bit."""
    told = [repr(getattr(model, how)(x)) for how in ONE if hasattr(model, how) for x in xs]
    if hasattr(model, "explain_one"):
        told += [repr(model.explain_one(x)) for x in xs[:1]]
    if hasattr(model, "learn_many") and not isinstance(model, compose.Pipeline):
        frame = pd.DataFrame(xs)
        told += [repr(model.predict_many(frame).tolist())]
        if hasattr(model, "predict_proba_many"):
            told += [repr(model.predict_proba_many(frame).to_numpy().tolist())]
    return told


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Return what these return, each called at the same time by a thread of its own."""
    begin = threading.Barrier(len(calls))

    def called(one: Callable[[], Any]) -> Any:
        begin.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [each.result() for each in [pool.submit(called, one) for one in calls]]


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("name", MADE)
def test_several_threads_get_the_answers_of_one(name: str) -> None:
    model = taught(MADE[name](), stream(name, 100, 0))
    n = 50 if name == "Pipeline" else 200  # whose transformers take their time
    parts = [[x for x, _ in stream(name, n, seed)] for seed in (1, 2, 3)]
    alone = [asked(model, xs) for xs in parts]
    assert together(*(partial(asked, model, xs) for xs in parts)) == alone


@pytest.mark.parametrize("name", OWN)
def test_who_learns_beside_predictions_learns_what_he_would_alone(name: str) -> None:
    some, done = stream(name, 150, 0), threading.Event()
    for i, (x, _) in enumerate(some):
        x[f"feature {i // 30}"] = float(i % 7)
        x["sky"] = f"sky {i // 10}"
    xs = [x for x, _ in stream(name, 5, 9)]

    def learned(model: Any) -> Any:
        try:
            taught(model, some[:100])
            model.learn_many(pd.DataFrame([x for x, _ in some[100:]]), [y for _, y in some[100:]])
        finally:
            done.set()
        return model

    def answered(model: Any) -> None:
        while not done.is_set():
            for x in xs:
                if name in REGRESSORS:
                    assert np.isfinite(model.predict_one(x))
                    continue
                assert model.predict_one(x) in (None, *"abc")
                assert sum(model.predict_proba_one(x).values()) in (0, pytest.approx(1))
            assert len(model.predict_many(pd.DataFrame(xs))) == len(xs)

    model = MADE[name]()
    together(partial(learned, model), partial(answered, model), partial(answered, model))
    assert asked(model, xs) == asked(learned(MADE[name]()), xs)


@pytest.mark.parametrize("name", ["SAPLClassifier", "PegasosRegressor", "KeyedClassifier"])
def test_a_copy_made_beside_learning_is_that_of_a_moment(name: str, tmp_path: Path) -> None:
    def saved(model: Any) -> Any:
        model.save(tmp_path / "model")
        return load_model(tmp_path / "model")

    ways: list[Callable[[Any], Any]] = [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        saved,
    ]
    some, done = stream(name, 80, 0), threading.Event()
    xs, model, moments = [x for x, _ in stream(name, 3, 9)], MADE[name](), []
    for x, y in some:
        model.learn_one(x, y)
        moments.append(asked(copy.deepcopy(model), xs))
    model = taught(MADE[name](), some[:1])

    def learned() -> None:
        try:
            taught(model, some[1:])
        finally:
            done.set()

    def copied() -> list[Any]:
        made = []
        while not done.is_set():
            made += [way(model) for way in ways]
        return made

    made = together(learned, copied)[1]
    assert all(asked(one, xs) in moments for one in [*made, *(way(model) for way in ways)])


@pytest.mark.parametrize("name", MADE)
def test_a_shallow_copy_is_another_model(name: str) -> None:
    model = taught(MADE[name](), stream(name, 100, 0))
    xs = [x for x, _ in stream(name, 5, 1)]
    before, twin = asked(model, xs), copy.copy(model)
    assert asked(twin, xs) == before
    if name in CLASSIFIERS | REGRESSORS:
        assert asked(model.clone(include_attributes=True), xs) == before
    if name != "Pipeline":  # which is river's own
        taught(twin, stream(name, 50, 2))
        assert asked(model, xs) == before != asked(twin, xs)


@pytest.mark.parametrize("name", FACES)
def test_scikit_learns_threads_get_the_answers_of_one(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = X[:, 0] - X[:, 1] if name in REGRESSORS else (X[:, 0] > X[:, 1]) + (X[:, 2] > 1)
    face = getattr(sklearn, name)(n_anchors=12, n_neighbors=4, epochs=1).fit(X, y)
    hows = [one for one in ("predict", "predict_proba", "decision_function") if hasattr(face, one)]
    parts = [X[i::4] for i in range(4)]

    def all_of(part: Any) -> list[Any]:
        return [getattr(face, how)(part).tolist() for how in hows for _ in range(3)]

    alone = list(map(all_of, parts))
    assert together(*(partial(all_of, part) for part in parts)) == alone
    found = []
    for n in (1, 4):
        with parallel_config("threading"):
            found.append(permutation_importance(face, X, y, n_repeats=3, random_state=0, n_jobs=n))
    assert found[0].importances.tolist() == found[1].importances.tolist()
    twin = copy.copy(face).partial_fit(X[:50], y[:50])
    assert list(map(all_of, parts)) == alone
    assert twin.model_ is not face.model_


def test_two_threads_may_merge_the_same_models() -> None:
    base = taught(MADE["PegasosClassifier"](), stream("", 50, 0))
    one, other = (taught(copy.deepcopy(base), stream("", 50, seed)) for seed in (1, 2))
    xs = [x for x, _ in stream("", 5, 3)]

    def merged(model: Any, beside: Any) -> list[list[str]]:
        return [asked(model.merge([beside], since=base), xs) for _ in range(6)]

    assert (
        len(
            {
                repr(told)
                for told in together(partial(merged, one, other), partial(merged, other, one))
            }
        )
        == 1
    )


def test_a_wait_that_is_interrupted_leaves_no_lock_behind() -> None:
    model = taught(MADE["PegasosClassifier"](), stream("", 50, 0))
    x, me, held = stream("", 1, 1)[0][0], threading.get_ident(), threading.Event()

    def hold() -> None:
        with model._lock:
            held.set()
            signal.pthread_kill(me, signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            pool.submit(hold)
            while True:
                model.predict_one(x)
        assert held.is_set()
        assert pool.submit(model.predict_one, x).result(60) in ("a", "b", "c")
