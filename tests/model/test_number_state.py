"""A regressor's state: what is copied of it, and what one row leaves behind."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from stream_llsvm.model.number_state import NumberState
from tests.learners.number_support import BOTH, everything, numbers, small, taught


@BOTH
def test_what_can_be_made_again_is_not_copied(kind: Any) -> None:
    model = taught(small(kind), numbers(60))
    state = model._state
    assert isinstance(state, NumberState)
    kept = set(state.__getstate__())
    assert {"state", "plan", "members"} <= kept
    assert not kept & {"scratch", "_no_target", "_one_target", "_one_answer", "_ready"}
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert everything(twin) == everything(model)
        assert not np.shares_memory(twin._state.state, state.state)
        taught(twin, numbers(10, seed=1))
        assert everything(twin) != everything(model)


@BOTH
def test_it_grows_into_one_of_its_kind(kind: Any) -> None:
    state = taught(small(kind), numbers(60))._state
    larger = state.grown(200, 2)
    state.carry_to(larger)
    assert isinstance(larger, NumberState) and larger.sound()
    for name in ("target", "losses"):
        np.testing.assert_array_equal(larger.numbers[name], state.numbers[name])


@BOTH
@pytest.mark.parametrize("standardize", [True, False])
def test_a_score_of_one_is_so_many_units(kind: Any, standardize: bool) -> None:
    stream = numbers(500)
    model = taught(small(kind, standardize=standardize), stream)
    y = np.array([target for _, target in stream])
    assert model._state.spread == pytest.approx(y.std() if standardize else 1.0, rel=1e-9)
    constant = taught(small(kind, standardize=standardize), [(x, 7.0) for x, _ in stream])
    assert constant._state.spread == (0.0 if standardize else 1.0)
    told = constant.predict_one(stream[0][0])
    assert told == 7.0 if standardize else told > 0
