"""What may be done when; that the result is the same: learners/test_sleep.py."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.sleep import TERM
from stream_llsvm.model.scheduler import Work
from tests.batches import FINISH, MEMBERS, N, batch, stage_of

Event = tuple[str, int, int]


@pytest.mark.parametrize("threads", [1, 2, 4, 64])
def test_the_order(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    ends: list[int] = []
    lock = threading.Lock()
    counts: dict[int, int] = {}

    def follow(state: Any, scratch: Any, plan: Any, *rows: Any) -> None:
        stage = stage_of(plan)
        with lock:
            chunk = counts[stage] = counts.get(stage, 0) + 1
            events.append(("begins", stage, chunk))
            if stage == 0:
                ends.append((ends or [1])[-1] + len(rows[3]))  # one was learned before
        with lock:
            events.append(("ends", stage, chunk))

    monkeypatch.setattr("stream_llsvm.model.scheduler.run", follow)
    state, scratch, plan, rows = batch()
    work = Work(state, scratch, plan, rows)
    with ThreadPoolExecutor(threads) as pool:
        for one in [pool.submit(work.run) for _ in range(threads)]:
            one.result(20)
    chunks = len(ends)
    assert ends[-1] == N + 1
    members = range(1, 1 + len(MEMBERS))
    metric = plan[:, at.METRIC].tolist()
    ferns, memory = metric.index(at.READS_METRIC, 1), metric.index(at.LEAVES_METRIC, 1)
    last_memory = metric.index(at.LEAVES_METRIC, memory + 1)
    assert counts == dict.fromkeys([0, *members, FINISH], chunks)
    place = {event: i for i, event in enumerate(events)}

    def comes_after(stage: int, chunk: int, before: int, its_chunk: int) -> bool:
        return place["begins", stage, chunk] > place["ends", before, its_chunk]

    for c in range(1, chunks + 1):
        for member in members:
            assert comes_after(member, c, 0, c)
            assert comes_after(FINISH, c, member, c)
            if c > 1 and ends[c - 2] % TERM == 0:
                assert comes_after(member, c, FINISH, c - 1)
        assert comes_after(last_memory, c, memory, c)  # which leaves the metric to the ferns
        assert comes_after(ferns, c, last_memory, c)
        if c > 2:
            assert comes_after(0, c, FINISH, c - 2)
    assert sum(end % TERM == 0 for end in ends) == N // TERM
