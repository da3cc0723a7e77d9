"""The file of a history: minutes, hours and events, each record in it once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from stream_llsvm.history import file as module
from stream_llsvm.history.file import HOUR, MINUTE, Event, HistoryFile, NewerError, Row

KINDS = {"records_total": True, "accuracy_ratio": False}
START = 1_700_000_000 // HOUR * HOUR


def minute(n: int, record: int, accuracy: float = 0.5) -> Row:
    values = {"records_total": float(record), "accuracy_ratio": accuracy}
    return Row(START + n * MINUTE, MINUTE, record, values)


def test_a_week_is_read_back_by_minutes_and_before_that_by_hours(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "h", write=True)
    for n in range(180):
        file.write(minute(n, 10 * (n + 1), n / 180), KINDS)
    rows = file.rows(START, START + 3 * HOUR)
    assert [row.record for row in rows] == [10 * (n + 1) for n in range(180)]
    file.forget(START + 2 * HOUR + module.KEPT[MINUTE])
    rows = file.rows(START, START + 3 * HOUR)
    assert [row.span for row in rows] == [HOUR, HOUR, *[MINUTE] * 60]
    first = rows[0]
    assert first.record == 600 and first.values["records_total"] == 600
    assert first.values["accuracy_ratio"] == pytest.approx(29.5 / 180)
    file.forget(START + 3 * HOUR + module.KEPT[HOUR])
    assert file.rows(0, START + 9 * HOUR) == []
    file.close()


def test_what_comes_again_takes_the_place_of_what_was(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "h", write=True)
    for n in range(5):
        file.write(minute(n, 10 * (n + 1)), KINDS, [Event(START, 10 * n, "drift", "up")])
    file.write(minute(5, 60), KINDS, [Event(START, 60, "alert", "lagging")])
    file.continued_at(25)
    assert [row.record for row in file.rows(START, START + HOUR)] == [10, 20]
    assert [one.record for one in file.events(0, 2e9)] == [0, 10, 20, 60]
    for n in range(10, 14):
        file.write(minute(n, 25 + 10 * (n - 9)), KINDS)
    rows = file.rows(START, START + HOUR)
    assert [row.record for row in rows] == [10, 20, 35, 45, 55, 65]
    file.forget(START + HOUR + module.KEPT[MINUTE])
    (hour,) = file.rows(START, START + HOUR)
    assert hour.record == 65
    file.close()


def test_an_hour_that_is_replaced_in_part_is_that_of_the_rest(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "h", write=True)
    file.write(minute(0, 10, 1.0), KINDS)
    file.write(minute(1, 20, 0.0), KINDS)
    file.continued_at(10)
    file.forget(START + HOUR + module.KEPT[MINUTE])
    (hour,) = file.rows(START, START + HOUR)
    assert (hour.record, hour.values["accuracy_ratio"]) == (10, 1.0)
    file.close()


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EVENTS", 5)
    monkeypatch.setattr(module, "_MOST_SERIES", 3)
    file = HistoryFile(tmp_path / "h", write=True)
    values = {f"s{i}": float(i) for i in range(10)}
    many = [Event(START, i, "alert", "x" * 10_000) for i in range(20)]
    file.write(Row(START, MINUTE, 1, values), dict.fromkeys(values, False), many)
    file.forget(START)
    (row,) = file.rows(START, START + 1)
    assert row.values == {"s0": 0.0, "s1": 1.0, "s2": 2.0}
    events = file.events(0, 2e9)
    assert [one.record for one in events] == [15, 16, 17, 18, 19]
    assert len(events[0].text) == 500
    file.close()


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "h"
    HistoryFile(path, write=True).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {module.VERSION + 1}")
    db.close()
    before = path.read_bytes()
    for write in (False, True):
        with pytest.raises(NewerError, match="newer version"):
            HistoryFile(path, write=write)
    assert path.read_bytes() == before


def test_it_is_read_while_another_writes(tmp_path: Path) -> None:
    path = tmp_path / "h"
    writer = HistoryFile(path, write=True)
    writer.write(minute(0, 10), KINDS)
    reader = HistoryFile(path)
    writer.write(minute(1, 20), KINDS)
    assert [row.record for row in reader.rows(START, START + HOUR)] == [10, 20]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.write(minute(2, 30), KINDS)
    reader.close()
    writer.close()
