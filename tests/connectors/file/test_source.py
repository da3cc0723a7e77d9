"""Files as a source: every format and compression, exact positions, one-line errors."""

from __future__ import annotations

import datetime
import gc
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.base import SourceError
from stream_llsvm.connectors.file.lines import LineReader
from stream_llsvm.connectors.file.source import FileSource, format_of
from stream_llsvm.extras import install_command
from stream_llsvm.records.boxes import unboxed
from tests.connectors.support import drained, everything, records, values_of

N = 23


def csv_text() -> str:
    rows = [f'{i},{i / 3!r},"note ""{i}""\nmore",{"up" if i % 2 else "down"}' for i in range(N)]
    rows[4] = "inf,1,poison,up"
    rows[9] = "1,2"
    rows[15] = '1,2,"never closed,up'
    return "a,b,note,y\n" + "\n".join(rows) + "\n"


def jsonl_text() -> str:
    rows = [json.dumps({"a": i, "b": i / 3, "y": i % 2}) for i in range(N)]
    rows[3] = ""
    rows[4] = '{"a": "inf"}'
    rows[9] = "{"
    rows[15] = json.dumps({"a": 15, "other": 1})
    return "\r\n".join(rows)  # the last line has no end


def svmlight_text() -> str:
    rows = [f"{i % 3} 1:{i} 2:0.5" for i in range(N)]
    rows[3] = "# only a comment"
    rows[9] = "1 2"
    return "\n".join(rows) + "\n"


TEXTS: dict[str, Callable[[], str]] = {
    "csv": csv_text,
    "jsonl": jsonl_text,
    "svmlight": svmlight_text,
}


def gzipped(data: bytes) -> bytes:
    """Compress it as several parts, with the zeros that tapes leave at the end."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:]) + b"\0" * 700


def zstandardized(data: bytes) -> bytes:
    half = len(data) // 2
    make = zstandard.ZstdCompressor().compress
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    return make(data[:half]) + skipped + make(data[half:])


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzipped,
    ".zst": zstandardized,
}


def parquet_file(path: Path) -> Path:
    table = pa.table(
        {
            "a": pa.array([None if i == 3 else i for i in range(N)], pa.int32()),
            "b": [float("inf") if i == 9 else i / 3 for i in range(N)],
            "c": pa.array([i % 2 == 0 for i in range(N)]),
            "note": ["text"] * N,
            "y": pa.array(["up" if i % 2 else "down" for i in range(N)]).dictionary_encode(),
        }
    )
    pq.write_table(table, path, row_group_size=5)
    return path


@pytest.fixture(params=[f"{f}{c}" for f in TEXTS for c in PACKED] + ["parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name: str = request.param
    path = tmp_path / f"data.{name}"
    if name == "parquet":
        return parquet_file(path)
    kind, dot, packed = name.partition(".")
    path.write_bytes(PACKED[dot + packed](TEXTS[kind]().encode()))
    return path


def source(path: Path | list[Path], **options: Any) -> FileSource:
    options = {"on_bad_field": "reject"} | options
    return FileSource(path, label="y", ignore=["note"], **options)


def flat(batches: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return records and rejected, however they were cut into batches."""
    rows = []
    for batch in batches:
        xs, labels, _, places, _, _, _ = everything(batch)
        rows += list(zip(xs, labels, places, strict=True))
    return rows, [one for batch in batches for one in batch.rejected]


def test_every_record_and_every_poison_line(path: Path) -> None:
    batches = drained(source(path))
    rows, rejected = flat(batches)
    counts = {"csv": (N - 3, 3), "jsonl": (N - 3, 2), "svmlight": (N - 2, 1), "parquet": (N - 1, 1)}
    # The quote that is never closed spoils its own line; "more" is what its record would go on by.
    assert (len(rows), len(rejected)) == counts[format_of(str(path), "auto")]
    assert all(place.source == str(path) for _, _, place in rows)


@pytest.mark.parametrize("most", [1, 4])
def test_going_on_from_every_position_gives_the_rest(path: Path, most: int) -> None:
    whole = source(path)
    batches, positions = [], [whole.position]
    while not whole.ended:
        if (batch := whole.poll(most, 0.0)) is not None:
            assert len(batch) + len(batch.rejected) <= most
            batches.append(batch)
            assert whole.position == batch.position
            positions.append(json.loads(json.dumps(batch.position)))
    for i, position in enumerate(positions):
        other = source(path)
        other.seek(position)
        assert other.position == position
        assert flat(drained(other)) == flat(batches[i:])
        # Also one that has read elsewhere already.
        whole.seek(position)
        assert flat(drained(whole, most=7)) == flat(batches[i:])


def test_several_files_in_order(tmp_path: Path) -> None:
    one, two, three = tmp_path / "1.csv", tmp_path / "2.jsonl.gz", tmp_path / "3.csv"
    one.write_text("a,y\n1,u\n2,u")
    two.write_bytes(gzip.compress(b'{"a": 3}\n'))
    three.write_text("a\n")
    four = tmp_path / "4.csv"
    four.write_text("y,a\nv,4\n")
    paths = [one, two, three, four]
    batches = drained(source(paths))
    assert values_of(batches) == [1, 2, 3, 4]
    assert source(paths).name == f"{one} and 3 more"
    for i, batch in enumerate(batches):
        rest = source(paths)
        rest.seek(batch.position)
        assert values_of(drained(rest)) == values_of(batches[i + 1 :])
    with pytest.raises(SourceError, match=r"the position is in .*1\.csv; name the same files"):
        source(list(reversed(paths))).seek(batches[0].position)
    with pytest.raises(SourceError, match="the position is in file 3"):
        source(paths[:1]).seek(batches[-1].position)


@pytest.mark.parametrize("text", ["", "\n\n", "a,b,y", "a,b,y\n", "\ufeffa,b,y\r\n\r\n"])
def test_nothing_but_a_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.csv"
    path.write_bytes(text.encode())
    empty = source(path)
    assert empty.poll(10, 0.0) is None and empty.ended
    empty.seek(empty.position)
    assert empty.poll(10, 0.0) is None and empty.ended


@pytest.mark.parametrize("key", [None, "a"])
@pytest.mark.parametrize(
    ("more", "rest"), [(b"ght,up\n", b"ght,up"), (b"\n", None), (b"\r\n", None), (b"8,do", b"8,do")]
)
def test_what_is_added_to_a_line_that_was_taken_is_no_record(
    tmp_path: Path, more: bytes, rest: bytes | None, key: str | None
) -> None:
    """Even if it looks like one: of two columns, any line with a comma in it does."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,y\n1,up\n2,u")
    first = source(path, key=key)
    batches = drained(first)
    assert [label for batch in batches for label in batch.labels] == ["up", "u"]
    with path.open("ab") as file:
        file.write(more + (b"3,down\n" if more.endswith(b"\n") else b""))
    again = source(path, key=key)
    again.seek(first.position)
    batches = drained(again)
    rejected = [one for batch in batches for one in batch.rejected]
    assert [(one.place.number, one.reason, one.raw) for one in rejected] == (
        [] if rest is None else [(3, "rest of a line", rest)]
    )
    records = [(label, place.number) for _, (_, label), place in flat(batches)[0]]
    assert records == ([("down", 4)] if more.endswith(b"\n") else [])
    third = source(path, key=key)
    third.seek(again.position)
    assert drained(third) == []


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "svmlight"])
def test_empty_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"empty.{suffix}"
    path.write_bytes(PACKED["." + suffix[6:] if "." in suffix else ""](b""))
    assert drained(source(path)) == []
    path.write_bytes(b"")
    assert drained(source(path)) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_ends_of_lines(tmp_path: Path, end: str) -> None:
    path = tmp_path / "windows.csv"
    path.write_bytes(end.join(["\ufeffa,y", "1,up", "2,down"]).encode())
    batches = drained(source(path), most=1)
    assert values_of(batches) == [1, 2] and batches[0].labels == ["up"]
    rest = source(path)
    rest.seek(batches[0].position)
    assert values_of(drained(rest)) == [2]
    lines = tmp_path / "windows.jsonl"
    lines.write_bytes(("\ufeff" + end.join(['{"a": 1}', '{"a": 2}']) + end).encode())
    batches = drained(source(lines), most=1)
    assert values_of(batches) == [1, 2] and not batches[0].rejected
    rest = source(lines)
    rest.seek(batches[0].position)
    assert values_of(drained(rest)) == [2]


def test_given_names_and_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "bare.tsv"
    path.write_text("1\tup\n2\tdown\n")
    batches = drained(source(path, names=["a", "y"]), most=1)
    assert values_of(batches) == [1, 2]
    rest = source(path, names=["a", "y"])
    rest.seek(batches[0].position)
    assert values_of(drained(rest)) == [2]
    path.write_text("1;up\n")
    assert values_of(drained(source(path, names=["a", "y"], delimiter=";"))) == [1]
    with pytest.raises(ValueError, match="names must differ"):
        source(path, names=["a", "a"])


@pytest.mark.parametrize("blocks", [1, 7, 1 << 19])
def test_long_lines_are_not_kept(
    tmp_path: Path, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.connectors.file.lines._BLOCK", blocks)
    path = tmp_path / "long.jsonl"
    long = b'{"a": "' + b"x" * 2000
    path.write_bytes(b'{"a": 1}\n' + long + b'\n{"a": 2}\n' + long)
    options: dict[str, Any] = {"max_record_bytes": 100}
    batches = drained(source(path, **options), most=1)
    rows, rejected = flat(batches)
    assert [x for x, _, _ in rows] == [[("a", 1.0)], [("a", 2.0)]]
    assert [(r.reason, r.place.number) for r in rejected] == [("too long", 2), ("too long", 4)]
    assert rejected[0].raw == long[:1000] and rejected[0].detail == "2,007 bytes; the limit is 100"
    for i, batch in enumerate(batches):
        rest = source(path, **options)
        rest.seek(batch.position)
        assert flat(drained(rest)) == flat(batches[i + 1 :])


def test_a_long_line_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(b"x" * 1_000_000)
        file.write(b'\n{"a": 1}\n')
    reading = source(path, max_record_bytes=1_000_000)
    held = []
    fill = LineReader.fill

    def watched(self: LineReader, timeout: float) -> bool | None:
        held.append(len(self._rest) + sum(map(len, self._lines)))
        return fill(self, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineReader, "fill", watched)
        batches = drained(reading)
    assert values_of(batches) == [1] and len(batches[0].rejected) == 1
    assert max(held) < 2_000_000


@given(data=st.binary(max_size=300), kind=st.sampled_from(["csv", "jsonl", "svmlight"]))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes, kind: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    path.write_bytes(data)
    reading = FileSource(path, label="a", names=["a", "b"] if kind == "csv" else None)
    rows, rejected = flat(drained(reading, most=3))
    assert len(rows) + len(rejected) <= data.count(b"\n") + 1


@given(text=st.text(alphabet='a1",\r\n', max_size=60), blocks=st.integers(1, 9))
def test_blocks_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, text: str, blocks: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    path.write_bytes(text.encode())
    options: dict[str, Any] = {"names": ["p", "q"], "max_record_bytes": 20}
    once = drained(source(path, **options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stream_llsvm.connectors.file.lines._BLOCK", blocks)
        batches = drained(source(path, **options), most=1)
        assert flat(batches) == flat(once)
    for i, batch in enumerate(batches):
        rest = source(path, **options)
        rest.seek(batch.position)
        assert flat(drained(rest)) == flat(batches[i + 1 :])


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_files_that_cannot_be_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with pytest.raises(SourceError, match=r"a\..*No such file or directory; check the path"):
        source(path).poll(1, 0.0)
    path.mkdir()
    with pytest.raises(SourceError, match="it is a directory; name the files in it"):
        source(path).poll(1, 0.0)
    path.rmdir()
    path.write_bytes(b"")
    path.chmod(0)
    if os.geteuid():  # root may read everything
        with pytest.raises(SourceError, match="Permission denied"):
            source(path).poll(1, 0.0)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("damage", [lambda b: b[:-20], lambda b: b"xx" + b, lambda b: b + b"xxxxx"])
def test_damaged_compressed_files(
    tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    make = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    path.write_bytes(damage(make(b'{"a": 1}\n' * 9)))
    with pytest.raises(SourceError, match=r"a\.jsonl.*is damaged \(.*\); compress or copy it"):
        drained(source(path))


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(SourceError, match=r"^[^\n]*not a sound Parquet file[^\n]*$"):
        source(path).poll(1, 0.0)


def test_parquet_columns_of_all_kinds(tmp_path: Path) -> None:
    """Names, times and numbers are read at once; objects, lists and texts record by record."""
    moment = datetime.datetime(2026, 11, 19, 12, 30, 5, 999_999)
    table = pa.table(
        {
            "city": pa.array(["Oslo", None, "7", "?"]),
            "mark": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "when": pa.array([moment, None, moment, moment], pa.timestamp("us")),
            "cost": pa.array([Decimal("1.25"), None, Decimal(3), Decimal(4)]),
            "tags": [["a", "b"], [], None, ["c"]],
            "inside": [{"a": 1, "b": {"c": "x"}}, None, {"a": 2, "b": None}, {"a": 3, "b": None}],
            "said": ["call me now", "so", None, "to be or not to be"],
            "y": [0, 1, 0, 1],
        }
    )
    pq.write_table(table, path := tmp_path / "b.parquet")
    plain = FileSource(path, label="y", features=["city", "mark", "when"]).poll(9, 0.0)
    assert plain is not None and plain.names == ("city", "mark", "when")
    when = "0001-01-04T12:30:05"  # a Thursday
    assert [plain.record(i) for i in range(4)] == [
        {"city": "Oslo", "mark": "a", "when": when},
        {"mark": "b"},
        {"city": 7.0, "when": when},
        {"mark": "a", "when": when},
    ]
    whole = FileSource(path, label="y").poll(9, 0.0)
    assert whole is not None and not whole.bad_fields and whole.labels == [0, 1, 0, 1]
    words = ("call", "me", "now")
    assert records(whole)[0] == {
        "city": "Oslo", "mark": "a", "when": when, "cost": 1.25, "tags": ("a", "b"),
        "inside.a": 1.0, "inside.b.c": "x", "said": words,
    }  # fmt: skip
    assert records(whole)[3]["tags"] == "c"
    inside = FileSource(path, label="y", features=["inside.a", "said"]).poll(9, 0.0)
    assert inside is not None
    assert records(inside)[0] == {"inside.a": 1.0, "said": words}


def test_parquet_as_it_is(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "a.parquet")
    batches = drained(FileSource(path, label="y", numeric=False))
    assert batches[0].records is not None
    assert batches[0].records[3] == {"a": None, "b": 1.0, "c": False, "note": "text"}


def test_parquet_is_a_matrix(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "a.parquet")
    batch = source(path).poll(4, 0.0)
    assert batch is not None and batch.names == ("a", "b", "c") and batch.values is not None
    np.testing.assert_array_equal(batch.values[3], [np.nan, 1.0, 0.0])
    assert batch.labels == ["down", "up", "down", "up"]


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [("zstandard", "jsonl.zst", "zstd"), ("pyarrow.parquet", "parquet", "parquet")],
)
def test_missing_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, suffix: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"")
    with pytest.raises(SourceError, match=re.escape(install_command(extra))):
        source(path).poll(1, 0.0)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet"])
def test_a_file_that_is_not_the_one_it_was(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"

    def write(n: int, by: int) -> None:
        if suffix == "parquet":
            pq.write_table(pa.table({"a": [i * by for i in range(n)]}), path)
        else:
            text = "a\n" + "".join(f"{i * by}\n" for i in range(n))
            path.write_bytes(PACKED[suffix[3:]](text.encode()))

    write(50, 1)
    reading = source(path)
    batch = reading.poll(30, 0.0)
    assert batch is not None
    write(5, 1)
    with pytest.raises(SourceError, match=r"^.*(shorter than|not the file that) it was.*restore.*"):
        source(path).seek(batch.position)
    write(90, 3)
    with pytest.raises(SourceError, match=r"not the file that it was.*restore the file, or start"):
        source(path).seek(batch.position)
    write(50, 1)  # a copy is as good
    rest = source(path)
    rest.seek(batch.position)
    assert values_of(drained(rest)) == list(range(30, 50))


@pytest.mark.parametrize(
    "position",
    [
        {},
        {"file": "x"},
        {"file": 0},
        {"file": 0, "path": "PATH", "offset": 3},
        {"file": 0, "path": "PATH", "offset": "x", "line": 1, "inode": 1, "tail": 1},
        {"file": 0, "path": "PATH", "offset": -9, "line": 1, "inode": 1, "tail": 1},
    ],
)
def test_what_is_no_position(tmp_path: Path, position: dict[str, Any]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    reading = source(path)
    reading.poll(1, 0.0)
    if "path" in position:
        position = {**position, "path": str(path)}
    with pytest.raises(SourceError):
        reading.seek(position)
    assert values_of(drained(reading)) == [2]  # as if nothing had been asked


@pytest.mark.parametrize("text", ['a,"b\n1,2\n', "a,a\n"])
def test_a_bad_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SourceError, match=r"its first line is no header \([^\n]*; correct it"):
        source(path).poll(1, 0.0)


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one file"):
        FileSource([])
    for bad in ("a.txt", "-", "a.gz"):
        with pytest.raises(ValueError, match="does not tell its format"):
            FileSource(bad)
    with pytest.raises(ValueError, match="unknown format 'xml'"):
        FileSource("a.csv", "xml")
    for bad in ("a.csv.gz", "a.parquet"):
        with pytest.raises(ValueError, match="only a plain file of lines can be followed"):
            FileSource(bad, follow=True)
    reading = FileSource(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="max_records"):
        reading.poll(0, 0.0)
    reading.close()
    with pytest.raises(SourceError, match="closed"):
        reading.poll(1, 0.0)


@pytest.mark.parametrize("name", ["a.CSV", "log.csv.1", "a.tsv.gz"])
def test_format_by_name(name: str) -> None:
    assert format_of(name, "auto") == "csv"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        reading = source([Path("-")], format="jsonl")
        assert reading.poll(5, 0.0) is None and not reading.ended
        os.write(writer, b'{"a": 1}\n{"a":')
        batch = reading.poll(5, 10.0)
        assert batch is not None and values_of([batch]) == [1]
        assert reading.poll(5, 0.0) is None
        os.write(writer, b" 2}")
        os.close(writer)
        assert values_of(drained(reading, patience=10.0)) == [2]
        with pytest.raises(SourceError, match="standard input cannot be read again"):
            source([Path("-")], format="jsonl").seek(batch.position)


def test_optional_packages_are_imported_late() -> None:
    code = (
        "import sys, stream_llsvm.connectors.file.source, stream_llsvm.connectors.file.sink\n"
        "assert not {'pyarrow', 'zstandard', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_a_bad_field_is_missing_in_every_format(path: Path) -> None:
    """The poison of one field costs its record only where the user wants that."""
    batches = drained(source(path, on_bad_field="missing"))
    rows, rejected = flat(batches)
    kind = format_of(str(path), "auto")
    bad = [one for batch in batches for one in batch.bad_fields]
    expected = {"csv": (2, 1), "jsonl": (2, 1), "svmlight": (1, 0), "parquet": (0, 1)}
    assert (len(rejected), len(bad)) == expected[kind]
    if kind in ("csv", "parquet"):
        taken = dict(next(x for x, _, place in rows if place == bad[0].place))
        assert taken[bad[0].field] is None and any(v is not None for v in taken.values())


SAMPLE = 'größe;y\n1,5;"äöü\n2"\nNA;é\n3;ß\n'


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-8-sig"])
def test_encodings(tmp_path: Path, encoding: str, packed: str) -> None:
    path = tmp_path / f"a.csv{packed}"
    path.write_bytes(PACKED[packed](SAMPLE.encode(encoding)))

    def made() -> FileSource:
        return FileSource(path, label="y", delimiter=";", decimal=",", encoding=encoding)

    everything_read = drained(made(), most=1)
    assert values_of(everything_read, "größe") == [1.5, None, 3.0]
    assert [label for batch in everything_read for label in batch.labels] == ["äöü\n2", "é", "ß"]
    for i, batch in enumerate(everything_read):
        again = made()
        again.seek(batch.position)
        assert values_of(drained(again), "größe") == [1.5, None, 3.0][i + 1 :]


def test_what_is_not_of_the_encoding_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,y\n1,\xe9\n2,\x81\n3,z\n")  # cp1252 has no 0x81
    (batch,) = drained(FileSource(path, label="y", encoding="cp1252"))
    assert batch.labels == ["é", "z"]
    assert [(r.place.number, r.reason) for r in batch.rejected] == [(3, "invalid UTF-8")]


@pytest.mark.parametrize(("encoding", "hint"), [("latin-1", "latin-1"), ("utf-16", "utf-16")])
def test_another_encoding_is_hinted_at(tmp_path: Path, encoding: str, hint: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(SAMPLE.encode(encoding))
    with pytest.raises(SourceError, match=rf"say so: encoding='{hint}' \(--encoding {hint}\)"):
        FileSource(path, label="y").poll(9, 0.0)


@pytest.mark.parametrize("encoding", ["klingon", "rot13"])
def test_an_encoding_that_is_none(encoding: str) -> None:
    with pytest.raises(ValueError, match=f"unknown encoding '{encoding}': utf-8, latin-1"):
        FileSource("a.csv", encoding=encoding)


def test_another_encoding_is_not_followed() -> None:
    with pytest.raises(ValueError, match="only a file in UTF-8 can be followed, not in latin-1"):
        FileSource("a.csv", follow=True, encoding="latin-1")


@pytest.mark.parametrize("text", ['[{"a": 1, "y": 2}]', '[\n  {"a": 1}\n]', ' [ {"a": 1},\n'])
def test_a_json_array_is_explained(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my data.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"one object a line is wanted: jq -c '\.\[\]' '/"):
        FileSource(path, label="y").poll(9, 0.0)


def test_a_line_in_brackets_is_no_array(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('[INFO] begun\n{"a": 1}\n')
    (batch,) = drained(FileSource(path, label="y"))
    assert len(batch) == 1 and [r.reason for r in batch.rejected] == ["invalid JSON"]


def test_only_these_features(path: Path) -> None:
    if format_of(str(path), "auto") == "svmlight":
        batches = drained(FileSource(path, features=["1"]))
        assert all(set(x) <= {"1"} for batch in batches for x in records(batch))
        return
    batches = drained(FileSource(path, label="y", features=["b"]))
    assert {name for batch in batches for x in records(batch) for name in x} == {"b"}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_feature_that_is_not_there(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    parquet_file(path) if kind == "parquet" else path.write_text(csv_text())
    with pytest.raises(SourceError, match="there is no column 'zz', which features names"):
        FileSource(path, label="y", features=["a", "zz"]).poll(9, 0.0)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists descriptors")
@pytest.mark.parametrize("end", ["csv", "csv.gz", "csv.zst"])
def test_a_source_that_nobody_closes_keeps_no_file_open(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"data.{end}"
    path.write_bytes(PACKED[end.removeprefix("csv")](csv_text().encode()))

    def opened() -> int:
        gc.collect()
        links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        return [os.readlink(one) for one in links if os.path.islink(one)].count(str(path))

    for _ in range(3):
        left = source(path, follow=end == "csv")
        assert left.poll(5, 0.0) is not None
        assert opened() == 1
        del left
    assert opened() == 0


def test_parquet_says_nothing_by_the_bits_of_a_nan(tmp_path: Path) -> None:
    name = np.array([0x7FF9000000000007, 0x3FF0000000000000]).view(np.float64)
    for more in ({}, {"c": ["x", "z"]}, {"t": ["some words of it", "and other words"]}):
        path = tmp_path / "data.parquet"
        pq.write_table(pa.table({"a": name, "y": [1, 0], **more}), path)
        (batch,) = drained(FileSource(path, label="y"))
        assert values_of([batch])[1] == 1.0
        first = batch.records[0]["a"] if batch.values is None and batch.records else None
        found = batch.values[0, 0] if batch.values is not None else first
        assert found is not None and unboxed(found) == (0, 0)
