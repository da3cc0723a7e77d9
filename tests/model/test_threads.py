"""Threads that work on one batch: that errors are heard, and that nobody waits for nothing."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np
import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.model.threads import _helpers, run_on_threads
from tests.batches import FINISH, batch, stage_of


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
