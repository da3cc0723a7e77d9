"""History leaves more records in memory than the window holds, and they go as the model lives."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier, MemoryClassifier, ModelFileError, load_model
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.neighbours import kernel
from stream_llsvm.model import file as model_file
from tests.learners.support import everything, small, sound, taught

WINDOW = 100


def noise(n: int, features: int = 2, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return records whose labels nobody can know, so that hardly any of them is easy."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, features)), rng.integers(0, 3, n)


def own(model: LocalClassifier) -> dict[str, NDArray[Any]]:
    """Return what the memory, the last member but contexts, keeps."""
    state = model._state
    assert state is not None
    (which,) = [i for i, m in enumerate(state.members) if m.name.startswith("memory")]
    return state.views(1 + which)


def stamps(model: LocalClassifier) -> list[float]:
    """Return when the records were learned that the memory holds, oldest first."""
    views = own(model)
    held = int(views["running"][kernel.HELD])
    return sorted(views["facts"][kernel.STAMP, :held].tolist())


def warmed(n: int = 1_500, **options: Any) -> MemoryClassifier:
    model = MemoryClassifier(**({"window": WINDOW} | options))
    model.warm_start(*noise(n), epochs=2)
    return model


def as_stream(n: int, seed: int) -> list[tuple[dict[int, float], int]]:
    X, y = noise(n, seed=seed)
    return [(dict(enumerate(row)), int(k)) for row, k in zip(X.tolist(), y, strict=True)]


def test_all_of_history_is_remembered_and_two_go_for_each_that_comes() -> None:
    model = warmed()
    held = stamps(model)
    assert len(held) > 1_200
    for x, y in as_stream(1_600, 1):
        before = stamps(model)
        model.learn_one(x, y)
        views = own(model)
        seen = views["running"][kernel.SEEN]
        shrinks = views["running"][kernel.PLACES] > WINDOW or len(before) > WINDOW
        kept = stamps(model)
        assert kept == sorted({*before, seen} & {*kept}), "nothing comes from elsewhere"
        if shrinks and seen % PERIOD == 0:
            assert len(before) + 1 - len(kept) in (
                2 * PERIOD,
                2 * PERIOD - 1,
                len(before) - WINDOW,
                len(before) + 1 - WINDOW,
            )
        assert kept == sorted({*before, *kept})[-len(kept) :], "the oldest go first"
    assert len(stamps(model)) == WINDOW == own(model)["running"][kernel.PLACES]
    assert sound(model)


def test_the_room_is_given_back_when_it_is_saved(tmp_path: Path) -> None:
    path, model, usual = tmp_path / "m.llsvm", warmed(), MemoryClassifier(window=WINDOW)
    usual.learn_many(*noise(1_500))
    assert model._state is not None and usual._state is not None
    model.save(path)
    larger, words = path.stat().st_size, model._state.n_words
    model.learn_many(*noise(1_600, seed=1))
    twin = copy.deepcopy(model)
    model.save(path)
    assert model._state.n_words == usual._state.n_words < words
    assert path.stat().st_size < larger / 3
    X, y = noise(700, seed=2)
    loaded = load_model(path)
    assert everything(loaded) == everything(model)
    answers = [m.test_then_learn(X, y).tolist() for m in (model, loaded, twin)]
    assert answers[0] == answers[1] == answers[2]
    assert stamps(model) == stamps(loaded) == stamps(twin)


@pytest.mark.parametrize("lived", [0, 1, 63, 64, 200, 641, 1_500])
def test_killed_and_resumed_it_is_the_same_to_the_bit(lived: int, tmp_path: Path) -> None:
    path, model = tmp_path / "m.llsvm", warmed()
    model.learn_many(*noise(lived, seed=1))
    model.save(path)
    resumed = load_model(path)
    X, y = noise(900, seed=2)
    assert model.test_then_learn(X, y).tolist() == resumed.test_then_learn(X, y).tolist()
    assert everything(model) == everything(resumed)


def test_rows_one_by_one_and_in_blocks_shrink_it_alike() -> None:
    one, block = small(CommitteeClassifier), small(CommitteeClassifier, threads=2)
    for model in (one, block):
        model.warm_start(*noise(600), epochs=2)
    assert len(stamps(one)) > 400
    taught(one, as_stream(500, 1))
    block.learn_many(*noise(500, seed=1))
    assert everything(one) == everything(block)
    assert len(stamps(one)) == 70


@pytest.mark.parametrize("lived", [0, 70, 1_500])
def test_features_and_classes_come_while_it_shrinks(lived: int) -> None:
    model = warmed()
    model.learn_many(*noise(lived, seed=1))
    before = stamps(model)
    model.learn_one({0: 0.1, 1: 0.2, "new": 1.0}, "a new class")
    assert stamps(model)[:-1] in (before, before[1:])
    model.learn_many(*noise(1_600, seed=2))
    assert len(stamps(model)) == WINDOW and sound(model)


def test_history_may_come_again_before_it_is_forgotten() -> None:
    model = warmed()
    model.learn_many(*noise(200, seed=1))
    before = len(stamps(model))
    model.warm_start(*noise(300, seed=2), epochs=1)
    assert before <= len(stamps(model)) and sound(model)


def test_it_is_bounded_by_number_and_by_megabytes() -> None:
    long = MemoryClassifier(window=64, metric=None)
    long.warm_start(*noise(24_000, 1), epochs=1)
    assert 15_000 < len(stamps(long)) <= 20_000
    assert stamps(long)[-1] == 24_000 - 0, "the latest are kept"
    narrow = warmed(max_mb=1, n=20_000)
    assert narrow._state is not None
    assert 200 < len(stamps(narrow)) < 20_000 and narrow._state.n_bytes <= 2**20


def test_models_merge_while_they_remember_more() -> None:
    one, other = warmed(), MemoryClassifier(window=WINDOW)
    other.learn_many(*noise(300, seed=3))
    for both in (one.merge([other]), other.merge([one])):
        assert len(stamps(both)) == WINDOW and sound(both)
        both.learn_many(*noise(300, seed=4))
        assert len(stamps(both)) == WINDOW and sound(both)


@pytest.mark.parametrize("room", [-1, 2.5, "many", 10**15, 0, True])
def test_a_file_with_another_room_is_refused(room: Any, tmp_path: Path) -> None:
    path, payload = tmp_path / "m.llsvm", dict(warmed()._payload())
    model_file.write(path, payload | {"history_room": room})
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        (kernel.PLACES, 0), (kernel.PLACES, WINDOW - 1), (kernel.PLACES, 10**6),
        (kernel.PLACES, 1_000.5), (kernel.HEAD, 3), (kernel.HELD, 1_501),
    ],
)  # fmt: skip
def test_a_file_with_impossible_places_is_refused(
    figure: int, value: float, tmp_path: Path
) -> None:
    path, model = tmp_path / "m.llsvm", warmed()
    own(model)["running"][figure] = value
    model_file.write(path, dict(model._payload()))
    with pytest.raises(ModelFileError, match="impossible values"):
        load_model(path)
