"""What may be done when; that the result is the same: learners/test_sleep.py."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.sleep import TERM
from stream_llsvm.model.scheduler import Work, _helpers, run_on_threads
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
    metric = plan[:, at.MEMBER_ROW.metric].tolist()
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


@pytest.mark.parametrize("failing", [0, 2, FINISH])
def test_who_fails_is_heard_and_nobody_waits_for_ever(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(state: Any, scratch: Any, plan: Any, *rows: Any) -> None:
        if stage_of(plan) == failing:
            raise MemoryError("no room")

    monkeypatch.setattr("stream_llsvm.model.scheduler.run", fail)
    with pytest.raises(MemoryError, match="no room"):
        run_on_threads(*batch(), 3)


def test_nobody_waits_for_threads_that_are_busy_with_another_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_llsvm.model.scheduler.run", lambda *_: None)
    begun, over = threading.Event(), threading.Event()

    def work_for_long() -> bool:
        begun.set()
        return over.wait(10)

    other = _helpers(2).submit(work_for_long)
    begun.wait()
    run_on_threads(*batch(), 2)
    assert not other.done()
    over.set()
    assert other.result()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    model = CommitteeClassifier(members=("anchors:1", "additive:3"), threads=2)
    X = np.random.default_rng(0).normal(size=(20, 2))
    model.learn_many(X, [0, 1] * 10)
    child = multiprocessing.get_context("fork").Process(target=model.predict_many, args=(X,))
    child.start()
    child.join(20)
    child.kill()
    assert child.exitcode == 0
