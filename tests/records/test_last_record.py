"""The record that was encoded last is encoded once; what it says now is what counts."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier, PegasosClassifier, PegasosRegressor
from stream_llsvm.records.features import FeatureSpace
from tests.records.test_features import assert_same, copied

WIDTH = 200


def space_of_many() -> FeatureSpace:
    return FeatureSpace([f"w{i:03}" for i in range(WIDTH)])


def record() -> dict[Any, Any]:
    return {"w150": 1.0, "w003": 2, "w099": True, "w007": None, "w008": np.float32(0.5)}


def encoded_anew(space: FeatureSpace, x: dict[Any, Any]) -> Any:
    return copied(FeatureSpace(space.names).encode(dict(x)))


@pytest.mark.parametrize(("more", "lacking"), [({}, 0), ({"city": "Oslo"}, 2), ({"new": 1.0}, 1)])
def test_a_record_is_encoded_once(more: dict[str, Any], lacking: int) -> None:
    space = space_of_many()
    x = record() | more
    row = space.encode(x)
    ignored = space.ignored
    assert space.encode(record()) is not row, "another dict"
    row = space.encode(x)
    assert space.encode(x) is row, "the same dict"
    assert space.ignored == ignored == lacking
    assert_same(row, encoded_anew(space, x))


@pytest.mark.parametrize(
    "change",
    [
        {"w150": 1.5},
        {"w150": math.nan},
        {"w150": "name"},
        {"w151": 1.0},
        {"never": 1.0},
        {"w007": 0.0},
        {"w003": np.array([2.0, 3.0])},
    ],
)
def test_a_record_that_was_changed_is_another_one(change: dict[str, Any]) -> None:
    space = space_of_many()
    x = record()
    space.encode(x)
    x.update(change)
    try:
        row = space.encode(x)
    except ValueError as error:
        assert "w003" in str(error)
        return
    ignored = len(space.unknown(x))
    assert space.ignored == ignored == sum(v == "name" or n == "never" for n, v in change.items())
    assert_same(row, encoded_anew(space, x))
    del x["w099"]
    assert_same(space.encode(x), encoded_anew(space, x))
    assert space.ignored == ignored


def test_a_list_that_was_changed_is_seen() -> None:
    space = space_of_many()
    x: dict[str, Any] = {"w001": ["red", "blue"]}
    before = copied(space.encode(x))
    x["w001"].append("green")
    assert space.encode(x).values.size == before.values.size + 1


@pytest.mark.parametrize("left_out", [0, 1, 3])
def test_the_names_it_brings_are_put_behind(left_out: int) -> None:
    space = space_of_many()
    x = {"zoo": 3, "w150": 1.0, "ant": None, "w003": 2.0, "bee": np.int64(7)}
    space.encode(x)
    lacking = space.lacking_of_last(x)
    assert lacking is not None and sorted(lacking) == space.unknown(x) == ["ant", "bee", "zoo"]
    space.append(sorted(lacking)[: 3 - left_out])
    row = space.encode(x)
    assert space.ignored == left_out
    assert_same(row, encoded_anew(space, x))
    assert sorted(space.lacking_of_last(x) or []) == ["ant", "bee", "zoo"][3 - left_out :]
    space.append(["other"])
    assert_same(space.encode(x), encoded_anew(space, x))


def test_a_record_that_becomes_one_that_names_much_is_dense() -> None:
    space = FeatureSpace([f"w{i:03}" for i in range(100)])
    x = {f"w{i:03}": 1.0 for i in range(24)} | {f"n{i:03}": 1.0 for i in range(60)}
    space.add(x)
    assert space.encode(x).starts.size == 0
    assert_same(space.encode(x), encoded_anew(space, x))


def test_nothing_but_the_last_record_is_kept() -> None:
    class Held(dict[str, float]):
        pass

    space = space_of_many()
    seen = Held(w001=1.0)
    gone = weakref.ref(seen)
    space.encode(seen)
    del seen
    gc.collect()
    assert gone() is None
    names = [{f"w{i:03}": float(i)} for i in range(50)]
    for x in names:
        space.encode(x)
    assert [x for x in names if len(gc.get_referrers(x)) > 1] == [names[-1]]


@pytest.mark.parametrize("kind", [PegasosClassifier, PegasosRegressor, CommitteeClassifier])
def test_learning_what_was_just_predicted_is_learning_it(kind: Any) -> None:
    """The same dict, an equal one and one that was changed between: to the bit the same model."""
    rng = np.random.default_rng(0)
    same, equal, changed = kind(), kind(), kind()
    for i in range(60):
        words = {f"w{j}": float(1 + j % 3) for j in rng.integers(0, 40 + 20 * i, 12).tolist()}
        x, other = dict(words), {"w0": 5.0, "never": 1.0}
        for model, asked in ((same, x), (equal, dict(words)), (changed, other)):
            model.predict_one(asked)
        other.clear()
        other.update(words)
        for model, told in ((same, x), (equal, dict(words)), (changed, other)):
            model.learn_one(told, i % 2)
    assert same.features == equal.features == changed.features
    assert len(same.features) > 200
    states = [model._state.state.tobytes() for model in (same, equal)]
    assert states[0] == states[1]
    x = {"w1": 1.0, "w30": 2.0}
    assert same.predict_one(x) == equal.predict_one(dict(x))
    # What was predicted in between was another record: only the mixer may tell.
    a, b = (model._state.views(1) for model in (equal, changed))
    assert all(a[name].tobytes() == b[name].tobytes() for name in ("weights",) if name in a)
