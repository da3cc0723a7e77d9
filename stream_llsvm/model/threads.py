"""Members side by side on several cores: the same result to the bit, in the order of scheduler.py.

The kernels release the interpreter's lock: plain threads are enough.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.model.rows import Rows
from stream_llsvm.model.scheduler import Plan, Work


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
