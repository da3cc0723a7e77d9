"""A model of several members and a batch of rows for it, to be run on threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels import plan as at
from stream_llsvm.model.rows import Rows

MEMBERS = ("anchors:1", "ferns:3", "memory:20", "memory:200", "additive:3")
N = 2_000
FINISH = -1

Batch = tuple[Any, Any, Any, Rows]


def batch() -> Batch:
    """Return a model's state, scratch and plan, which has learned one record, and N rows."""
    model = CommitteeClassifier(members=MEMBERS)
    model.learn_one({"a": 1.0, "b": 2.0}, "yes")
    memory = model._state
    assert memory is not None
    rows = Rows(
        np.zeros(2 * N), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(N, np.int64),
        np.ones(N), np.zeros((N, 1)), np.zeros(N, np.int64),
    )  # fmt: skip
    return memory.state, memory.scratch, memory.plan, rows


def stage_of(plan: Any) -> int:
    """Return which stage a plan is of: 0 prepares, -1 finishes, a member has its number."""
    stage = plan[0, at.MODEL_ROW.stage]
    return {at.PREPARE: 0, at.FINISH: FINISH}.get(stage, int(plan[0, at.MODEL_ROW.member]))
