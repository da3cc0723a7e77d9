"""What a record asks of the machine: counted from the plan, and what rests counts an eighth."""

from __future__ import annotations

import numpy as np
import pytest
import roofline
from streams import Stream

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels.judge import JUDGE_ONE_IN
from stream_llsvm.kernels.mixer import AWAKE

X = np.random.default_rng(0).normal(size=(1_200, 6))
STREAM = Stream("made up", X, (X[:, 0] > 0).astype(np.int64), None)


def taught() -> CommitteeClassifier:
    model = CommitteeClassifier(members=("anchors:1", "memory:100"))
    model.learn_many(X[:100], STREAM.y[:100])
    return model


def test_a_record_asks_for_what_its_members_cost() -> None:
    state = taught()._state
    assert state is not None
    line, memory = (member.cost(*state.shape) for member in state.members)
    all_work = roofline.demand(state)
    assert all_work.multiply_adds == line + memory
    assert all_work.bytes == 4 * (line + memory) + 8 * state.width
    state.views(0)["members"][AWAKE, 1] = 0
    one_rests = roofline.demand(state)
    assert one_rests.multiply_adds == line + memory / JUDGE_ONE_IN
    assert 0 < one_rests.kept < all_work.kept - 4 * 100 * 6  # the window


def test_a_stream_is_followed_in_blocks() -> None:
    asked, seconds = roofline.followed(CommitteeClassifier(members=("anchors:1",)), STREAM)
    state = taught()._state
    assert state is not None
    assert asked.multiply_adds == state.members[0].cost(*state.shape)
    assert seconds > 0


def test_loops_tell_what_they_do() -> None:
    x = np.arange(100, dtype=np.float32)
    assert roofline._read(x) == x.sum()
    expected = x.astype(np.float64)
    for _ in range(roofline.IN_A_ROW):
        expected = expected * 0.9999 + 1e-4
    roofline._multiply(x)
    assert x == pytest.approx(expected, rel=1e-4)
    assert roofline.rate(roofline._read, 10_000, 4) > 1e6
