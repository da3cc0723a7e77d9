"""Names, times and words through the engine: from every source, over restarts, to the bit."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_llsvm import CommitteeClassifier, Engine, SAPLClassifier
from stream_llsvm.connectors import FileSource, ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.checkpoints import Checkpoints
from tests.engine.test_word_rows import mixed
from tests.learners.support import everything

PLAIN = ("a", "city", "when", "y")


def shop(n: int, *, words: bool) -> list[dict[str, Any]]:
    """Return records; a text of one or two words is a name, as is a list of one name."""
    return [
        {k: v for k, v in row.items() if words or k in PLAIN} | {"id": i}
        for i, row in enumerate(mixed(n))
    ]


def written(folder: Path, records: list[dict[str, Any]], kind: str) -> Path:
    path = folder / f"shop.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=70)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    return path


def run(source: Any, make: Any = SAPLClassifier, **options: Any) -> Engine:
    engine = Engine(source, make(), **options)
    report = engine.run()
    assert not report["rejected"] and not report["bad_fields"]
    return engine


@pytest.mark.parametrize("make", [SAPLClassifier, CommitteeClassifier])
@pytest.mark.parametrize("words", [False, True])
def test_every_source_gives_the_same_model(tmp_path: Path, words: bool, make: Any) -> None:
    records = shop(260, words=words)
    alone = make()
    for record in records:
        x = {k: v for k, v in record.items() if k not in ("y", "id")}
        alone.predict_proba_one(x)
        alone.learn_one(x, record["y"])
    how: dict[str, Any] = {"label": "y", "ignore": ["id"]}
    for kind in ("jsonl", "parquet") if words else ("jsonl", "parquet", "csv"):
        source = FileSource(written(tmp_path, records, kind), **how)
        for most in (7, 1_000):
            engine = run(source, make, max_batch=most)
            assert everything(engine.model) == everything(alone)
            source.seek({"file": 0, "path": source.paths[0]})
    plain = [{k: v for k, v in record.items() if k != "id"} for record in records]
    engine = run(ListSource(plain, label="y"), make)
    assert everything(engine.model) == everything(alone)


@pytest.mark.parametrize("words", [False, True])
def test_records_that_wait_for_labels_are_kept_to_the_bit(tmp_path: Path, words: bool) -> None:
    """A run that stops while they wait gives the model of one that does not."""
    records = shop(200, words=words)
    path = written(tmp_path, [{k: v for k, v in r.items() if k != "y"} for r in records], "jsonl")
    labels = [{"id": r["id"], "y": r["y"]} for r in records]
    fields = {"city": "name"}  # of which 42 is one

    def engine(late: list[dict[str, Any]], kept: Path | None) -> Engine:
        folder = None if kept is None else Checkpoints(kept)
        source = FileSource(path, key="id", fields=fields)
        return Engine(
            source, SAPLClassifier(), labels=ListSource(late, "y", "id"), checkpoints=folder,
            clock=lambda: 0.0,
        )  # fmt: skip

    whole = engine([], tmp_path / "whole")
    whole.run()
    assert whole.late is not None
    whole.late.source = ListSource(labels, "y", "id")
    assert whole.run()["waiting"]["matched"] == 200
    first = engine([], tmp_path / "kept")
    first.run()
    assert first.late is not None
    waited = [guess.x for guess in first.late.waiting.records.values()]
    assert {type(value).__name__ for x in waited for value in x.values()} == (
        {"float", "str", "Name"} | ({"tuple"} if words else set())
    )
    assert first.checkpoints is not None
    first.checkpoints.close()
    second = engine(labels, tmp_path / "kept")
    assert second.run()["waiting"]["matched"] == 200
    assert everything(second.model) == everything(whole.model)


def test_deletes_are_counted_over_restarts(tmp_path: Path) -> None:
    """A row that was deleted is nothing bad: it is counted, and its message passed over."""
    change = {"payload": {"after": {"a": 1, "y": 0}}}
    records = [change] * 40 + [{"payload": {"after": None}}] * 70 + [change] * 20
    path = written(tmp_path, records, "jsonl")
    for _ in range(3):
        checkpoints = Checkpoints(tmp_path / "kept")
        source = FileSource(path, label="y", unwrap="payload.after")
        engine = Engine(source, SAPLClassifier(), checkpoints=checkpoints, max_batch=10)
        report = engine.run(max_records=25)
        checkpoints.close()
    assert (report["learned"], report["deletes"]) == (60, 70) and not report["rejected"]


def test_a_producer_changes_what_it_sends(tmp_path: Path) -> None:
    """Text is added, a number becomes a name and a number again: nothing stops, nothing is lost."""
    phases: list[dict[str, Any]] = [
        {"a": 1.5, "b": 2},
        {"a": 1.5, "b": 2, "note": "warm"},
        {"a": "low", "b": 2, "note": "to be or not to be"},
        {"a": 2.5, "b": {"c": "x", "d": [1, 2]}, "note": None},
        {"a": 1.5, "b": 2},
    ]
    records = [phase | {"y": i % 2} for phase in phases for i in range(90)]
    engine = run(FileSource(written(tmp_path, records, "jsonl"), label="y"), max_batch=50)
    assert engine.report()["learned"] == len(records)
    columns = engine.report()["columns"]
    assert columns["a"]["counts"] == {"number": 360, "name": 90}
    assert columns["note"]["counts"]["text"] == columns["note"]["counts"]["name"] == 90
    assert columns["b.c"]["kind"] == "name" and columns["b.d"]["kind"] == "text"


def deep(n: int) -> dict[str, Any]:
    record: dict[str, Any] = {"a": 1}
    for _ in range(n):
        record = {"a": record}
    return record


ODD: list[Any] = [
    {"a": "x" * 5_000, "b": 1},
    {"a": "word " * 3_000, "b": 1},
    {f"f{i}": i for i in range(10_000)},
    {f"f{i}": f"v{i}" for i in range(2_000)},
    deep(900) | {"b": 1},
    {"a": ["x", 1, None, 2.5], "b": 1},
    {"a": [["x"]], "b": 1},
    {"a": "\ud800", "b": "e\u0301"},
    {"": 1, " ": "x", "\u00e9": "\u00e9", "b": math.nan},
    {"a": "1e999", "b": 10**400},
    {"a": {}, "b": {"": {"": 1}}},
    {"a": "2026-02-30", "b": "99999-01-01T00:00"},
    {"a": True, "b": "true"},
    {"b": None},
    {},
]


@pytest.mark.parametrize("kind", ["jsonl", "list"])
def test_odd_records_cost_no_others(tmp_path: Path, kind: str) -> None:
    good = [{"a": f"u{i % 9}", "b": i, "y": i % 2} for i in range(300)]
    records = good[:100]
    for i, odd in enumerate(ODD):
        records += [odd | {"y": i % 2}, *good[100 + 9 * i : 109 + 9 * i]]
    source: Any = ListSource(records, label="y")
    if kind == "jsonl":
        source = FileSource(written(tmp_path, records, kind), label="y")
    engine = Engine(source, SAPLClassifier(max_mb=64), max_batch=64)
    report = engine.run()
    assert report["learned"] + sum(report["rejected"].values()) == len(records)
    told = dict.fromkeys(report["rejected"])
    assert sum(report["rejected"].values()) <= 3, told
    assert all(math.isfinite(value) for value in report["scores"]["cumulative"].values())


def test_many_distinct_names_stay_bounded() -> None:
    """Each record brings names that no other has."""

    class Endless(ListSource):
        def poll(self, max_records: int, timeout: float) -> Batch | None:
            first = self._next
            self.records = range(30_000)  # type: ignore[assignment]
            if first >= len(self.records):
                return None
            self._next += 1_000
            records = [
                {"user": f"u{i}", "said": ("w", f"w{i}")} for i in range(first, first + 1_000)
            ]
            return Batch([i % 2 for i in range(1_000)], [], {}, records=records)

    engine = Engine(Endless([], label="y"), SAPLClassifier(), detector=None)
    assert engine.run()["learned"] == 30_000
    model: Any = engine.model
    assert len(model._features) < 100
