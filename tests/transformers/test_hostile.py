"""Transformers that a file may hold but nobody has written: refused in words, or harmless."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river import compose, feature_extraction, preprocessing, stats, utils

from stream_llsvm import LLSVMClassifier, ModelFileError, OnlineNystroem
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Learner
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of
from stream_llsvm.model.file import dumps, loads
from stream_llsvm.transformers.natives import UnfitError
from stream_llsvm.transformers.plain import Writer
from stream_llsvm.transformers.restored import Reader
from tests.packed import VALUES
from tests.transformers.test_plain import ANYTHING, HOW, NUMBERS, learn, mixed

Way = tuple[Any, ...]


def everything() -> Any:
    """Return a pipeline with many kinds of state, which has learned a little."""
    numbers = compose.Select("a", "c") | (
        preprocessing.StandardScaler(window_size=5)
        + preprocessing.RobustScaler()
        + preprocessing.AdaptiveStandardScaler()
        + preprocessing.GaussianRandomProjector(2, seed=1)
        + OnlineNystroem(5, settled=20)
    )
    aggregates = (
        feature_extraction.Agg("a", "n", utils.Rolling(stats.Var, window_size=3))
        + feature_extraction.Agg("c", ["n"], stats.RollingIQR(4))
        + feature_extraction.TargetAgg("n", stats.BayesianMean(0.5, 2))
    )
    names = compose.Select("n") | preprocessing.OneHotEncoder()
    words = feature_extraction.TFIDF(on="text") + preprocessing.GapEncoder(2, on="n", seed=2)
    model = (numbers + aggregates + names + words) | LLSVMClassifier(n_anchors=3, n_neighbors=2)
    Learner(model).take(batch(12))
    return model


def batch(n: int, seed: int = 0) -> Batch:
    rows = list(mixed(n, seed))
    return Batch([y for _, y in rows], [], {}, records=[x for x, _ in rows])


@pytest.fixture(scope="module")
def payload() -> dict[str, Any]:
    return loads(dumps(payload_of(everything())))


def ways(value: Any, here: Way = ()) -> Iterator[Way]:
    """Yield the way to every part of plain data."""
    yield here
    if isinstance(value, dict):
        for key in value:
            yield from ways(value[key], (*here, key))
    elif isinstance(value, list | tuple):
        for i, one in enumerate(value):
            yield from ways(one, (*here, i))


def changed(value: Any, way: Way, new: Any) -> Any:
    """Return plain data with another value in one place."""
    if not way:
        return new
    first, *rest = way
    inside = changed(value[first], tuple(rest), new)
    if isinstance(value, dict):
        return value | {first: inside}
    several = list(value)
    several[first] = inside
    return tuple(several) if isinstance(value, tuple) else several


def goes_on(payload: dict[str, Any]) -> bool:
    """Let a model be made and learn; returns whether it could be made."""
    try:
        model = from_payload(payload)
    except ModelFileError:
        return False
    Learner(model).take(batch(8, seed=1))
    try:
        again = loads(dumps(payload_of(model)))
    except ValueError:
        return True
    from_payload(again)
    return True


def test_what_was_not_changed_goes_on(payload: dict[str, Any]) -> None:
    assert goes_on(payload)
    model, own = from_payload(payload), everything()
    answers = [Learner(one).take(batch(30, seed=1)) for one in (model, own)]
    assert not answers[0].refused
    first, second = (answer.sure for answer in answers)
    assert first is not None
    assert second is not None
    assert first.tolist() == second.tolist()


@pytest.fixture(scope="module")
def steps(payload: dict[str, Any]) -> list[Way]:
    return [("steps", *way) for way in ways(payload["steps"])]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_part_may_be_anything(
    payload: dict[str, Any], steps: list[Way], data: st.DataObject
) -> None:
    way = data.draw(st.sampled_from(steps))
    other = data.draw(st.sampled_from(steps))
    there: Any = payload
    for key in other:
        there = there[key]
    value = data.draw(st.just(there) | VALUES | st.sampled_from(_ODD))
    goes_on(changed(payload, way, copy.deepcopy(value)))


_ODD: list[Any] = [
    -1, 0, 2**62, -(2**62), float("nan"), float("inf"), 1e308, "", "Pipeline",
    ("object", "StandardScaler", [], {}, {}), ("chain", "Pipeline", [], []), ("list", []),
    ("dict", [], []), ("native", []), ("set", [None]), ("function", "os:system"),
    ("rolling", None, 10**9, []), ("type", "type"), ("pickle", b"cos\nsystem\n"),
]  # fmt: skip


@pytest.mark.parametrize("name", [*NUMBERS, *ANYTHING, *HOW])
def test_each_transformer_survives_other_numbers(name: str) -> None:
    """Whatever stands in place of a number of its state, it is refused or goes on."""
    if name in HOW:
        own: Any = feature_extraction.Agg("a", "n", HOW[name]())
    else:
        own = (NUMBERS | ANYTHING)[name]()
    rows = [
        ({k: v for k, v in x.items() if type(v) is float} if name in NUMBERS else x, y)
        for x, y in mixed(30)
    ]
    for x, y in rows[:20]:
        learn(own, x, y)
    plain = Writer().plain(own)
    places = list(ways(plain))
    chance = np.random.default_rng(0)
    for place in chance.permutation(len(places))[:120]:
        value = _ODD[chance.integers(len(_ODD))]
        try:
            read = Reader().made(changed(plain, places[place], value))
        except UnfitError:
            continue
        for x, y in rows[20:]:
            try:
                learn(read, x, y)
            except Exception:
                continue


HOSTILE = {
    "a class that is not listed": ("object", "Popen", [], {"args": "true"}, {}),
    "a class of a module": ("object", "os.system", [], {}, {}),
    "an option that is not there": ("object", "StandardScaler", [], {"command": 1}, {}),
    "a state that is not there": (
        "object", "PreviousImputer", [], {}, {"_latest": ("dict", [], []), "learn_one": 1}
    ),
    "no state": ("object", "PreviousImputer", [], {}, {}),
    "a list that cannot be a key": ("object", "PreviousImputer", [], {}, {
        "_latest": ("dict", [("list", [])], [1])}),
    "a key twice": ("object", "PreviousImputer", [], {}, {
        "_latest": ("dict", ["a", "a"], [1, 2])}),
    "a statistic of the wrong kind": ("object", "StatImputer", [("tuple", ["a"])], {}, {}),
    "a window that would take all memory": (
        "object", "RollingQuantile", [], {"q": 0.5, "window_size": 10**12}, {}
    ),
    "many components": (
        "object", "RBFSampler", [], {"gamma": 1.0, "n_components": 10**9, "seed": None}, {}
    ),
    "a chain of no steps": ("chain", "Pipeline", ["a"], [None]),
    "a chain that is none": ("chain", "system", [], []),
    "a function": ("function", "os:system"),
    "a pickle": ("pickle", b"cos\nsystem\n(S'true'\ntR."),
    "a type that is not listed": ("type", "object"),
    "a generator by itself": ("native", [1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_nobody_wrote_is_refused(what: str) -> None:
    with pytest.raises(UnfitError):
        Reader().made(HOSTILE[what])


def test_a_generator_beyond_its_end_is_refused() -> None:
    """Numpy would read behind the end of its memory."""
    plain = Writer().plain(preprocessing.GapEncoder(2, on="n", seed=0))
    place = next(way for way in ways(plain) if way[-2:] == ("rng", 1))
    for at in (625, -1, 2**40):
        with pytest.raises(UnfitError, match="impossible"):
            Reader().made(changed(plain, (*place, 1), at))


def test_many_that_are_each_small_enough_are_refused_together() -> None:
    one = Writer().plain(feature_extraction.RBFSampler(n_components=1, seed=0))
    large = changed(one, (3, "n_components"), 900_000)
    Reader().made(changed(one, (3, "n_components"), 1_000))
    both = ("chain", "TransformerUnion", ["a", "b"], [large, large])
    with pytest.raises(UnfitError, match="together are more than a file may ask for"):
        Reader().made(both)


def test_nesting_has_a_bound() -> None:
    own: Any = compose.Select("a")
    for _ in range(40):
        own = compose.Grouper(own, by="n")
    with pytest.raises(UnfitError, match="nested deeper"):
        Writer().plain(own)


@pytest.mark.parametrize(
    ("option", "value"), [("q", 2.0), ("q", float("nan")), ("window_size", 0), ("window_size", -1)]
)
def test_what_would_stop_compiled_code_is_refused(option: str, value: Any) -> None:
    plain = Writer().plain(stats.RollingQuantile(0.5, 5))
    with pytest.raises(UnfitError):
        Reader().made(changed(plain, (3, option), value))


def test_an_empty_window_is_not_asked() -> None:
    plain = Writer().plain(stats.RollingQuantile(0.5, 5))
    assert Reader().made(plain).get() is None
    with pytest.raises(UnfitError):
        Reader().made(changed(plain, (4, "_is_updated"), True))
