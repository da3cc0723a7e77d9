"""A page shows what was before its process, and a run's history holds each record once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.history import writer
from stream_llsvm.history.file import NAME, HistoryFile
from tests.dashboard.live import Live, live, rows


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "EVERY", 0.02)
    monkeypatch.setattr(writer, "_WRITTEN", 0.02)


def run_to(folder: Path, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Learn so many records in a folder; return the page's first history and last frame."""
    checkpoints, path = Checkpoints(folder), folder / NAME
    given: dict[str, Any] = {"page": {"history": path}, "checkpoints": checkpoints}

    def learned(run: Live) -> dict[str, Any]:
        return run.until(lambda frame: frame["status"]["records"] == n)

    with live(rows(n), **given) as run:
        before: dict[str, Any] = run.get("/api/history").json()
        frame = learned(run)
        run.finish()
    checkpoints.close()
    return before, frame


def test_the_page_begins_where_the_last_process_ended(tmp_path: Path) -> None:
    run_to(tmp_path, 1_000)
    time_between = time.time()
    before, frame = run_to(tmp_path, 1_500)
    points = before["points"]
    old = [i for i, at in enumerate(points["time"]) if at < time_between + 61]
    assert old and 0 < points["records"][old[0]] <= 1_000
    assert points["windowed"][old[0]] is not None
    assert points["id"] == sorted(points["id"])
    assert [one["kind"] for one in before["events"]].count("started") == 1
    assert frame["status"]["records"] == 1_500
    file = HistoryFile(tmp_path / NAME)
    found = file.rows(0, time.time() + 60)
    kinds = [one.kind for one in file.events(0, time.time() + 60)]
    file.close()
    last = found[-1]
    assert last.record == 1_500 and last.values["learned_total"] == 1_500
    assert 0 < last.values["accuracy_ratio{kind=windowed}"] <= 1
    assert kinds.count("started") == 2 and kinds.count("continued") == 1
    assert not any(kind == "checkpoint" for kind in kinds)
