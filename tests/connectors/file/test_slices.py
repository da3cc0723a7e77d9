"""Slices of files are exactly what polling gives, wherever records begin and end."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_llsvm.connectors import FileSource
from stream_llsvm.connectors.base import Batch, Position, Sliced, SourceError
from stream_llsvm.connectors.description import opened

Shown = list[tuple[str, Any, dict[str, Any]]]


def shown(batches: Sequence[Batch]) -> Shown:
    """Return every record with its place, in order."""
    return [
        (str(batch.places[i]), batch.labels[i], batch.record(i))
        for batch in batches
        for i in range(len(batch))
    ]


def rejected(batches: Sequence[Batch]) -> list[str]:
    return [str(one) for batch in batches for one in batch.rejected]


def polled(source: FileSource) -> list[Batch]:
    found = []
    while not source.ended:
        batch = source.poll(97, 0.0)
        if batch is not None:
            found.append(batch)
    return found


def check(paths: Any, size: int, count: int = 10**9, **options: Any) -> list[Position]:
    """Check that the slices are what polling gives; return the borders."""
    source = FileSource(paths, **({"label": "y"} | options))
    assert isinstance(source, Sliced) and not source.endless
    whole = polled(source)
    ends = source.ends()
    borders = source.cut(source.start(), ends, size, count)
    while (more := source.cut(borders[-1], ends, size, count)) != [borders[-1]]:
        borders += more[1:]
    other = opened(source.description)
    assert isinstance(other, Sliced)
    slices = [list(other.between(*each)) for each in pairwise(borders)]
    assert shown([b for slice in slices for b in slice]) == shown(whole)
    assert rejected([b for slice in slices for b in slice]) == rejected(whole)
    for slice, end in zip(slices, borders[1:], strict=True):
        assert slice and slice[-1].position == end
    for slice in slices[:-1]:
        assert sum(len(batch) + len(batch.rejected) for batch in slice) <= size
    some = borders[len(borders) // 2]
    source.seek(some)  # a border is a position as any other
    again = [b for each in slices[len(borders) // 2 :] for b in each]
    assert shown(polled(source)) == shown(again)
    assert source.backlog(borders[-1], ends) == 0
    source.close()
    other.close()
    return borders


def csv_of(count: int, header: bool = True) -> str:
    lines = ["a,b,y"] if header else []
    for number in range(count):
        note = '"one, ""two""\nand three"' if number % 7 == 3 else f"w{number}"
        lines.append(f"{number},{note},{number % 3}")
    return "\n".join(lines) + "\n"


def test_csv_whose_quotes_hold_ends_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_of(500))
    borders = check(tmp_path / "a.csv", 30)
    assert len(borders) == 18
    assert check(tmp_path / "a.csv", 30, count=4) == borders


@pytest.mark.parametrize("end", ["\n", ""])
def test_csv_without_quotes_or_header(tmp_path: Path, end: str) -> None:
    rows = [f"{number},{number % 5}" for number in range(3_000)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + end)
    assert len(check(tmp_path / "a.csv", 1_000, names=["x", "y"])) == 4
    (tmp_path / "a.csv").write_text("\ufeffx,y\r\n" + "\r\n".join(rows) + end)
    assert len(check(tmp_path / "a.csv", 700)) == 6


def test_several_files_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_of(120))
    (tmp_path / "b.csv").write_text("b,a,y\n")  # no record at all
    lines = [json.dumps({"a": n, "y": n % 3}) for n in range(100)]
    (tmp_path / "c.jsonl").write_text("\n".join([*lines[:50], "{", *lines[50:]]))
    names = [tmp_path / name for name in ("a.csv", "b.csv", "c.jsonl")]
    borders = check(names, 50)
    assert [one["file"] for one in borders] == [0, 0, 0, 2, 2, 2]
    assert len(check(names, 10**6)) == 2


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="comes with the extra 'test'")
    import pyarrow.parquet as pq

    table = pa.table({"a": list(range(1_000)), "y": [n % 3 for n in range(1_000)]})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, tmp_path / name, row_group_size=170)
    borders = check([tmp_path / "a.parquet", tmp_path / "b.parquet"], 300)
    assert [one.get("record") for one in borders[1:4]] == [300, 600, 900]


def test_nothing_is_there(tmp_path: Path) -> None:
    for text in ("", "a,y\n"):
        (tmp_path / "a.csv").write_text(text)
        source = FileSource(tmp_path / "a.csv", label="y")
        assert source.cut(source.start(), source.ends(), 10, 10) == [source.start()]
        assert list(source.between(source.start(), source.start())) == []


def test_about_how_many_are_left(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_of(10_000))
    source = FileSource([tmp_path / "a.csv", tmp_path / "a.csv"], label="y")
    ends = source.ends()
    assert source.backlog(source.start(), ends) == pytest.approx(20_000, rel=0.4)
    (border,) = source.cut(source.start(), ends, 15_000, 1)[1:]
    assert source.backlog(border, ends) == pytest.approx(5_000, rel=0.4)


def test_a_file_that_has_changed_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_of(100))
    source = FileSource(tmp_path / "a.csv", label="y")
    borders = source.cut(source.start(), source.ends(), 30, 10)
    (tmp_path / "a.csv").write_text(csv_of(200).replace("w", "ww"))
    with pytest.raises(SourceError, match="not the file that it was"):
        list(source.between(*borders[1:3]))


def test_what_cannot_be_read_from_its_middle(tmp_path: Path) -> None:
    zipped = tmp_path / "a.csv.gz"
    zipped.write_bytes(gzip.compress(csv_of(10).encode()))
    (tmp_path / "b.csv").write_bytes(csv_of(10).encode("utf-16"))
    (tmp_path / "c.csv").write_text(csv_of(10))
    for source, said in (
        (FileSource(zipped, label="y"), "gunzip --keep"),
        (FileSource(tmp_path / "b.csv", label="y", encoding="utf-16"), "iconv --from-code utf-16"),
        (FileSource(tmp_path / "c.csv", label="y", follow=True), "leave out --follow"),
        (FileSource("-", format="csv", label="y"), "standard input is read once"),
    ):
        with pytest.raises(SourceError, match=said):
            source.ends()


CELLS = st.sampled_from(
    ["1", "", "x", '"', '"q"', '"a,b"', '"two\nlines"', '"open', "\r", "é", '""']
)


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=0, max_size=4), max_size=40),
    size=st.integers(1, 12),
    count=st.integers(1, 5),
    limit=st.sampled_from([9, 10_000_000]),
)
def test_any_csv(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    size: int,
    count: int,
    limit: int,
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.csv"
    path.write_bytes(("a,b,y\n" + "\n".join(",".join(row) for row in rows)).encode())
    source = FileSource(path, label="y", max_record_bytes=limit)
    whole = polled(source)
    ends, borders = source.ends(), [source.start()]
    while (more := source.cut(borders[-1], ends, size, count)) != [borders[-1]]:
        borders += more[1:]
    found = [batch for each in pairwise(borders) for batch in source.between(*each)]
    assert shown(found) == shown(whole) and rejected(found) == rejected(whole)
