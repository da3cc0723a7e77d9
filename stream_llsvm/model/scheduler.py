"""Scheduler of multi-threaded batches: which order of steps keeps the result, to the bit.

Members know neither each other nor the mixer. A chunk of rows is prepared, given to every member,
and finished, which is where the mixer answers and learns. Each thread takes whatever may be done
next, the dearest member first. A member may go on to the next chunk while others are still at this
one, and the mixer follows; only where it is decided who rests do all wait for it. The ferns, which
draw their questions by the neighbours' metric, come after these, which go one by one.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import Condition, get_ident

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.run import TAUGHT, SharedState, chunk_rows, run
from stream_llsvm.kernels.sections import views
from stream_llsvm.kernels.sleep import TERM
from stream_llsvm.model.rows import Rows

Plan = NDArray[np.int64]
# Stages: members have their numbers, from 1 on.
_PREPARE, _FINISH = 0, -1


class _Place:
    """Where a chunk of rows lies while it is worked on: there are two, used in turn."""

    def __init__(self, model: SharedState, plan: Plan, place: int) -> None:
        plan = plan.copy()
        plan[0, at.MODEL_ROW.place] = place
        self.clock = model.clock[place]
        self.plans = {
            _PREPARE: _single_stage(plan, at.PREPARE),
            _FINISH: _single_stage(plan, at.FINISH),
        } | {i: _single_stage(plan, at.MEMBERS, i) for i in range(1, len(plan))}
        self.rows: Rows
        #: Whether it is decided at its end who rests.
        self.decided = False


class Work:
    """A batch of rows, and which stages have done how many chunks of it."""

    def __init__(
        self, state: NDArray[np.float64], scratch: NDArray[np.float64], plan: Plan, rows: Rows
    ) -> None:
        self.state, self.scratch, self.rows = state, scratch, rows
        self.chunk = int(plan[0, at.MODEL_ROW.chunk])
        self.learns = plan[0, at.MODEL_ROW.learn_members] == 1
        model = views(SharedState, state, scratch, plan, 0)
        self.places = _Place(model, plan, 0), _Place(model, plan, 1)
        self.begin = 0
        self.taught = int(model.counters[TAUGHT])
        prices = plan[:, at.MEMBER_ROW.price].tolist()
        self.members = sorted(range(1, len(plan)), key=lambda i: -prices[i])
        # Of several that leave a metric, the last one's is read.
        sharing = [i for i in range(1, len(plan)) if plan[i, at.MEMBER_ROW.metric] != at.NO_METRIC]
        #: Whom a member has to wait for.
        self.before = {later: sharing[:n] for n, later in enumerate(sharing)}
        #: Of several stages that may do the same chunk, the first comes first.
        self.stages = [_FINISH, *self.members, _PREPARE]
        self.done = dict.fromkeys(self.stages, 0)
        self.busy: set[int] = set()
        #: Which thread did each stage last.
        self.last = dict.fromkeys(self.stages, 0)
        self.changed = Condition()

    def run(self) -> None:
        """Do what there is to do, until all is done; on as many threads as call it."""
        with self.changed:
            try:
                while (stage := self._next()) is not None:
                    place = self.places[self.done[stage] % 2]
                    if stage == _PREPARE:
                        self._cut(place)
                    self.busy.add(stage)
                    self.changed.release()
                    try:
                        run(self.state, self.scratch, place.plans[stage], *place.rows)
                    finally:
                        self.changed.acquire()
                    self.busy.discard(stage)
                    self.done[stage] += 1
                    self.changed.notify_all()
            except BaseException:
                self.stages = []
                raise
            finally:
                self.changed.notify_all()

    def _next(self) -> int | None:
        """Wait for what may be done next; nothing, if all is done or somebody failed."""
        while self.stages and not self._all_done():
            ready = [stage for stage in self.stages if self._may(stage)]
            if ready:
                me = get_ident()  # whose core may still have in its cache what it did last
                stage = min(ready, key=lambda one: (self.done[one], self.last[one] != me))
                self.last[stage] = me
                return stage
            self.changed.wait()
        return None

    def _all_done(self) -> bool:
        prepared = self.begin == len(self.rows.labels) and _PREPARE not in self.busy
        return prepared and self.done[_FINISH] == self.done[_PREPARE]

    def _may(self, stage: int) -> bool:
        """Whether a stage may do its next chunk."""
        done = self.done
        which = done[stage]
        if stage in self.busy:
            return False
        if stage == _PREPARE:
            return self.begin < len(self.rows.labels) and which < done[_FINISH] + len(self.places)
        if which == done[_PREPARE]:
            return False
        if stage == _FINISH:
            return all(done[member] > which for member in self.members)
        if done[_FINISH] < which and self.places[(which - 1) % 2].decided:
            return False
        return all(done[other] > which for other in self.before.get(stage, ()))

    def _cut(self, place: _Place) -> None:
        """Cut the next chunk of rows."""
        end = self.begin + chunk_rows(self.taught, self.chunk, self.rows.labels[self.begin :])
        place.rows = self.rows.part(self.begin, end)
        place.clock[0] = self.taught
        taught = int((place.rows.labels >= 0).sum()) if self.learns else 0
        self.taught += taught
        place.decided = taught > 0 and self.taught % TERM == 0
        self.begin = end


def _single_stage(plan: Plan, stage: int, member: int = 0) -> Plan:
    """Return the plan of one stage, or of one member."""
    own = plan.copy()
    own[0, at.MODEL_ROW.stage], own[0, at.MODEL_ROW.member] = stage, member
    return own


def run_on_threads(
    state: NDArray[np.float64], scratch: NDArray[np.float64], plan: Plan, rows: Rows, threads: int
) -> None:
    """Do what ``kernels.run.run`` does, on so many threads."""
    work = Work(state, scratch, plan, rows)
    threads = min(threads, len(plan))  # a thread a member, and one for what comes before and after
    others = [_helpers(threads).submit(work.run) for _ in range(threads - 1)]
    try:
        work.run()
    finally:
        begun = [other for other in others if not other.cancel()]  # what has not has nothing to do
        wait(begun)
    for other in begun:
        other.result()


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads beside the caller's own; made once, since they only wait between calls."""
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="stream_llsvm")


# A process that was forked has none of its parent's threads, and would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
