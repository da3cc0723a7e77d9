"""The one kernel that a classifier calls: scale, score and learn with each member, mix.

n rows are one call and one row is n = 1. Within a block of rows each member runs over all rows
before the next begins, so that its part of the state stays in cache; members know neither each
other nor the mixer, and the order cannot matter.
"""

from __future__ import annotations

from stream_llsvm.kernels.jit import Array, entry, kernel
from stream_llsvm.kernels.members import additive, anchors, ferns, memory
from stream_llsvm.kernels.mixer import learn_mix, mix
from stream_llsvm.kernels.scaling import STATISTICS, observe_row, scale_row
from stream_llsvm.kernels.state import (
    CHUNK,
    CLASSES,
    COLUMNS,
    EXPERTS,
    FIRST_SECTION,
    KIND,
    LEARN_MEMBERS,
    LEARN_MIXER,
    LEARN_SCALES,
    RELEVANCE,
    STANDARDIZE,
    WIDTH,
    doubles,
    floats,
    integers,
)

ANCHORS_KIND, ADDITIVE_KIND, MEMORY_KIND, FERNS_KIND = range(1, 5)
# Whole-model counters, and what scratch remembers of the last single row.
SEEN, MIXED = range(2)
FRESH, LENGTH, SPARSE = range(3)

MODEL_LAYOUT = (
    ("counters", "f8", (4,), "state"),
    ("statistics", "f8", ("width", STATISTICS), "state"),
    ("mixer", "f8", (3, "all_experts"), "state"),
    ("memo", "i8", (4,), "scratch"),
    ("last", "f8", ("width",), "scratch"),
    ("last_columns", "i8", ("width",), "scratch"),
    ("z", "f4", ("chunk", "width"), "scratch"),
    ("starts", "i8", ("chunk_ends",), "scratch"),
    ("lessons", "i8", ("chunk",), "scratch"),
    ("scores", "f4", ("chunk", "all_experts", "columns"), "scratch"),
    ("normal", "f8", ("all_experts", "classes"), "scratch"),
    ("squares", "f8", ("all_experts",), "scratch"),
    ("relevance", "f4", ("redraws", "width"), "scratch"),
)
assert MODEL_LAYOUT[RELEVANCE][0] == "relevance"


@entry
def run(
    state: Array,
    scratch: Array,
    plan: Array,
    values: Array,
    columns: Array,
    starts: Array,
    labels: Array,
    importance: Array,
    proba: Array,
    likeliest: Array,
) -> None:
    """Predict each row and then, if its label's code is not -1, learn it.

    Rows are dense (``columns`` empty: ``values`` holds them one after the other) or sparse
    (``columns`` says where each value belongs and ``starts`` where each row begins).
    """
    classes, experts = plan[0, CLASSES], plan[0, EXPERTS]
    width, chunk = plan[0, WIDTH], plan[0, CHUNK]
    o = plan[0, FIRST_SECTION:]
    counters = doubles(state, o[0], 4)
    statistics = doubles(state, o[1], width * STATISTICS).reshape(width, STATISTICS)
    mixer = doubles(state, o[2], 3 * experts).reshape(3, experts)
    memo = integers(scratch, o[3], 4)
    last = doubles(scratch, o[4], width)
    last_columns = integers(scratch, o[5], width)
    z = floats(scratch, o[6], chunk * width)
    begins = integers(scratch, o[7], chunk + 1)
    lessons = integers(scratch, o[8], chunk)
    scores = floats(scratch, o[9], chunk * experts * plan[0, COLUMNS]).reshape(
        chunk, experts, plan[0, COLUMNS]
    )
    normal = doubles(scratch, o[10], experts * classes).reshape(experts, classes)
    squares = doubles(scratch, o[11], experts)
    n = labels.size
    sparse = columns.size > 0 or starts.size > 0
    d = 0 if sparse or n == 0 else values.size // n
    standardize = plan[0, STANDARDIZE] == 1
    learn_scales, learn_mixer = plan[0, LEARN_SCALES] == 1, plan[0, LEARN_MIXER] == 1
    learn_members = plan[0, LEARN_MEMBERS] == 1

    for first in range(0, n, chunk):
        rows = min(chunk, n - first)
        begin = starts[first] if sparse else first * d
        end = starts[first + rows] if sparse else (first + rows) * d
        some = values[begin:end]
        at = columns[begin:end]
        scored = n == 1 and remembered(memo, last, last_columns, some, at)
        for q in range(rows):
            begins[q] = (starts[first + q] if sparse else (first + q) * d) - begin
        begins[rows] = end - begin
        for q in range(rows):
            a, b = begins[q], begins[q + 1]
            if not scored:
                scale_row(statistics, standardize, some[a:b], at[a:b], z[a:b])
            if learn_scales and labels[first + q] >= 0:
                counters[SEEN] += 1
                observe_row(statistics, counters[SEEN], some[a:b], at[a:b])
        some_labels = labels[first : first + rows]
        for q in range(rows):
            lessons[q] = some_labels[q] if learn_members else -1
        some_importance = importance[first : first + rows]
        for member in range(1, plan.shape[0]):
            run_member(
                state, scratch, plan, member, z, at, begins, lessons[:rows], some_importance,
                scored, scores,
            )  # fmt: skip
        for q in range(rows):
            p = proba[first + q]
            likeliest[first + q] = mix(mixer, scores[q], normal, squares, p)
            if some_labels[q] >= 0 and learn_mixer:
                counters[MIXED] += 1
                learn_mix(
                    mixer, counters[MIXED], normal, squares, p, some_labels[q], some_importance[q]
                )
    if n == 1:
        remember(memo, last, last_columns, values, columns, labels[0] < 0)
    elif n > 1:
        memo[FRESH] = 0


@kernel
def run_member(
    state: Array,
    scratch: Array,
    plan: Array,
    member: int,
    z: Array,
    at: Array,
    starts: Array,
    labels: Array,
    importance: Array,
    scored: bool,
    scores: Array,
) -> None:
    """Run one member over a block of rows: the table of what kinds there are."""
    kind = plan[member, KIND]
    if kind == ANCHORS_KIND:
        anchors.run(state, scratch, plan, member, z, at, starts, labels, importance, scored, scores)
    elif kind == ADDITIVE_KIND:
        additive.run(
            state, scratch, plan, member, z, at, starts, labels, importance, scored, scores
        )
    elif kind == MEMORY_KIND:
        memory.run(state, scratch, plan, member, z, at, starts, labels, importance, scored, scores)
    elif kind == FERNS_KIND:
        ferns.run(state, scratch, plan, member, z, at, starts, labels, importance, scored, scores)


@kernel
def remembered(
    memo: Array, last: Array, last_columns: Array, values: Array, columns: Array
) -> bool:
    """Whether the last call scored this very row and learned nothing since."""
    if memo[FRESH] == 0 or memo[LENGTH] != values.size or memo[SPARSE] != columns.size:
        return False
    for i in range(values.size):
        both_missing = values[i] != values[i] and last[i] != last[i]
        if values[i] != last[i] and not both_missing:
            return False
    for i in range(columns.size):  # noqa: SIM110  # numba knows no generators
        if columns[i] != last_columns[i]:
            return False
    return True


@kernel
def remember(
    memo: Array, last: Array, last_columns: Array, values: Array, columns: Array, fresh: bool
) -> None:
    """Note the row that was scored, for ``remembered``."""
    memo[FRESH] = 1 if fresh else 0
    if fresh:
        memo[LENGTH], memo[SPARSE] = values.size, columns.size
        last[: values.size] = values
        last_columns[: columns.size] = columns
