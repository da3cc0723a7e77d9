"""The one kernel that Python calls for classifiers: scale, score and learn with each member, mix.

n rows are one call and one row is n = 1. Within a block of rows each member runs over all rows
before the next begins, so that its part of the state stays in cache; members know neither each
other nor the mixer, and the order cannot matter.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from numba import types

from stream_llsvm.kernels.boxes import FIRST_BOX, holds_boxes, take_numbers
from stream_llsvm.kernels.calibration import BINS, calibrate
from stream_llsvm.kernels.chunk import Chunk, ending, row_alone
from stream_llsvm.kernels.compile import Array, Real, entry, inlined, kernel
from stream_llsvm.kernels.dispatch import RUN, TOGETHER, call
from stream_llsvm.kernels.join import COLUMNS, ROWS, join, learn_join
from stream_llsvm.kernels.judge import JUDGE_ONE_IN, SUMS, Heard, is_asked, judge_members
from stream_llsvm.kernels.linear import copy_to
from stream_llsvm.kernels.mixer import (
    AWAKE,
    MEMBER_FACTS,
    MIXER_ROWS,
    learn_mix,
    mix,
    rate_of,
)
from stream_llsvm.kernels.pending import ENTRY, digest_of, find, is_young, keep, release
from stream_llsvm.kernels.pieces import take_pieces
from stream_llsvm.kernels.plan import ALL_STAGES, FINISH, MEMBER_ROW, MEMBERS, PREPARE
from stream_llsvm.kernels.scaling import (
    ABSENT,
    MANY,
    STATISTICS,
    YOUNG,
    is_due,
    list_young,
    observe_row,
    observe_young,
    put_side_by_side,
    scale_row,
    scale_settled,
    scale_young,
    take_shares,
)
from stream_llsvm.kernels.sections import scratch, state, views
from stream_llsvm.kernels.sleep import ERROR_FACTS, TERM, decide, follow_errors
from stream_llsvm.kernels.views import bits_of

# Of fewer rows hardly any two ask the same machine.
FEWEST = 4
# Whole-model counters, and what scratch remembers of the last single row.
# ``USUALLY_NAMED``: how many features a record names among many, a running mean.
SEEN, MIXED, TAUGHT, USUALLY_NAMED = range(4)
FRESH, LENGTH, SPARSE, WAITING = range(4)
SLOWEST_NAMED = 0.001
# Of ``part``: the prediction kept for a late label, the mixer's answer, and what is joined of that
# and of what comes on top; the first are judges'.
PENDING_ROW, MIXED_ROW, JOINT_ROW = SUMS, SUMS + 1, SUMS + 2
PART_ROWS = SUMS + 3


class SharedState(NamedTuple):
    """What a model keeps beside its members, by name."""

    width: int
    chunk: int
    standardize: int
    learn_scales: int
    learn_members: int
    learn_mixer: int
    stage: int
    member: int
    keep: int
    place: int
    counted_experts: int
    paced_experts: int
    shared_out: int
    local_width: int
    dense_width: int
    counters: Annotated[Array, state("f8", 4)]
    statistics: Annotated[Array, state("f8", "width", STATISTICS)]
    mixer: Annotated[Array, state("f8", MIXER_ROWS, "all_experts")]
    #: What is known of each member: whether it is awake, how it does, what it is worth.
    members: Annotated[Array, state("f8", MEMBER_FACTS, "all_members")]
    #: The last single row, if a prediction of it can be reused.
    memo: Annotated[Array, scratch("i8", 4)]
    last: Annotated[Array, scratch("f8", "most_kept")]
    last_columns: Annotated[Array, scratch("i8", "most_kept")]
    #: Of a chunk of rows, twice: the next is prepared while members still learn the last.
    z: Annotated[Array, scratch("f4", 2, ("chunk", "width"))]
    starts: Annotated[Array, scratch("i8", 2, "chunk_ends")]
    lessons: Annotated[Array, scratch("i8", 2, "chunk")]
    scores: Annotated[Array, scratch("f4", 2, "chunk", "all_experts", "columns")]
    relevance: Annotated[Array, scratch("f4", 2, "redraws", "local_width")]
    #: How many records the members had learned before each row.
    clock: Annotated[Array, scratch("i8", 2, "chunk_ends")]
    packed: Annotated[Array, scratch("f4", 2, "packed_rows", "most_packed")]
    begins: Annotated[Array, scratch("i8", 2, "packed_rows", "most_pieces")]
    pieces: Annotated[Array, scratch("i8", 2, "packed_rows")]
    #: Of one row: the experts' normalised scores, their squares, and sums over the experts.
    normal: Annotated[Array, scratch("f8", "all_experts", "classes")]
    squares: Annotated[Array, scratch("f8", "all_experts")]
    part: Annotated[Array, scratch("f8", PART_ROWS, "classes")]
    calibration: Annotated[Array, state("f8", 2, BINS)]
    #: Predictions that wait for their labels: of which record, and the experts' scores.
    foretold: Annotated[Array, scratch("i8", "n_foretold", ENTRY)]
    foretold_scores: Annotated[Array, scratch("f4", "n_foretold", "all_experts", "columns")]
    #: Where each member's kernels lie in this process.
    addresses: Annotated[Array, scratch("i8", 2, "all_members")]
    #: Centres, then inverses, side by side.
    scales: Annotated[Array, scratch("f8", 2, "dense_width")]
    #: The calibration table, made to rise.
    rising: Annotated[Array, scratch("f8", BINS)]
    #: Of a chunk of sparse rows without what is no number: where rows start, the columns of their
    #: values, and how many values were left out.
    number_starts: Annotated[Array, scratch("i8", 2, "chunk_ends")]
    number_columns: Annotated[Array, scratch("i8", 2, ("chunk", "width"))]
    left_out: Annotated[Array, scratch("i8", 2, 1)]
    #: How much the mixer's answer counts, how much what comes on top of the others, and what the
    #: joint answer gains.
    joined: Annotated[Array, state("f8", ROWS, COLUMNS)]
    #: Which features of dense rows have no settled scale yet, or no longer.
    young: Annotated[Array, scratch("i8", "dense_width")]
    #: How much of a field's place each column has: of k columns with a name each 1 / sqrt(k).
    shares: Annotated[Array, scratch("f4", "width")]
    #: Where each row of a chunk ends for members that see its first columns only.
    local_ends: Annotated[Array, scratch("i8", 2, "chunk")]
    #: What members that rest say of the records that they are judged on.
    resting: Annotated[Array, scratch("f4", 2, "judged_rows", "all_experts", "columns")]
    #: How often the model is wrong, of late and usually.
    errors: Annotated[Array, state("f8", ERROR_FACTS)]


#: The types of what ``run`` takes, so that it can be compiled before it is called.
_doubles, _whole = types.float64[::1], types.int64[::1]
RUN_TAKES: Any = (
    _doubles, _doubles, types.int64[:, ::1], _doubles, _whole, _whole, _whole, _doubles,
    types.float64[:, ::1], _whole,
)  # fmt: skip


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
    m = views(SharedState, state, scratch, plan, 0)
    n, stage, place = labels.size, m.stage, m.place
    memo, begins, lessons = m.memo, m.starts[place], m.lessons[place]
    sparse = columns.size > 0 or starts.size > 0
    d = 0 if sparse or n == 0 else values.size // n
    first = 0
    while first < n:
        rows = n if stage != ALL_STAGES else chunk_rows(m.counters[TAUGHT], m.chunk, labels[first:])
        begin = starts[first] if sparse else first * d
        end = starts[first + rows] if sparse else (first + rows) * d
        some, at = values[begin:end], columns[begin:end]
        some_labels = labels[first : first + rows]
        some_importance = importance[first : first + rows]
        scored = False
        if stage == ALL_STAGES:
            m.clock[place, 0] = int(m.counters[TAUGHT])
        if stage in (ALL_STAGES, PREPARE):
            scored = n == 1 and remembered(memo, m.last, m.last_columns, some, at)
            for q in range(rows + 1):
                begins[q] = (starts[first + q] if sparse else (first + q) * d) - begin
            prepare(m, some, at, some_labels, scored)
        if stage in (ALL_STAGES, MEMBERS):
            no_targets = some_importance[:0]
            chunk = chunk_of(m, some, at, lessons[:rows], some_importance, scored, no_targets)
            run_members(m, state, scratch, plan, chunk)
        if stage in (ALL_STAGES, FINISH):
            for q in range(rows):
                p = proba[first + q]
                record = Told(some, at, begins[q], begins[q + 1], m.scores[place, q])
                likeliest[first + q] = finish(
                    m, plan, record, q, some_labels[q], some_importance[q], scored, p
                )
        first += rows
    if stage == PREPARE:
        memo[FRESH] = 0
    if stage == ALL_STAGES and n > 0:
        memo[FRESH] = 1 if n == 1 and labels[0] < 0 and values.size <= m.last.size else 0
        if memo[FRESH] == 1:
            memo[LENGTH], memo[SPARSE] = values.size, columns.size
            copy_to(m.last, values)
            copy_to(m.last_columns, columns)


@entry
def chunk_rows(taught: Real, chunk: int, labels: Array) -> int:
    """How many rows come next: a chunk, or up to where it is decided who rests.

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


@inlined
def prepare(m: SharedState, values: Array, columns: Array, labels: Array, scored: bool) -> None:
    """Scale a chunk of rows, if the members have not scored it already, and learn the scales."""
    counters, statistics, scales, begins = m.counters, m.statistics, m.scales, m.starts[m.place]
    z, packed, pieces_begin = m.z[m.place], m.packed[m.place], m.begins[m.place]
    pieces, lessons = m.pieces[m.place], m.lessons[m.place]
    standardize = m.standardize == 1
    dense = columns.size == 0
    mixed = not dense and holds_boxes(values)
    starts, kept = m.number_starts[m.place], m.number_columns[m.place]
    starts[0] = 0
    laid_out, n_young = False, 0
    for q in range(labels.size):
        a, b = begins[q], begins[q + 1]
        starts[q + 1] = b
        if mixed:
            starts[q + 1] = starts[q] + take_numbers(columns[a:b], values[a:b], kept[starts[q] :])
        if dense and not laid_out:
            settled = put_side_by_side(statistics[: b - a], scales)
            n_young = 0 if settled else list_young(statistics[: b - a], m.young)
            laid_out = True
        if not dense and not scored:
            end = starts[q + 1]
            scale_row(statistics, standardize, values[a:b], columns[a:b], z[starts[q] : end])
        elif not scored:
            if n_young < b - a:
                scale_settled(scales, standardize, values[a:b], z[a:b])
            scale_young(statistics, standardize, values[a:b], m.young[:n_young], z[a:b])
        if m.shared_out == 1 and not scored:
            named = kept if mixed else columns
            take_shares(m.shares, named[starts[q] :], z[starts[q] : starts[q + 1]])
        if pieces.size > 0 and not scored:
            pieces[q] = take_pieces(z[a:b], packed[q], pieces_begin[q]) if dense else 0
        if m.learn_scales == 1 and labels[q] >= 0:
            counters[SEEN] += 1
            if not dense or is_due(counters[SEEN], statistics.shape[0]):
                observe_row(statistics, counters[SEEN], values[a:b], columns[a:b])
                laid_out = False
            elif n_young > 0:
                n_young = observe_young(
                    statistics, counters[SEEN], values[a:b], m.young[:n_young], scales
                )
        if m.local_width < m.width:
            named = kept if mixed else columns
            m.local_ends[m.place, q] = end_of(named, starts[q], starts[q + 1], m.local_width)
        lessons[q] = labels[q] if m.learn_members == 1 else -1
        m.clock[m.place, q + 1] = m.clock[m.place, q]
        if m.learn_members == 1 and labels[q] >= 0:
            m.clock[m.place, q + 1] += 1
    m.left_out[m.place, 0] = values.size - starts[labels.size]


@kernel
def end_of(columns: Array, begin: int, end: int, width: int) -> int:
    """Return where a row's columns, ascending from ``begin`` to ``end``, reach a width."""
    for t in range(begin, end):
        if columns[t] >= width:
            return t
    return end


@inlined
def chunk_of(
    m: SharedState, values: Array, columns: Array, lessons: Array, importance: Array, scored: bool,
    targets: Array,
) -> Chunk:  # fmt: skip
    """Return a chunk of prepared rows as members take it."""
    place = m.place
    named = m.number_columns[place] if m.left_out[place, 0] > 0 else columns
    return Chunk(
        m.z[place], named, m.number_starts[place], m.number_starts[place, 1:], lessons, importance,
        scored, m.scores[place], m.relevance[place], m.clock[place], m.packed[place],
        m.begins[place], m.pieces[place], values, columns, m.starts[place], targets,
    )  # fmt: skip


@inlined
def run_members(m: SharedState, state: Array, scratch: Array, plan: Array, chunk: Chunk) -> None:
    """Let the members score a chunk of rows and learn it: all of them, or one."""
    together = may_be_together(m, chunk)
    cut = ending(chunk, m.local_ends[m.place])
    for member in range(1, plan.shape[0]):
        if m.stage == MEMBERS and member != m.member:
            continue
        which = TOGETHER if together and m.addresses[TOGETHER, member - 1] != 0 else RUN
        own_chunk = cut if plan[member, MEMBER_ROW.width] < m.width else chunk
        if m.members[AWAKE, member - 1] > 0:
            call(which, m.addresses, state, scratch, plan, member, own_chunk)
            continue
        own = plan[member, MEMBER_ROW.first_expert]
        end = own + plan[member, MEMBER_ROW.experts]
        chunk.scores[: chunk.labels.size, own:end] = 0
        for q in range(chunk.labels.size):
            if asks_who_rests(m, member - 1, chunk.labels[q], m.clock[m.place, q + 1]):
                alone = row_alone(own_chunk, q, m.resting[m.place, judged_before(m, q) :])
                call(RUN, m.addresses, state, scratch, plan, member, alone)


@kernel
def asks_who_rests(m: SharedState, which: int, label: int, learned: int) -> bool:
    """Whether a member that rests is asked and taught a record: as many are learned with it."""
    live = m.learn_members == 1 and m.learn_mixer == 1
    return live and label >= 0 and is_asked(m.members, which, learned)


@kernel
def judged_before(m: SharedState, q: int) -> int:
    """Return how many records of a chunk before row q members are judged on."""
    clock = m.clock[m.place]
    return clock[q] // JUDGE_ONE_IN - clock[0] // JUDGE_ONE_IN


@kernel
def may_be_together(m: SharedState, chunk: Chunk) -> bool:
    """Whether rows are dense and wide, teach nothing, and some will ask the same machine."""
    lessons = chunk.labels
    if m.dense_width < MANY or chunk.columns.size > 0 or lessons.size < FEWEST:
        return False
    for q in range(lessons.size):  # noqa: SIM110  # numba knows no generators
        if lessons[q] >= 0:
            return False
    return True


class Told(NamedTuple):
    """A record (where it lies among the rows given) and what the experts say of it."""

    values: Array
    columns: Array
    begin: int
    end: int
    scores: Array


@inlined
def finish(
    m: SharedState, plan: Array, record: Told, q: int, label: int, importance: Real, scored: bool,
    p: Array,
) -> int:  # fmt: skip
    """Mix what the experts say of row q into p, learn whom to trust; returns the likeliest."""
    memo, taught, place, turns = m.memo, m.counters[TAUGHT], -1, 1
    teach = m.learn_mixer == 1 and label >= 0
    if teach and memo[WAITING] > 0:
        digest = digest_of(record.values, record.columns, record.begin, record.end)
        place = find(m.foretold, digest)
        if place >= 0 and not scored and is_young(m.foretold, place, taught):
            turns = 2  # answer as of now, then learn from what was foretold
    likeliest = 0
    for turn in range(turns):
        told = record.scores if turn == 0 else m.foretold_scores[place]
        mixed = p if turn == 0 else m.part[PENDING_ROW]
        best = mix(m.mixer, told, m.normal, m.squares, m.part[MIXED_ROW])
        counted, inner, joint = m.counted_experts, m.part[MIXED_ROW], m.part[JOINT_ROW]
        joint_best = join(m.joined, m.normal, m.squares, counted, inner, joint, mixed)
        best = joint_best if joint_best >= 0 else best
        if turn == 0:
            likeliest = best
        last_turn = turn == turns - 1
        if label >= 0 and last_turn:
            if m.width >= MANY:
                values = record.values[record.begin : record.end]
                follow_named(m.counters, m.width, values)
            learn_whom_to_trust(m, plan, q, label, importance)
            if m.learn_mixer == 1:
                learn_join(m.joined, m.normal, m.squares, counted, inner, joint, label, importance)
            learn_who_works(m, plan, best != label)
        lesson = label if teach and last_turn else -1
        calibrate(m.calibration, m.rising, mixed, best, lesson, importance)
    if place >= 0:
        release(m.foretold, m.foretold_scores, place)
        memo[WAITING] -= 1
    elif label < 0 and m.keep == 1:
        digest = digest_of(record.values, record.columns, record.begin, record.end)
        memo[WAITING] += keep(m.foretold, m.foretold_scores, digest, taught, record.scores)
    return likeliest


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


@inlined
def learn_whom_to_trust(m: SharedState, plan: Array, q: int, label: int, importance: Real) -> None:
    """Learn the mixer from one record, row q of a chunk, and judge now and then the members."""
    counters, mixer, inner = m.counters, m.mixer, m.part[MIXED_ROW]
    if m.learn_members == 1:
        counters[TAUGHT] += 1
    if m.learn_mixer == 0:
        return
    counters[MIXED] += 1
    rate = importance * rate_of(m.paced_experts, inner.size)
    clock = counters[TAUGHT] if m.learn_members == 1 else counters[MIXED]
    if int(clock) % JUDGE_ONE_IN == 0:
        heard = Heard(mixer, m.joined, m.normal, m.squares, m.counted_experts, m.part)
        resting = m.resting[m.place, judged_before(m, q)]
        if m.learn_members == 0:
            resting = resting[:0]
        judge_members(
            heard, m.members, plan, resting, label, importance, counters[MIXED], rate, int(clock)
        )
    learn_mix(mixer, counters[MIXED], m.normal, m.squares, inner, label, rate, m.counted_experts)


@inlined
def learn_who_works(m: SharedState, plan: Array, wrong: bool) -> None:
    """Follow the model's errors, and decide now and then who rests."""
    if m.learn_members == 0 or m.learn_mixer == 0 or m.members.shape[1] == 1:
        return
    follow_errors(m.errors, wrong)
    if int(m.counters[TAUGHT]) % TERM == 0:
        decide(m.members, m.errors, plan, m.counters[TAUGHT], m.counters[USUALLY_NAMED])


@kernel
def remembered(
    memo: Array, last: Array, last_columns: Array, values: Array, columns: Array
) -> bool:
    """Whether the last call scored this very row and learned nothing since."""
    if memo[FRESH] == 0 or memo[LENGTH] != values.size or memo[SPARSE] != columns.size:
        return False
    bits, last_bits = bits_of(values), bits_of(last)
    for i in range(values.size):
        # What is missing is alike however it is written; boxes hold something.
        both_missing = values[i] != values[i] and last[i] != last[i]
        both_missing &= bits[i] < FIRST_BOX and last_bits[i] < FIRST_BOX
        if values[i] != last[i] and not both_missing and bits[i] != last_bits[i]:
            return False
    for i in range(columns.size):  # noqa: SIM110  # numba knows no generators
        if columns[i] != last_columns[i]:
            return False
    return True
