"""How much memory the rooms that learn hold of what they took since tracemalloc was started."""

from __future__ import annotations

import tracemalloc

_ROOMS = ("kernels", "learners", "members", "model", "records")


def held() -> int:
    """Return the bytes; threads that other tests left may be busy elsewhere with theirs."""
    own = [tracemalloc.Filter(True, f"*/stream_llsvm/{room}/*") for room in _ROOMS]
    taken = tracemalloc.take_snapshot().filter_traces(own)
    tracemalloc.stop()
    return sum(one.size for one in taken.statistics("filename"))
