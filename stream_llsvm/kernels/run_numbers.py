"""The kernel that Python calls for models of numbers: scale, answer and learn, blend.

Rows are scaled and given to the members by the same functions as in ``run.py``. Where classes have
a mixer, numbers have the target's own scale (``NumbersState.target``) and a blend of the experts
(``blend.py``). The target is brought to mean 0 and variance 1 as features are, and members learn it
so.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from numba import types

from stream_llsvm.kernels.blend import blend, follow_losses
from stream_llsvm.kernels.compile import Array, Real, entry, inlined
from stream_llsvm.kernels.run import SEEN, SharedState, chunk_of, prepare, run_members
from stream_llsvm.kernels.scaling import CENTRE, COUNT, INVERSE, STATISTICS, is_due, observe
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.views import flat

#: In standard deviations of a scaled target: no answer, and no error, is greater.
FARTHEST = 8


class NumbersState(NamedTuple):
    """What a model of numbers keeps beside its members, by name: its last row of the plan."""

    #: No answer, and no error, is greater; in standard deviations, if the target is scaled.
    farthest: int
    #: What the losses of members forgive, or where they turn linear.
    epsilon: Annotated[Array, state("f8", 1)]
    target: Annotated[Array, state("f8", 1, STATISTICS)]
    #: How far off each expert has been of late.
    losses: Annotated[Array, state("f8", "all_experts")]
    #: The share of each in the last answer.
    blend: Annotated[Array, scratch("f8", "all_experts")]
    #: Of a chunk of rows: scaled targets, and each answer's units: the centre, and how much a 1 is.
    targets: Annotated[Array, scratch("f8", "chunk")]
    centres: Annotated[Array, scratch("f8", "chunk")]
    spreads: Annotated[Array, scratch("f8", "chunk")]


#: The types of what ``run_numbers`` takes, so that it can be compiled before it is called.
_doubles, _whole = types.float64[::1], types.int64[::1]
NUMBERS_TAKES: Any = (
    _doubles, _doubles, types.int64[:, ::1], _doubles, _whole, _whole, _doubles, _doubles,
    types.float64[:, ::1],
)  # fmt: skip


@entry
def run_numbers(
    state: Array,
    scratch: Array,
    plan: Array,
    values: Array,
    columns: Array,
    starts: Array,
    targets: Array,
    importance: Array,
    answers: Array,
) -> None:
    """Answer each row and then, if it has a target (not NaN), learn it.

    ``values``, ``columns`` and ``starts`` are rows as ``run`` takes them; ``answers`` is (rows, 1).
    """
    m = views(SharedState, state, scratch, plan, 0)
    numbers = views(NumbersState, state, scratch, plan, plan.shape[0] - 1)
    n, place = targets.size, m.place
    begins, lessons = m.starts[place], m.lessons[place]
    sparse = columns.size > 0 or starts.size > 0
    d = 0 if sparse or n == 0 else values.size // n
    first = 0
    while first < n:
        rows = min(m.chunk, n - first)
        begin = starts[first] if sparse else first * d
        end = starts[first + rows] if sparse else (first + rows) * d
        for q in range(rows + 1):
            begins[q] = (starts[first + q] if sparse else (first + q) * d) - begin
        some, at = values[begin:end], columns[begin:end]
        some_importance = importance[first : first + rows]
        seen = m.counters[SEEN]
        take_targets(m, numbers, targets[first : first + rows])
        prepare(m, some, at, lessons[:rows], False)
        scaled = numbers.targets[:rows]
        chunk = chunk_of(m, some, at, lessons[:rows], some_importance, False, scaled)
        run_members(m, state, scratch, plan, chunk)
        for q in range(rows):
            told, farthest = flat(m.scores[place, q]), float(numbers.farthest)
            answer = blend(numbers.losses, told, farthest, numbers.blend)
            answers[first + q, 0] = numbers.centres[q] + numbers.spreads[q] * answer
            if lessons[q] >= 0:
                seen += 1
                y = numbers.targets[q]
                follow_losses(numbers.losses, seen, told, y, farthest, some_importance[q])
        first += rows


@inlined
def take_targets(m: SharedState, numbers: NumbersState, targets: Array) -> None:
    """Scale a chunk's targets, learn their scale, and note what each answer is told in."""
    target, lessons, seen = numbers.target, m.lessons[m.place], m.counters[SEEN]
    scaling = m.standardize == 1
    for q in range(targets.size):
        centre, spread, y = 0.0, 1.0, targets[q]
        if scaling and target[0, COUNT] > 0:
            centre = target[0, CENTRE]
            spread = 1 / target[0, INVERSE] if target[0, INVERSE] > 0 else 0.0
        numbers.centres[q], numbers.spreads[q] = centre, spread
        lessons[q] = -1
        if not math.isnan(y):
            lessons[q] = 0
            seen += 1
            if scaling:
                observe(target, 0, y, seen, True, is_due(seen, m.width))
                y = (y - target[0, CENTRE]) * target[0, INVERSE]
            numbers.targets[q] = bounded(y, float(numbers.farthest))


@inlined
def bounded(y: Real, farthest: Real) -> Real:
    """Return a number as far as it counts."""
    return min(max(y, -farthest), farthest)
