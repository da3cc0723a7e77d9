"""What members are worth, and what those who rest learn, step by step beside the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from stream_llsvm.kernels.judge import JUDGE_ONE_IN, RESTED, RESTED_ONE_IN
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.mixer import AWAKE, JUDGED, SINCE, TRUST, WORTH
from tests.oracle import Oracle
from tests.oracle_compare import COMMITTEES, Kernels, both_learn, remembered, stream, synced

MEMBERS = COMMITTEES["all"]


def test_a_row_on_which_the_metric_is_shared_is_one_on_which_members_are_judged() -> None:
    """So a memory that rests leaves its metric for the ferns, and ferns that rest find it."""
    assert PERIOD % JUDGE_ONE_IN == 0
    assert PERIOD % RESTED_ONE_IN == 0


@pytest.mark.parametrize("since", [0, 90 - RESTED])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_who_rests_learns_what_the_oracle_does(every: int, classes: int, since: int) -> None:
    """Each of the members, every second or every third; half way some have rested for long."""
    x, labels = stream(3, 170, 5, classes, missing=0.05)
    kernels, oracle = Kernels(MEMBERS, 5, classes), Oracle(MEMBERS, 5, classes)
    kernels.rows(x[:70], labels[:70])
    kernels.memory.views(0)["members"][AWAKE, ::every] = 0
    kernels.memory.views(0)["members"][SINCE, ::every] = since
    for row, label in zip(x[70:], labels[70:], strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), 1.5, tolerance=1e-3)
    assert oracle.awake.count(False) == len(MEMBERS[::every])


def test_who_has_rested_long_is_asked_less_often() -> None:
    x, labels = stream(5, 400, 2, 2)
    kernels = Kernels((MEMBERS[0], remembered(window=500)), 2, 2)
    facts = kernels.memory.views(0)["members"]
    facts[AWAKE, 1], facts[SINCE, 1] = 0, 80 - RESTED
    kernels.rows(x[:80], labels[:80])
    assert facts[JUDGED, 1] == 80 // JUDGE_ONE_IN
    kernels.rows(x[80:], labels[80:])
    assert facts[JUDGED, 1] == 80 // JUDGE_ONE_IN + 400 // RESTED_ONE_IN - 80 // RESTED_ONE_IN


def test_who_rests_is_judged_by_what_it_would_add() -> None:
    """The memory knows what nobody else can know; the mixer does not hear it, and trusts it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1_200, 2))
    labels = (np.floor(2 * x).sum(axis=1) % 2).astype(np.int64)
    kernels = Kernels((MEMBERS[0], remembered(window=500)), 2, 2)
    model, own = kernels.memory.views(0), kernels.memory.experts_of(1)
    kernels.rows(x[:700], labels[:700])
    model["members"][[AWAKE, JUDGED], 1] = 0
    model["mixer"][TRUST, own] = 0
    kernels.rows(x[700:], labels[700:])
    assert model["members"][AWAKE, 1] == 0
    assert model["members"][JUDGED, 1] == 1_200 // JUDGE_ONE_IN - 700 // JUDGE_ONE_IN
    assert model["members"][WORTH, 1] > 0.005
    assert model["mixer"][TRUST, own].sum() > 0.2
    assert (model["scores"][0, :100, own] == 0).all()
