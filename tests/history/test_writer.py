"""The history is kept whatever happens to its file, and never in the run's way."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_llsvm.history import writer as module
from stream_llsvm.history.file import MINUTE, Event, HistoryFile, Row
from stream_llsvm.history.writer import HistoryWriter, Sample
from tests.dashboard.live import wait_for
from tests.disk import fill, small_disk


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 0.02)
    monkeypatch.setattr(module, "_WRITTEN", 0.02)


class Run:
    """A run that has learned more at each look."""

    def __init__(self, path: Path, record: int | None = None) -> None:
        self.path, self.records = path, record or 0
        self.happened: list[Event] = [Event(time.time(), self.records, "started", "here")]
        self.writer = HistoryWriter(path, self._sample, self._events, record)

    def _sample(self) -> Sample:
        self.records += 1
        return Sample(self.records, {"records_total": (float(self.records), True)})

    def _events(self) -> list[Event]:
        found, self.happened = self.happened, []
        return found


def rows(path: Path) -> list[Row]:
    """Return what a file holds; nothing while it cannot be read."""
    try:
        file = HistoryFile(path)
    except sqlite3.Error:
        return []
    try:
        return file.rows(0, 1e10)
    except sqlite3.Error:
        return []
    finally:
        file.close()


def events(path: Path) -> list[str]:
    file = HistoryFile(path)
    try:
        return [one.kind for one in file.events(0, 1e10)]
    finally:
        file.close()


def test_the_last_numbers_are_there_at_the_end(tmp_path: Path) -> None:
    run = Run(tmp_path / "h")
    with run.writer:
        wait_for(lambda: run.records > 3)
    assert rows(run.path)[-1].record == run.records
    assert rows(run.path)[-1].values == {"records_total": float(run.records)}
    assert events(run.path) == ["started"]


def test_a_run_that_goes_on_counts_nothing_twice(tmp_path: Path) -> None:
    first = Run(tmp_path / "h")
    with first.writer:
        wait_for(lambda: first.records > 20)
    again = Run(tmp_path / "h", record=5)
    with again.writer:
        wait_for(lambda: again.records > 8)
    found = rows(again.path)
    assert [row.record for row in found] == sorted(row.record for row in found)
    assert found[-1].record == again.records
    assert sum(row.record > 5 for row in found) <= 2  # a minute may have ended meanwhile
    assert events(again.path) == ["started", "started"]


@pytest.mark.parametrize("contents", [b"no database at all" * 1_000, "torn"])
def test_a_damaged_file_is_moved_aside(
    tmp_path: Path, contents: bytes | str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "h"
    if contents == "torn":
        file = HistoryFile(path, write=True)
        values = {f"s{i}": 1.0 for i in range(100)}
        for n in range(2_000):
            file.write(Row(n * MINUTE, MINUTE, n, values), dict.fromkeys(values, False))
        file.close()
        whole = path.read_bytes()
        contents = whole[:4096] + b"\xff" * (len(whole) - 4096)
    assert isinstance(contents, bytes)
    path.write_bytes(contents)
    run = Run(path)
    with run.writer:
        wait_for(lambda: rows(path))
    assert (tmp_path / "h.damaged").read_bytes()[8_000:] == contents[8_000:] != b""
    assert caplog.text.count("was moved to") == 1
    assert rows(path)[-1].record == run.records


def test_a_locked_file_is_told_of_once_and_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.history.file._PATIENCE", 0.05)
    path = tmp_path / "h"
    HistoryFile(path, write=True).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    run = Run(path)
    with run.writer:
        wait_for(lambda: "cannot be written" in caplog.text)
        seen = run.records
        wait_for(lambda: run.records > seen + 5)
        other.execute("ROLLBACK")
        other.close()
        wait_for(lambda: rows(path))
        wait_for(lambda: "can be written again" in caplog.text)
    assert caplog.text.count("cannot be written") == 1
    assert "locked" in caplog.text
    assert events(path) == ["started"]


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        yield disk


def test_a_full_disk(full: Path, caplog: pytest.LogCaptureFixture) -> None:
    rest = fill(full)
    run = Run(full / "h")
    with run.writer:
        wait_for(lambda: "cannot be written" in caplog.text)
        rest.unlink()
        wait_for(lambda: rows(full / "h"))
    assert rows(full / "h")[-1].record == run.records


def test_a_place_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "h"
    path.mkdir()
    run = Run(path)
    with run.writer:
        wait_for(lambda: "cannot be written" in caplog.text)
        seen = run.records
        wait_for(lambda: run.records > seen + 20)
    assert caplog.text.count("history:") == 1
    assert len(run.writer._waiting) <= 3


def test_a_clock_that_is_set_back_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift = [0.0]
    real = time.time
    run = Run(tmp_path / "h")
    monkeypatch.setattr(time, "time", lambda: real() + shift[0])
    with run.writer:
        wait_for(lambda: rows(run.path))
        shift[0] = -7 * MINUTE
        wait_for(lambda: rows(run.path)[0].time < real() - 5 * MINUTE)
