"""The one kernel that Python calls: scale, score and learn with each member, mix.

n rows are one call and one row is n = 1. Within a block of rows each member runs over all rows
before the next begins, so that its part of the state stays in cache; members know neither each
other nor the mixer, and the order cannot matter.
"""

from __future__ import annotations

from stream_llsvm.kernels.calibration import BINS, calibrate
from stream_llsvm.kernels.foretold import ENTRY, digest_of, find, is_young, keep, release
from stream_llsvm.kernels.jit import Array, Real, entry, kernel, passage
from stream_llsvm.kernels.kinds import call
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.members import memory
from stream_llsvm.kernels.mixer import (
    AWAKE,
    JUDGE_ONE_IN,
    MEMBER_FACTS,
    MIXER_ROWS,
    judge_members,
    learn_mix,
    mix,
)
from stream_llsvm.kernels.piece_scaling import scale_into_pieces
from stream_llsvm.kernels.pieces import pieces_of, take_pieces
from stream_llsvm.kernels.scaling import (
    ABSENT,
    MANY,
    STATISTICS,
    YOUNG,
    is_due,
    observe_row,
    put_side_by_side,
    scale_row,
    scale_settled,
)
from stream_llsvm.kernels.sleep import TERM, decide
from stream_llsvm.kernels.state import (
    ALL_STAGES,
    BEGINS,
    CHUNK,
    CLASSES,
    CLOCK,
    COLUMNS,
    COUNTERS,
    EXPERTS,
    FINISH,
    FIRST_EXPERT,
    FIRST_SECTION,
    FORETOLD,
    KEEP,
    KIND,
    LEARN_MEMBERS,
    LEARN_MIXER,
    LEARN_SCALES,
    MEMBER,
    MEMBERS,
    MEMORY_KIND,
    OWN_EXPERTS,
    PACKED,
    PIECES,
    PREPARE,
    RELEVANCE,
    STAGE,
    STANDARDIZE,
    TAUGHT,
    USUALLY_NAMED,
    WIDTH,
)
from stream_llsvm.kernels.views import doubles, floats, integers

# Of fewer rows hardly any two ask the same machine.
FEWEST = 4
# Whole-model counters, and what scratch remembers of the last single row.
SEEN, MIXED = range(2)
FRESH, LENGTH, SPARSE, WAITING = range(4)
SLOWEST_NAMED = 0.001
THEN = 3  # beside the three rows that judging takes: what was foretold

MODEL_LAYOUT = (
    ("counters", "f8", (4,), "state"),
    ("statistics", "f8", ("width", STATISTICS), "state"),
    ("mixer", "f8", (MIXER_ROWS, "all_experts"), "state"),
    ("members", "f8", (MEMBER_FACTS, "all_members"), "state"),
    ("memo", "i8", (4,), "scratch"),
    ("last", "f8", ("width",), "scratch"),
    ("last_columns", "i8", ("width",), "scratch"),
    ("z", "f4", ("chunk", "width"), "scratch"),
    ("starts", "i8", ("chunk_ends",), "scratch"),
    ("lessons", "i8", ("chunk",), "scratch"),
    ("scores", "f4", ("chunk", "all_experts", "columns"), "scratch"),
    ("normal", "f8", ("all_experts", "classes"), "scratch"),
    ("squares", "f8", ("all_experts",), "scratch"),
    ("part", "f8", (4, "classes"), "scratch"),
    ("relevance", "f4", ("redraws", "width"), "scratch"),
    ("calibration", "f8", (2, BINS), "state"),
    ("foretold", "i8", ("foretold", ENTRY), "scratch"),
    ("foretold_scores", "f4", ("foretold", "all_experts", "columns"), "scratch"),
    ("addresses", "i8", (2, "all_members"), "scratch"),
    ("clock", "i8", (1,), "scratch"),
    ("scales", "f8", (2, "width"), "scratch"),
    ("packed", "f4", ("packed_rows", "most_packed"), "scratch"),
    ("begins", "i8", ("packed_rows", "most_pieces"), "scratch"),
    ("pieces", "i8", ("packed_rows",), "scratch"),
    ("rising", "f8", (BINS,), "scratch"),
)
# What a chunk of rows has to itself: the next is prepared while members still learn the last.
OF_A_CHUNK = (
    "z", "starts", "lessons", "scores", "relevance", "clock", "packed", "begins", "pieces",
)  # fmt: skip
MODEL_LAYOUT += tuple(
    (f"other_{name}", *rest) for name, *rest in MODEL_LAYOUT if name in OF_A_CHUNK
)
assert MODEL_LAYOUT[COUNTERS][0] == "counters"
assert MODEL_LAYOUT[RELEVANCE][0] == "relevance"
assert MODEL_LAYOUT[CLOCK][0] == "clock"
assert [MODEL_LAYOUT[i][0] for i in (PACKED, BEGINS, PIECES)] == ["packed", "begins", "pieces"]


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
    (``columns`` says where each value belongs and ``starts`` where each row begins). If the plan
    names a single stage, the rows are one chunk, whose clock is set, and each stage sees the same.
    """
    n, stage, members = labels.size, plan[0, STAGE], plan.shape[0] - 1
    classes, experts = plan[0, CLASSES], plan[0, EXPERTS]
    width, chunk, columns_each = plan[0, WIDTH], plan[0, CHUNK], plan[0, COLUMNS]
    o = plan[0, FIRST_SECTION:]
    counters = doubles(state, o[0], 4)
    statistics = doubles(state, o[1], (width, STATISTICS))
    mixer = doubles(state, o[2], (MIXER_ROWS, experts))
    facts = doubles(state, o[3], (MEMBER_FACTS, members))
    memo = integers(scratch, o[4], 4)
    last = doubles(scratch, o[5], width)
    last_columns = integers(scratch, o[6], width)
    z = floats(scratch, o[7], chunk * width)
    begins = integers(scratch, o[8], chunk + 1)
    lessons = integers(scratch, o[9], chunk)
    scores = floats(scratch, o[10], (chunk, experts, columns_each))
    normal = doubles(scratch, o[11], (experts, classes))
    squares = doubles(scratch, o[12], experts)
    part = doubles(scratch, o[13], (4, classes))
    table = doubles(state, o[15], (2, BINS))
    places = plan[0, FORETOLD]
    foretold = integers(scratch, o[16], (places, ENTRY))
    kept = floats(scratch, o[17], (places, experts, columns_each))
    addresses = integers(scratch, o[18], (2, members))
    clock = integers(scratch, o[CLOCK], 1)
    scales = doubles(scratch, o[20], (2, width))
    rising = doubles(scratch, o[24], BINS)
    packed, pieces_begin, pieces = pieces_of(scratch, plan)
    sparse = columns.size > 0 or starts.size > 0
    d = 0 if sparse or n == 0 else values.size // n
    first = 0
    while first < n:
        rows = n if stage != ALL_STAGES else chunk_rows(counters[TAUGHT], chunk, labels[first:])
        begin = starts[first] if sparse else first * d
        end = starts[first + rows] if sparse else (first + rows) * d
        some, at = values[begin:end], columns[begin:end]
        some_labels = labels[first : first + rows]
        some_importance = importance[first : first + rows]
        scored = False
        if stage == ALL_STAGES:
            clock[0] = int(counters[TAUGHT])
        if stage in (ALL_STAGES, PREPARE):
            scored = n == 1 and remembered(memo, last, last_columns, some, at)
            for q in range(rows + 1):
                begins[q] = (starts[first + q] if sparse else (first + q) * d) - begin
            prepare(
                plan, counters, statistics, scales, some, at, begins, some_labels, scored, z,
                packed, pieces_begin, pieces, lessons,
            )  # fmt: skip
        if stage in (ALL_STAGES, MEMBERS):
            run_members(
                addresses, state, scratch, plan, facts, z, at, begins, lessons[:rows],
                some_importance, scored, scores,
            )  # fmt: skip
        if stage in (ALL_STAGES, FINISH):
            for q in range(rows):
                label, place, turns = some_labels[q], -1, 1
                teach = plan[0, LEARN_MIXER] == 1 and label >= 0
                if teach and memo[WAITING] > 0:
                    place = find(foretold, digest_of(some, at, begins[q], begins[q + 1]))
                    if place >= 0 and not scored and is_young(foretold, place, counters[TAUGHT]):
                        turns = 2  # answer as of now, then learn from what was foretold
                for turn in range(turns):
                    told = scores[q] if turn == 0 else kept[place]
                    p = proba[first + q] if turn == 0 else part[THEN]
                    best = mix(mixer, told, normal, squares, p)
                    if turn == 0:
                        likeliest[first + q] = best
                    last_turn = turn == turns - 1
                    if label >= 0 and last_turn:
                        if width >= MANY:
                            follow_named(counters, width, some[begins[q] : begins[q + 1]])
                        learn_whom_to_trust(
                            plan, counters, mixer, facts, normal, squares, p, part, label,
                            some_importance[q],
                        )  # fmt: skip
                    lesson = label if teach and last_turn else -1
                    calibrate(table, rising, p, best, lesson, some_importance[q])
                if place >= 0:
                    release(foretold, kept, place)
                    memo[WAITING] -= 1
                elif label < 0 and plan[0, KEEP] == 1:
                    digest = digest_of(some, at, begins[q], begins[q + 1])
                    memo[WAITING] += keep(foretold, kept, digest, counters[TAUGHT], scores[q])
        first += rows
    if stage == PREPARE:
        memo[FRESH] = 0
    if stage == ALL_STAGES and n > 0:
        memo[FRESH] = 1 if n == 1 and labels[0] < 0 else 0
        if memo[FRESH] == 1:
            memo[LENGTH], memo[SPARSE] = values.size, columns.size
            copy_to(last, values)
            copy_to(last_columns, columns)


@entry
def chunk_rows(taught: Real, chunk: int, labels: Array) -> int:
    """How many rows come next: a chunk, or up to where it is decided who sleeps.

    So that it is decided after the same record however the rows arrive.
    """
    left = TERM - int(taught) % TERM
    most = min(chunk, labels.size)
    for q in range(most):
        if labels[q] >= 0:
            left -= 1
            if left == 0:
                return q + 1
    return most


@passage
def prepare(
    plan: Array,
    counters: Array,
    statistics: Array,
    scales: Array,
    values: Array,
    columns: Array,
    begins: Array,
    labels: Array,
    scored: bool,
    z: Array,
    packed: Array,
    pieces_begin: Array,
    pieces: Array,
    lessons: Array,
) -> None:
    """Scale a chunk of rows, if the members have not scored it already, and learn the scales."""
    standardize = plan[0, STANDARDIZE] == 1
    dense = columns.size == 0
    laid_out = settled = False
    for q in range(labels.size):
        a, b = begins[q], begins[q + 1]
        if dense and not laid_out:
            settled = put_side_by_side(statistics[: b - a], scales)
            laid_out = True
        at_once = settled and standardize and pieces.size > 0
        if at_once and not scored:
            pieces[q] = scale_into_pieces(scales, values[a:b], z[a:b], packed[q], pieces_begin[q])
        elif settled and not scored:
            scale_settled(scales, standardize, values[a:b], z[a:b])
        elif not scored:
            scale_row(statistics, standardize, values[a:b], columns[a:b], z[a:b])
        if pieces.size > 0 and not at_once and not scored:
            pieces[q] = take_pieces(z[a:b], packed[q], pieces_begin[q]) if dense else 0
        if plan[0, LEARN_SCALES] == 1 and labels[q] >= 0:
            counters[SEEN] += 1
            if is_due(counters[SEEN], statistics.shape[0]) or not settled:
                observe_row(statistics, counters[SEEN], values[a:b], columns[a:b])
                laid_out = False
        lessons[q] = labels[q] if plan[0, LEARN_MEMBERS] == 1 else -1


@passage
def run_members(
    addresses: Array,
    state: Array,
    scratch: Array,
    plan: Array,
    facts: Array,
    z: Array,
    columns: Array,
    begins: Array,
    lessons: Array,
    importance: Array,
    scored: bool,
    scores: Array,
) -> None:
    """Let the members score a chunk of rows and learn it: all of them, or one."""
    together = may_be_together(plan, columns, lessons)
    for member in range(1, plan.shape[0]):
        if plan[0, STAGE] == MEMBERS and member != plan[0, MEMBER]:
            continue
        if facts[AWAKE, member - 1] > 0:
            second = 1 if together and addresses[1, member - 1] != 0 else 0
            call(
                addresses[second], state, scratch, plan, member, z, columns, begins, lessons,
                importance, scored, scores,
            )  # fmt: skip
            continue
        own = plan[member, FIRST_EXPERT]
        scores[: lessons.size, own : own + plan[member, OWN_EXPERTS]] = 0
        if plan[member, KIND] == MEMORY_KIND:
            memory.publish(state, scratch, plan, member)


@kernel
def may_be_together(plan: Array, columns: Array, lessons: Array) -> bool:
    """Whether rows are dense and wide, teach nothing, and some will ask the same machine."""
    if plan[0, WIDTH] < MANY or columns.size > 0 or lessons.size < FEWEST:
        return False
    for q in range(lessons.size):  # noqa: SIM110  # numba knows no generators
        if lessons[q] >= 0:
            return False
    return True


@kernel
def follow_named(counters: Array, width: int, values: Array) -> None:
    """Follow how many features a record names: of a settled model one record in some looks."""
    if counters[TAUGHT] >= YOUNG and not is_due(counters[TAUGHT], width):
        return
    named = 0
    for t in range(values.size):
        named += 1 if values[t] != ABSENT else 0
    pace = max(1 / (counters[TAUGHT] + 1), SLOWEST_NAMED) if counters[USUALLY_NAMED] > 0 else 1.0
    counters[USUALLY_NAMED] += pace * (named - counters[USUALLY_NAMED])


@passage
def learn_whom_to_trust(
    plan: Array,
    counters: Array,
    mixer: Array,
    facts: Array,
    normal: Array,
    squares: Array,
    proba: Array,
    part: Array,
    label: int,
    importance: Real,
) -> None:
    """Learn the mixer from one record, and decide now and then who sleeps."""
    if plan[0, LEARN_MEMBERS] == 1:
        counters[TAUGHT] += 1
        if facts.shape[1] > 1 and counters[TAUGHT] % TERM == 0:
            decide(facts, plan, counters[TAUGHT], counters[USUALLY_NAMED])
    if plan[0, LEARN_MIXER] == 1:
        counters[MIXED] += 1
        if counters[MIXED] % JUDGE_ONE_IN == 0:
            judge_members(mixer, facts, plan, normal, proba, label, part)
        learn_mix(mixer, counters[MIXED], normal, squares, proba, label, importance)


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
