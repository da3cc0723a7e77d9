"""The memory that a large model will grow into: fetched before, taken then, and never seen."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.model import growth
from stream_llsvm.model.reserve import Reserve
from stream_llsvm.model.state import ModelState
from tests.model.test_cap import SOME, state_of, texts


def _learned(records: int) -> tuple[CommitteeClassifier, list[tuple[ModelState, ModelState]]]:
    """Return a model of texts, and each state of it that was reserved for with the next one."""
    model, moves = CommitteeClassifier(members=SOME), []
    state: ModelState | None = None
    for x, y in texts(records):
        model.learn_one(x, y)
        if state is not None and model._state is not state and state._reserve is not None:
            moves.append((state, state_of(model)))
        state = state_of(model)
    return model, moves


def test_a_model_grows_into_what_it_reserved_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, none = _learned(1_500)
    assert none == []
    monkeypatch.setattr(growth, "LARGE", 1)
    model, moves = _learned(1_500)
    assert len(moves) >= 2
    for before, after in moves:
        assert before._reserve is not None
        assert np.shares_memory(after.state, before._reserve.zeros)
    assert state_of(model).state.tobytes() == state_of(usual).state.tobytes()


def test_what_another_class_makes_too_small_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "LARGE", 1)
    model, _ = _learned(200)
    state, n = state_of(model), 0
    while state._reserve is None:
        model.learn_one({f"new {n}": 1.0, 1: 1.0}, 0)
        state, n = state_of(model), n + 1
    model.learn_one({1: 1.0}, "another")
    assert not np.shares_memory(state_of(model).state, state._reserve.zeros)
    assert len(model.predict_proba_one({1: 1.0})) == 3


def test_all_that_is_moved_has_been_fetched_when_the_model_is_full() -> None:
    model, _ = _learned(200)
    state = state_of(model)
    larger = state.grown(2 * state.width, state.n_classes)
    reserve = Reserve(state, larger)
    assert not reserve.zeros.any()
    reserve.zeros[:] = 1  # what is fetched is seen by what is written
    for share in (0.2, 0.1, 1.0):
        reserve.fetch(share)
    fetched = np.flatnonzero(reserve.zeros == 0)
    state.carry_to(larger)
    written = np.flatnonzero(larger.state)
    near = fetched[np.minimum(np.searchsorted(fetched, written - 511), len(fetched) - 1)]
    missed = written[near > written]
    # Beside what is moved a state has its own first values.
    assert len(missed) < 0.05 * len(written)


def test_no_copy_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "LARGE", 1)
    model, _ = _learned(200)
    n = 0
    while state_of(model)._reserve is None:
        model.learn_one({f"new {n}": 1.0}, 0)
        n += 1
    again = copy.deepcopy(model)
    assert state_of(again)._reserve is None
    for one in (model, again):
        for i in range(3_000):
            one.learn_one({f"newer {i}": 1.0, 1: 1.0}, i % 2)
    assert state_of(again).state.tobytes() == state_of(model).state.tobytes()


def test_a_model_that_may_not_grow_any_more_learns_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "LARGE", 1)
    model, _ = _learned(1_500)
    width = state_of(model).width
    model.mutate({"max_mb": 1})
    n = 0
    while len(model.features) < width:
        model.learn_one({f"new {n}": 1.0, 1: 1.0}, n % 2)
        n += 1
    assert n > width // 4
    assert state_of(model)._reserve is None
