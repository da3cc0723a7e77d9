"""Members side by side on several cores: the same result to the bit.

Members know neither each other nor the mixer, so a chunk of rows can be given to all of them at
once. The memory and the ferns, which draw their questions by the memory's metric, share a lane.
The kernels release the interpreter's lock: plain threads are enough.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import state as at
from stream_llsvm.kernels.run import chunk_rows, run

Plan = NDArray[np.int64]
# What a member's record takes beside its multiply-adds, and what one of these takes.
_PRICES = {at.ADDITIVE_KIND: (5_000, 5), at.FERNS_KIND: (30_000, 5)}


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


def run_in_lanes(
    state: NDArray[np.float64], scratch: NDArray[np.float64], plan: Plan, rows: Rows, threads: int
) -> None:
    """Do what ``kernels.run.run`` does, a chunk at a time with the members in lanes."""
    lanes = _lanes(plan, threads)
    prepare = _single_stage(plan, lanes, at.PREPARE, 0)
    finish = _single_stage(plan, lanes, at.FINISH, 0)
    stages = [_single_stage(plan, lanes, at.MEMBERS, lane) for lane in range(max(lanes) + 1)]
    helpers = _helpers(threads)
    counters = state[plan[0, at.FIRST_SECTION + at.COUNTERS] :]
    begin, n = 0, len(rows.labels)
    while begin < n:
        end = begin + chunk_rows(counters[at.TAUGHT], plan[0, at.CHUNK], rows.labels[begin:])
        part = rows.part(begin, end)
        run(state, scratch, prepare, *part)
        others = [
            helpers.submit(partial(run, state, scratch, stage, *part)) for stage in stages[1:]
        ]
        run(state, scratch, stages[0], *part)
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
    kinds = plan[1:, at.KIND].tolist()
    together = [i for i, kind in enumerate(kinds) if kind in (at.MEMORY_KIND, at.FERNS_KIND)]
    groups = [together] if together else []
    groups += [[i] for i in range(len(kinds)) if i not in together]
    prices = [_price(row) for row in plan[1:]]
    groups.sort(key=lambda group: -sum(prices[i] for i in group))
    load = [0] * min(threads, len(groups))
    lanes = [0] * len(kinds)
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
