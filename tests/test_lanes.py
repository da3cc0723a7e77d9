"""Who may do what when, on several threads; that the result is the same: learners/test_sleep.py."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels import state as at
from stream_llsvm.kernels.sleep import TERM
from stream_llsvm.lanes import Rows, _helpers, run_in_lanes

MEMBERS = ("anchors:1", "ferns:3", "memory:20", "memory:200", "additive:3")
N = 2_000
FINISH = -1

Event = tuple[str, int, int]


@pytest.fixture
def work() -> tuple[Any, Any, Any, Rows]:
    model = CommitteeClassifier(members=MEMBERS)
    model.learn_one({"a": 1.0, "b": 2.0}, "yes")
    memory = model._memory
    assert memory is not None
    rows = Rows(
        np.zeros(2 * N), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(N, np.int64),
        np.ones(N), np.zeros((N, 1)), np.zeros(N, np.int64),
    )  # fmt: skip
    return memory.state, memory.scratch, memory.plan, rows


def _stage(plan: Any) -> int:
    stage = plan[0, at.STAGE]
    return {at.PREPARE: 0, at.FINISH: FINISH}.get(stage, int(plan[0, at.MEMBER]))


@pytest.mark.parametrize("threads", [1, 2, 4, 64])
def test_the_order(
    work: tuple[Any, Any, Any, Rows], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    ends: list[int] = []
    lock = threading.Lock()
    counts: dict[int, int] = {}

    def follow(state: Any, scratch: Any, plan: Any, *rows: Any) -> None:
        stage = _stage(plan)
        with lock:
            chunk = counts[stage] = counts.get(stage, 0) + 1
            events.append(("begins", stage, chunk))
            if stage == 0:
                ends.append((ends or [1])[-1] + len(rows[3]))  # one was learned before
        with lock:
            events.append(("ends", stage, chunk))

    monkeypatch.setattr("stream_llsvm.lanes.run", follow)
    run_in_lanes(*work, threads)
    chunks = len(ends)
    assert ends[-1] == N + 1
    members = range(1, 1 + len(MEMBERS))
    kinds = work[2][:, at.KIND].tolist()
    ferns, memory = kinds.index(at.FERNS_KIND, 1), kinds.index(at.MEMORY_KIND, 1)
    last_memory = kinds.index(at.MEMORY_KIND, memory + 1)
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
    work: tuple[Any, Any, Any, Rows], failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(state: Any, scratch: Any, plan: Any, *rows: Any) -> None:
        if _stage(plan) == failing:
            raise MemoryError("no room")

    monkeypatch.setattr("stream_llsvm.lanes.run", fail)
    with pytest.raises(MemoryError, match="no room"):
        run_in_lanes(*work, 3)


def test_nobody_waits_for_threads_that_are_busy_with_another_model(
    work: tuple[Any, Any, Any, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.lanes.run", lambda *_: None)
    begun, over = threading.Event(), threading.Event()

    def work_for_long() -> bool:
        begun.set()
        return over.wait(10)

    other = _helpers(2).submit(work_for_long)
    begun.wait()
    run_in_lanes(*work, 2)
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
