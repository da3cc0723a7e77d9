"""Members with a kernel of their own, which the one kernel knows nothing of.

Nobody who does not use such a member pays for it: its entry is compiled when it is first called.
``lanes.py`` calls it between the stages of ``kernels/run.py``, for a chunk of rows that is scaled
already. A further kind of member is a number, an entry of three lines and a line in the table.
"""

from __future__ import annotations

from typing import Any

from stream_llsvm.kernels.budget.run import run as budget
from stream_llsvm.kernels.jit import Array, entry, passage
from stream_llsvm.kernels.landmarks.run import run as landmarks
from stream_llsvm.kernels.local.run import run as local
from stream_llsvm.kernels.mixer import AWAKE, MEMBER_FACTS
from stream_llsvm.kernels.state import (
    BUDGET_KIND,
    CHUNK,
    COLUMNS,
    EXPERTS,
    FIRST_SECTION,
    KIND,
    LANDMARKS_KIND,
    LANE,
    LOCAL_KIND,
    OWN_EXPERTS,
    OWN_LANE,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, floats, integers

# Of row 0's sections: what the first stage leaves for the members, and where scores go.
_MEMBERS, _Z, _STARTS, _LESSONS, _SCORES = 3, 7, 8, 9, 10


@entry
def run_local(
    state: Array, scratch: Array, plan: Array, columns: Array, labels: Array, importance: Array
) -> None:
    """Let the local members of this lane score a chunk of rows and learn it."""
    run_guests(LOCAL_KIND, local, state, scratch, plan, columns, labels.size, importance)


@entry
def run_landmarks(
    state: Array, scratch: Array, plan: Array, columns: Array, labels: Array, importance: Array
) -> None:
    """Let the landmarks members of this lane score a chunk of rows and learn it."""
    run_guests(LANDMARKS_KIND, landmarks, state, scratch, plan, columns, labels.size, importance)


@entry
def run_budget(
    state: Array, scratch: Array, plan: Array, columns: Array, labels: Array, importance: Array
) -> None:
    """Let the budget members of this lane score a chunk of rows and learn it."""
    run_guests(BUDGET_KIND, budget, state, scratch, plan, columns, labels.size, importance)


@passage
def run_guests(
    kind: int, run: Any, state: Array, scratch: Array, plan: Array, columns: Array, rows: int,
    importance: Array,
) -> None:  # fmt: skip
    """Let the members of one kind score a chunk of rows and learn it, those that are awake."""
    o = plan[0, FIRST_SECTION:]
    facts = doubles(state, o[_MEMBERS], (MEMBER_FACTS, plan.shape[0] - 1))
    chunk = plan[0, CHUNK]
    z = floats(scratch, o[_Z], chunk * plan[0, WIDTH])
    starts = integers(scratch, o[_STARTS], chunk + 1)
    lessons = integers(scratch, o[_LESSONS], chunk)[:rows]
    scores = floats(scratch, o[_SCORES], (chunk, plan[0, EXPERTS], plan[0, COLUMNS]))
    for member in range(1, plan.shape[0]):
        own = plan[member, KIND] == kind and plan[member, OWN_LANE] == plan[0, LANE]
        if own and plan[member, OWN_EXPERTS] > 0 and facts[AWAKE, member - 1] > 0:
            run(state, scratch, plan, member, z, columns, starts, lessons, importance, scores)


#: Their kernels, by the kind of member.
GUEST_KERNELS: dict[int, Any] = {
    LOCAL_KIND: run_local,
    LANDMARKS_KIND: run_landmarks,
    BUDGET_KIND: run_budget,
}
#: Some kinds of them.
Guests = tuple[int, ...]
