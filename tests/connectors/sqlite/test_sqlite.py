"""Rows of SQLite as records: in order, from any position, also while others write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.connectors import SourceError, SqliteSource
from tests.cli.support import refused, run, told
from tests.connectors.support import drained, records, values_of

SMALL = ["--model", "llsvm", "--option", "n_anchors=9", "--option", "n_neighbors=4"]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    one = sqlite3.connect(tmp_path / "weather.db")
    one.execute('CREATE TABLE "my wind" (speed, "gust ""max""", note TEXT, storm)')
    add(one, 30)
    yield one
    one.close()


def add(base: sqlite3.Connection, n: int) -> None:
    rows = [(i / 4, "NA" if i % 5 == 0 else str(i), "text", i % 2) for i in range(n)]
    base.executemany('INSERT INTO "my wind" VALUES (?, ?, ?, ?)', rows)
    base.commit()


def source(path: Path, **options: Any) -> SqliteSource:
    return SqliteSource(path / "weather.db", label="storm", ignore=["note"], **options)


def test_rows_are_records(tmp_path: Path, base: sqlite3.Connection) -> None:
    base.execute("INSERT INTO \"my wind\" VALUES (1.5, x'00', NULL, NULL)")
    base.execute("INSERT INTO \"my wind\" VALUES ('calm', NULL, NULL, 1)")
    base.commit()
    batches = drained(source(tmp_path, fields={"speed": "number"}), most=7)
    assert values_of(batches, "speed") == [i / 4 for i in range(30)] + [1.5]
    assert values_of(batches, 'gust "max"')[:3] == [None, 1.0, 2.0]
    assert [y for batch in batches for y in batch.labels] == [i % 2 for i in range(30)] + [None]
    bad = [str(one.detail) for batch in batches for one in batch.bad_fields]
    assert bad == ["'gust \"max\"': b'\\x00'", "'speed': 'calm'"]
    (rejected,) = [one for batch in batches for one in batch.rejected]
    assert (rejected.place.number, rejected.reason) == (32, "not a number")
    assert str(batches[0].places[2]).endswith("weather.db, table my wind:3")


def test_it_goes_on_behind_every_batch(tmp_path: Path, base: sqlite3.Connection) -> None:
    everything = values_of(drained(source(tmp_path)), "speed")
    first = source(tmp_path)
    seen: list[float] = []
    while (batch := first.poll(4, 0.0)) is not None:
        seen += [one["speed"] for one in records(batch)]
        again = source(tmp_path)
        again.seek(batch.position)
        assert seen + values_of(drained(again), "speed") == everything
        again.close()
    first.close()


def test_it_waits_for_rows_that_are_added(tmp_path: Path, base: sqlite3.Connection) -> None:
    following = source(tmp_path, follow=True)
    assert following.poll(100, 0.0) is not None and following.poll(100, 0.1) is None
    assert not following.ended
    add(base, 3)
    batch = following.poll(100, 5.0)
    assert batch is not None and len(batch) == 3
    following.close()


def test_what_cannot_be(tmp_path: Path, base: sqlite3.Connection) -> None:
    with pytest.raises(SourceError, match="unable to open database file"):
        SqliteSource(tmp_path / "no.db")
    with pytest.raises(SourceError, match="table rain: no such table: rain"):
        source(tmp_path, table="rain").poll(1, 0.0)
    base.execute("CREATE TABLE rain (a)")
    with pytest.raises(SourceError, match=r"name the table \(--table\); there are my wind, rain"):
        source(tmp_path)
    with pytest.raises(SourceError, match="not a position in it"):
        source(tmp_path, table="rain").seek({"table": "my wind", "row": 3})


def test_the_command_reads_a_table(tmp_path: Path, base: sqlite3.Connection) -> None:
    add(base, 70)
    kept = tmp_path / "kept"
    address = f"sqlite:{tmp_path / 'weather.db'}"
    given: list[object] = ["run", "--from", address, "--label", "storm", *SMALL]
    given += ["--ignore", "note", "--checkpoints", kept]
    assert told(*given, "--max-records", 40)["learned"] == 40
    assert "position  behind row 40 of table my wind" in run("inspect", kept).stdout
    assert told(*given)["learned"] == 100
    assert "did you mean" in refused("run", "--from", f"{address[:-1]}c", "--label", "storm")
    base.execute("CREATE TABLE rain (a, storm)")
    base.commit()
    assert "name the table (--table)" in refused("run", "--from", address, "--label", "storm")
    assert told(*given[:-2], "--table", "my wind")["learned"] == 100
    assert "results cannot be written to SQLite" in refused(*given, "--to", address + "2")
    assert "it is for files only" in refused(*given, "--encoding", "latin-1")


def test_a_table_is_scored_and_predicted_like_a_file(
    tmp_path: Path, base: sqlite3.Connection
) -> None:
    address, model = f"sqlite:{tmp_path / 'weather.db'}", tmp_path / "m.llsvm"
    told("run", "--from", address, "--label", "storm", "--ignore", "note", "--save", model, *SMALL)
    predicted = run("predict", model, address, "--label", "storm")
    assert len(predicted.stdout.splitlines()) == 30
    scored = told(
        "evaluate", address, "--label", "storm", "--ignore", "note", "--models", "additive"
    )
    assert scored["records"] == 30
