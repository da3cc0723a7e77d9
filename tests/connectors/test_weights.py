"""How much a record counts: the same in every format, the fast way and the slow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from stream_llsvm.connectors import FileSource, SqliteSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.formats import message_codec
from stream_llsvm.connectors.svmlight_codec import SvmlightCodec

#: What may stand there, what it counts, and why it cannot be used if so.
CASES: list[tuple[Any, float, str]] = [
    (2, 2.0, ""),
    (0, 0.0, ""),
    (0.25, 0.25, ""),
    ("3.5", 3.5, ""),
    (None, 1.0, ""),
    ("", 1.0, ""),
    ("NA", 1.0, ""),
    (-1, 1.0, "weight is negative"),
    (-0.001, 1.0, "weight is negative"),
    ("-2", 1.0, "weight is negative"),
    ("much", 1.0, "weight is no number"),
    ("2020-01-01", 1.0, "weight is no number"),
    ("far too much", 1.0, "weight is no number"),
    (1e7, 1.0, "weight is too large"),
    ("inf", 1.0, "weight is infinite"),
]
ROWS = [{"a": float(i), "w": w, "n": "xyz"[i % 3], "y": i % 2} for i, (w, _, _) in enumerate(CASES)]


def json_lines(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def csv_lines(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    return [",".join("" if v is None else str(v) for v in row.values()).encode() for row in rows]


def read(format: str, rows: Sequence[dict[str, Any]], **options: Any) -> Batch:
    options = {"label": "y", "weight": "w"} | options
    places: list[Any] = list(range(len(rows)))
    if format == "csv":
        return CsvCodec(["a", "w", "n", "y"], **options).decode(csv_lines(rows), places, {})
    codec = message_codec(format, **options)
    raws = json_lines(rows) if format == "json" else [msgpack.packb(row) for row in rows]
    return codec.decode(raws, places, {})


@pytest.mark.parametrize("times", [1, 8])
@pytest.mark.parametrize("format", ["json", "csv", "msgpack"])
def test_each_weight_is_read_alike(format: str, times: int) -> None:
    """Many at once by the compiled loops, a few one by one."""
    batch = read(format, ROWS * times)
    assert batch.weights is not None
    assert batch.weights.tolist() == [count for _, count, _ in CASES] * times
    bad = [(i + len(ROWS) * k, why) for k in range(times) for i, (_, _, why) in enumerate(CASES)]
    found: list[Any] = [(one.place, one.reason) for one in batch.bad_fields]
    assert found == [b for b in bad if b[1]]
    assert {one.field for one in batch.bad_fields} == {"w"}
    assert batch.names == ("a", "n")
    assert batch.record(4) == {"a": 4.0, "n": "y"}
    assert not batch.rejected


@pytest.mark.parametrize("format", ["json", "csv", "msgpack"])
def test_a_bad_weight_costs_its_record_if_that_is_asked_for(format: str) -> None:
    batch = read(format, ROWS * 8, on_bad_field="reject")
    bad = [why for _, _, why in CASES if why]
    assert [one.reason for one in batch.rejected] == bad * 8
    assert len(batch) == 8 * (len(CASES) - len(bad))


@pytest.mark.parametrize("format", ["json", "csv", "msgpack"])
def test_weights_that_are_all_one_are_none(format: str) -> None:
    rows = [row | {"w": 1} for row in ROWS] * 8
    batch = read(format, rows)
    assert batch.weights is None
    assert batch.names == ("a", "n")


@pytest.mark.parametrize("format", ["json", "csv"])
def test_as_they_are_values_have_weights_too(format: str) -> None:
    batch = read(format, ROWS, numeric=False)
    assert batch.weights is not None
    assert batch.weights.tolist() == [count for _, count, _ in CASES]
    assert batch.records is not None
    assert set(batch.records[0]) == {"a", "n"}
    assert [one.reason for one in batch.bad_fields] == [why for _, _, why in CASES if why]


def test_a_weight_may_be_missing_from_some_records() -> None:
    rows = [{"a": 1.0, "w": 3, "y": 0}, {"a": 2.0, "y": 1}] * 20
    batch = read("json", rows)
    assert batch.weights is not None
    assert batch.weights.tolist() == [3.0, 1.0] * 20
    assert all("w" not in batch.record(i) for i in range(40))


def test_a_weight_inside_an_object() -> None:
    rows = [{"a": 1.0, "meta": {"w": i % 3, "b": 2.0}, "y": 0} for i in range(40)]
    batch = read("json", rows, weight="meta.w")
    assert batch.weights is not None
    assert batch.weights.tolist() == [i % 3 for i in range(40)]
    assert batch.record(0) == {"a": 1.0, "meta.b": 2.0}


def test_only_some_features_and_a_weight() -> None:
    batch = read("csv", ROWS * 8, features=["a"])
    assert batch.names == ("a",)
    assert batch.weights is not None


def test_svmlight_takes_a_feature_for_the_weight() -> None:
    places: Any = list("xy")
    batch = SvmlightCodec(weight="2").decode([b"1 1:0.5 2:4", b"0 1:1"], places, {})
    assert batch.weights is not None
    assert batch.weights.tolist() == [4.0, 1.0]
    assert [batch.record(i) for i in range(2)] == [{"1": 0.5}, {"1": 1.0}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "w"}, "both the label and the weight"),
        ({"key": "w"}, "both the key and the weight"),
        ({"features": ["w"]}, "both the weight and a feature"),
        ({"ignore": ["w"]}, "both the weight and left out"),
        ({"fields": {"w": "name"}}, "is the weight, and no feature"),
    ],
)
def test_a_weight_is_nothing_else(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FileSource("data.csv", weight="w", **options)


def test_files_tables_and_parquet(tmp_path: Path) -> None:
    fine = [row | {"w": float(i % 4)} for i, row in enumerate(ROWS)] * 10
    count = [row["w"] for row in fine]
    sources: list[Any] = []
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,w,n,y\n" + b"\n".join(csv_lines(fine)) + b"\n")
    sources.append(FileSource(path, label="y", weight="w"))
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\n".join(json_lines(fine)) + b"\n")
    sources.append(FileSource(path, label="y", weight="w"))
    database = sqlite3.connect(tmp_path / "data.db")
    database.execute("CREATE TABLE t (a, w, n, y)")
    database.executemany("INSERT INTO t VALUES (:a, :w, :n, :y)", fine)
    database.commit()
    database.close()
    sources.append(SqliteSource(tmp_path / "data.db", label="y", weight="w"))
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(fine), tmp_path / "data.parquet")
    sources.append(FileSource(tmp_path / "data.parquet", label="y", weight="w"))
    for source in sources:
        with closing(source):
            batch = source.poll(1_000, 1.0)
        assert batch.weights.tolist() == count
        assert batch.names == ("a", "n")
        assert np.array_equal(batch.values[:, 0], [row["a"] for row in fine])


def test_bad_weights_of_a_parquet_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {"a": [1.0, 2.0, 3.0], "w": [2.0, -1.0, None], "y": [0, 1, 0]}
    pq.write_table(pa.table(table), tmp_path / "data.parquet")
    with closing(FileSource(tmp_path / "data.parquet", label="y", weight="w")) as source:
        batch = source.poll(10, 1.0)
    assert batch is not None
    assert batch.weights is not None
    assert batch.weights.tolist() == [2.0, 1.0, 1.0]
    assert [one.reason for one in batch.bad_fields] == ["weight is negative"]
