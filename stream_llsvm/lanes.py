"""Members side by side on several cores: the same result to the bit.

Members know neither each other nor the mixer, so a chunk of rows can be given to all of them at
once. The memory and the ferns, which draw their questions by the memory's metric, share a lane.
The kernels release the interpreter's lock: plain threads are enough.

Guests are members with a kernel of their own, which is called between the stages of the one kernel.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import state as at
from stream_llsvm.kernels.guests import GUEST_KERNELS, Guests
from stream_llsvm.kernels.run import (
    ADDITIVE_KIND,
    FERNS_KIND,
    MEMORY_KIND,
    PRIOR_KIND,
    chunk_rows,
    run,
)

Plan = NDArray[np.int64]
# What a member's record takes beside its multiply-adds, and what one of these takes.
_PRICES = {ADDITIVE_KIND: (5_000, 5), FERNS_KIND: (30_000, 5), PRIOR_KIND: (0, 5)}
#: How long the plan of a model with a single member is.
_ALONE = 2


class Rows(NamedTuple):
    """What the kernel takes beside a model: rows, their labels, and where the answers go."""

    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    importance: NDArray[np.float64]
    proba: NDArray[np.float64]
    likeliest: NDArray[np.int64]

    def part(self, begin: int, end: int) -> Rows:
        """Return some of the rows."""
        if self.starts.size > 0:
            first, last = self.starts[begin], self.starts[end]
            values, columns = self.values[first:last], self.columns[first:last]
            starts = self.starts[begin : end + 1] - first
        else:
            d = self.values.size // self.labels.size
            values, columns, starts = self.values[begin * d : end * d], self.columns, self.starts
        rows = slice(begin, end)
        return Rows(
            values, columns, starts, self.labels[rows], self.importance[rows], self.proba[rows],
            self.likeliest[rows],
        )  # fmt: skip


def guests_of(plan: Plan) -> Guests:
    """Return the kinds of members that have a kernel of their own."""
    return tuple(kind for kind in GUEST_KERNELS if (plan[1:, at.KIND] == kind).any())


def run_in_stages(
    state: NDArray[np.float64],
    scratch: NDArray[np.float64],
    plan: Plan,
    rows: Rows,
    guests: Guests,
) -> None:
    """Do what ``kernels.run.run`` does, a chunk at a time, for members of which some are guests."""
    n = len(rows.labels)
    try:
        if n == 1:  # as live records come: what a chunk needs to be cut costs as much as a member
            _run_all_stages(state, scratch, plan, rows, guests)
            return
        counters = state[plan[0, at.FIRST_SECTION + at.COUNTERS] :]
        begin = 0
        while begin < n:
            left = rows.labels[begin:]
            end = begin + chunk_rows(counters[at.TAUGHT], plan[0, at.CHUNK], left)
            part = rows if end - begin == n else rows.part(begin, end)
            _run_all_stages(state, scratch, plan, part, guests)
            begin = end
    finally:
        plan[0, at.STAGE] = at.ALL_STAGES


def _run_all_stages(
    state: NDArray[np.float64],
    scratch: NDArray[np.float64],
    plan: Plan,
    part: Rows,
    guests: Guests,
) -> None:
    # The very plan, since a copy for each stage would cost a row more than its members.
    plan[0, at.STAGE] = at.PREPARE
    run(state, scratch, plan, *part)
    plan[0, at.STAGE] = at.MEMBERS
    if len(plan) > _ALONE:  # a guest without company has nobody to be called for
        run(state, scratch, plan, *part)
    for kind in guests:
        GUEST_KERNELS[kind](state, scratch, plan, part.columns, part.labels, part.importance)
    plan[0, at.STAGE] = at.FINISH
    run(state, scratch, plan, *part)


def _run_lane(
    state: NDArray[np.float64],
    scratch: NDArray[np.float64],
    plan: Plan,
    part: Rows,
    guests: Guests,
) -> None:
    run(state, scratch, plan, *part)
    for kind in guests:
        GUEST_KERNELS[kind](state, scratch, plan, part.columns, part.labels, part.importance)


def run_in_lanes(
    state: NDArray[np.float64], scratch: NDArray[np.float64], plan: Plan, rows: Rows, threads: int
) -> None:
    """Do what ``kernels.run.run`` does, a chunk at a time with the members in lanes."""
    lanes = _lanes(plan, threads)
    prepare = _single_stage(plan, lanes, at.PREPARE, 0)
    finish = _single_stage(plan, lanes, at.FINISH, 0)
    stages = [_single_stage(plan, lanes, at.MEMBERS, lane) for lane in range(max(lanes) + 1)]
    helpers = _helpers(threads)
    guests = guests_of(plan)
    counters = state[plan[0, at.FIRST_SECTION + at.COUNTERS] :]
    begin, n = 0, len(rows.labels)
    while begin < n:
        end = begin + chunk_rows(counters[at.TAUGHT], plan[0, at.CHUNK], rows.labels[begin:])
        part = rows.part(begin, end)
        run(state, scratch, prepare, *part)
        others = [
            helpers.submit(partial(_run_lane, state, scratch, stage, part, guests))
            for stage in stages[1:]
        ]
        _run_lane(state, scratch, stages[0], part, guests)
        for other in others:
            other.result()
        run(state, scratch, finish, *part)
        begin = end


def _single_stage(plan: Plan, lanes: list[int], stage: int, lane: int) -> Plan:
    """Return the plan of one stage, for the members of one lane."""
    own = plan.copy()
    own[1:, at.OWN_LANE] = lanes
    own[0, at.STAGE], own[0, at.LANE] = stage, lane
    return own


def _lanes(plan: Plan, threads: int) -> list[int]:
    """Share the members out by what they cost, the dearest first; one lane number a member."""
    together = [i for i, row in enumerate(plan[1:]) if row[at.KIND] in (MEMORY_KIND, FERNS_KIND)]
    groups = [together] if together else []
    groups += [[i] for i in range(len(plan) - 1) if i not in together]
    prices = [_price(row) for row in plan[1:]]
    groups.sort(key=lambda group: -sum(prices[i] for i in group))
    load = [0] * min(threads, len(groups))
    lanes = [0] * (len(plan) - 1)
    for group in groups:
        lane = load.index(min(load))
        for i in group:
            lanes[i] = lane
            load[lane] += prices[i]
    return lanes


def _price(row: NDArray[np.int64]) -> int:
    """Say how long a member takes for a record, as if in multiply-adds.

    Cells here and there take longer than what lies side by side, and each member has something to
    do whatever its size. Rough figures: all that hangs on them is which core has to wait.
    """
    beside, factor = _PRICES.get(int(row[at.KIND]), (20_000, 1))
    return beside + factor * int(row[at.COST])


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads beside the caller's own; made once, since they only wait between calls."""
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="stream_llsvm")
