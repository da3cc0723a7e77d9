"""What a run keeps for those who watch it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.progress import Progress


def records(labels: str) -> list[dict[str, Any]]:
    return [{"x": float(i % 7), "y": label} for i, label in enumerate(labels)]


def engine(labels: str, **options: Any) -> Engine:
    return Engine(ListSource(records(labels), "y"), LLSVMClassifier(), **options)


@pytest.mark.parametrize("max_batch", [1, 3, 1_000])
def test_when_each_class_was_first_seen(max_batch: int) -> None:
    run = engine("aaabaacab", max_batch=max_batch)
    run.run()
    assert run.progress.classes.labels == ("a", "b", "c")
    assert run.progress.since == [1, 4, 7]


def test_it_is_known_again_after_a_checkpoint(tmp_path: Path) -> None:
    for stop in (5, None):
        kept = Checkpoints(tmp_path)
        run = engine("aaabaacab", checkpoints=kept, max_batch=1)
        run.run(stop)
        kept.close()
    assert run.progress.since == [1, 4, 7]


def test_the_last_checkpoint_is_known(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    first = engine("abab", checkpoints=kept)
    begun = first.made
    assert begun is not None and (begun.number, begun.record) == (1, 0)
    first.run()
    made = first.made
    assert made is not None and (made.number, made.record) == (kept.number, 4)
    kept.close()
    kept = Checkpoints(tmp_path)
    again = engine("ababab", checkpoints=kept).made
    assert again is not None
    assert (again.number, again.record) == (made.number, 4)
    assert again.time == pytest.approx(made.time, abs=5)
    kept.close()


def test_a_checkpoint_that_cannot_be_written_is_known_until_one_can(tmp_path: Path) -> None:
    folder, gone = tmp_path / "kept", tmp_path / "gone"
    kept = Checkpoints(folder)
    assert not kept.failing
    folder.rename(gone)
    with pytest.raises(OSError, match="kept"):
        kept.write({}, wait=True)
    assert kept.failing
    kept.write({})
    kept.finish()
    assert kept.failing
    gone.rename(folder)
    kept.write({}, wait=True)
    assert not kept.failing
    kept.close()


def test_events_are_numbered_upwards_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    progress = Progress(100, None)
    times = iter([5.0, 5.0, 5.0001, 4.0, 6.0])
    monkeypatch.setattr("stream_llsvm.engine.progress.time.time", lambda: next(times))
    assert [progress.next_number() for _ in range(5)] == [5000, 5001, 5002, 5003, 6000]
