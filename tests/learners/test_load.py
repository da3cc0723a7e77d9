"""A saved model goes on as if it had never been saved; a bad file is refused, whatever is in it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_llsvm import ModelFileError, SAPLClassifier, load_model
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.anchors.state import N_ANCHORS, ZOOM
from stream_llsvm.model import file as model_file
from tests.learners.support import ALL_LEARNERS, everything, records, small, taught


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.llsvm"


@pytest.mark.parametrize("kind", ALL_LEARNERS)
@pytest.mark.parametrize("n", [0, 1, 2, 49, 100, 300])
def test_it_goes_on_to_the_bit(kind: type[LocalClassifier], n: int, path: Path) -> None:
    stream = records(600)
    model = taught(small(kind, seed=4), stream[:n])
    if n:
        model.predict_one(stream[n][0])  # saved between a prediction and its label
    model.save(path)
    loaded = load_model(path)
    assert type(loaded) is kind
    assert loaded._get_params() == model._get_params()
    assert everything(loaded) == everything(model)
    for x, y in stream[n : n + 200]:
        assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
        loaded.learn_one(x, y)
        model.learn_one(x, y)
    # New features and classes come after it was loaded, and it is saved again.
    for either in (loaded, model):
        taught(either, [({"late": 1.0, "f0": 2.0}, "late"), ({"later": -1.0}, "late")])
    loaded.save(path)
    assert everything(load_model(path)) == everything(model)
    X = np.ones((4, 3))
    loaded.warm_start(X, [0, 1, 2, 0], epochs=2)
    model.warm_start(X, [0, 1, 2, 0], epochs=2)
    assert everything(loaded) == everything(model)


@pytest.mark.parametrize("kind", ALL_LEARNERS)
def test_a_wide_model_with_room_to_spare(kind: type[LocalClassifier], path: Path) -> None:
    model = small(kind)
    for i in range(90):
        model.learn_one({f"w{i}": 1.0, f"w{i + 1}": 2.0}, i % 3)
    assert model._state is not None and model._state.width > len(model.features)
    model.save(path)
    loaded = load_model(path)
    for i in range(80, 150):
        for either in (model, loaded):
            either.learn_one({f"w{i}": 1.0, f"w{2 * i}": 2.0}, i % 4)
    assert everything(loaded) == everything(model)


def test_names_and_labels_of_every_kind(path: Path) -> None:
    names = ["a", 1, 2.5, ("pair", 1), b"raw", None, "\ud800"]
    labels = [True, 2, "x", ("t", (1,)), 0.5, b"raw", 10**30]
    model = small(SAPLClassifier)
    for name, label in zip(names, labels, strict=True):
        model.learn_one({name: 1.0}, label)
    model.save(path)
    assert everything(load_model(path)) == everything(model)


def test_an_existing_file_is_replaced_and_a_bad_one_keeps_the_old(path: Path) -> None:
    model = taught(small(SAPLClassifier), records(20))
    model.save(path)
    model.learn_one({"f0": 1.0}, object())
    with pytest.raises(TypeError, match="cannot hold a object"):
        model.save(path)
    assert load_model(path).classes == model.classes[:-1]
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(path)


@pytest.fixture(scope="module")
def payload() -> dict[str, Any]:
    model = taught(small(SAPLClassifier), records(200))
    return dict(model._payload())


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 a zip", b"\x80\x04pickle", b"x" * 1_000])
def test_files_that_are_no_models(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model\.llsvm: (not a model file|truncated)"):
        load_model(path)


def test_truncated_files(payload: dict[str, Any], path: Path) -> None:
    data = model_file.dumps(payload)
    for n in [*range(1, 60, 7), len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:n])
        with pytest.raises(ModelFileError, match="truncated"):
            load_model(path)


def test_flipped_bits(payload: dict[str, Any], path: Path) -> None:
    data = model_file.dumps(payload)
    rng = np.random.default_rng(0)
    places = [*range(60), *rng.integers(60, len(data), 60).tolist()]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load_model(path)


def test_a_newer_file(payload: dict[str, Any], path: Path) -> None:
    data = bytearray(model_file.dumps(payload))
    data[8:10] = (model_file.VERSION + 1).to_bytes(2, "big")
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"newer version.*upgrade stream_llsvm"):
        load_model(path)


Change = Callable[[dict[str, Any]], dict[str, Any]]


def part(**parts: Any) -> Change:
    return lambda payload: payload | parts


def option(**options: Any) -> Change:
    return lambda payload: payload | {"params": payload["params"] | options}


def without(name: str) -> Change:
    return lambda payload: {key: value for key, value in payload.items() if key != name}


def state(change: Callable[[LocalClassifier], None]) -> Change:
    """Return a change to the state that `change` makes to a model which holds it."""

    def changed(payload: dict[str, Any]) -> dict[str, Any]:
        model = SAPLClassifier(**payload["params"])
        model._restore(payload)
        change(model)
        return dict(model._payload())

    return changed


def put(row: int, section: str, where: Any, value: float) -> Change:
    def change(model: LocalClassifier) -> None:
        assert model._state is not None
        model._state.views(row)[section][where] = value

    return state(change)


def cut(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"state": payload["state"][:-8]}


def reshaped(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"state": payload["state"].reshape(2, -1)}


def retyped(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"state": payload["state"].view(np.float64)}


HOSTILE: dict[str, Change] = {
    "no class": without("class"),
    "no params": without("params"),
    "no features": without("features"),
    "no labels": without("labels"),
    "no width": without("width"),
    "no state": without("state"),
    "unknown class": part(**{"class": "CommitteeOfTomorrow"}),
    "class of the standard library": part(**{"class": "os.system"}),
    "class that is not shown": part(**{"class": "AnchorClassifier"}),
    "class that is no text": part(**{"class": 7}),
    "params of another kind": part(params=[1]),
    "params not by name": part(params={1: 2}),
    "unknown option": option(colour="red"),
    "option of a wrong type": option(n_anchors="many"),
    "option out of range": option(n_anchors=-1),
    "option as an array": option(step_size=np.ones(3)),
    "huge n_anchors": option(n_anchors=100_000),
    "huge n_neighbors and n_anchors": option(n_anchors=100_000, n_neighbors=1_000),
    "other coding of the flat kind": part(**{"class": "LCCClassifier"}),
    "features as a list": part(features=["f0", "f1", "f2"]),
    "feature named twice": part(features=("f0", "f1", "f1")),
    "feature without a name": part(features=("f0", "f1", float("nan"))),
    "feature not hashable": part(features=("f0", "f1", [])),
    "fewer features": part(features=("f0",), width=1),
    "no features at all": part(features=(), width=0),
    "label twice": part(labels=(0, 1, 1)),
    "labels that are equal": part(labels=(0, 1, True)),
    "label missing": part(labels=(0, 1, None)),
    "label not hashable": part(labels=(0, 1, [2])),
    "more labels": part(labels=(0, 1, 2, 3)),
    "fewer labels": part(labels=(0, 1)),
    "width negative": part(width=-1),
    "width too small": part(width=2),
    "width too large": part(width=10**9),
    "width beyond 64 bits": part(width=10**30),
    "width as a flag": part(width=True),
    "state cut": cut,
    "state in two dimensions": reshaped,
    "state of another type": retyped,
    "state as text": part(state="zeros"),
    "state as a list": part(state=[0] * 8),
    "state as a number": part(state=np.uint8(0)),
    "state empty": part(state=np.zeros(0, dtype=np.uint8)),
    "more anchors than there are": put(1, "running", N_ANCHORS, 13),
    "very many anchors": put(1, "running", N_ANCHORS, 1e300),
    "less than no anchors": put(1, "running", N_ANCHORS, -1),
    "half an anchor": put(1, "running", N_ANCHORS, 2.5),
    "nan anchors": put(1, "running", N_ANCHORS, np.nan),
    "nan in the weights": put(1, "weights", (0, 0, 0, 0, 0), np.nan),
    "infinity in the positions": put(1, "positions", (0, 0), np.inf),
    "nan in the scales": put(0, "statistics", (0, 0), np.nan),
    "infinity in the mixer": put(0, "mixer", (0, 0), -np.inf),
    "nan in the counters": put(0, "counters", 0, np.nan),
    "zoom of nothing": put(1, "facts", (ZOOM, 0), 0.0),
    "scale of nothing": put(1, "raw_scale", 0, 0.0),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_sound_files_with_hostile_contents(
    change: Change, payload: dict[str, Any], path: Path
) -> None:
    model_file.write(path, payload)
    assert load_model(path).classes == (0, 1, 2) or set(payload["labels"]) == {0, 1, 2}
    model_file.write(path, change(payload))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load_model(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_state_for_no_labels_at_all(path: Path) -> None:
    """Two labels share a column and no labels would fit as well: kernels would write beyond."""
    model = taught(small(SAPLClassifier), records(50, classes=2))
    for labels, why in (
        ((), "labels without a state, or a state without"),
        ((0,), "section 'totals' of 'words.*' is another one"),
    ):
        model_file.write(path, dict(model._payload()) | {"labels": labels})
        with pytest.raises(ModelFileError, match=why):
            load_model(path)
    model_file.write(path, dict(model._payload()))
    assert load_model(path).predict_one({"f0": 1.0}) in (0, 1)
    model_file.write(path, dict(model._payload()) | {"state": None})
    with pytest.raises(ModelFileError, match="labels without a state"):
        load_model(path)
