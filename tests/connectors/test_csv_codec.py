"""CSV: the compiled way and the careful one agree, and a stray quote swallows nothing."""

from __future__ import annotations

import csv
import io
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.csv_codec import CsvCodec, Quotes
from stream_llsvm.connectors.flat.spans import Spans
from tests.connectors.support import decoded, everything, records

NAMES = ["a", "b", "y"]


FIELDS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        [
            *[
                "",
                " ",
                "nan",
                "NaN",
                "inf",
                "-Infinity",
                "1e999",
                "1_0",
                "true",
                "False",
                "NA",
                "null",
            ],
            *[
                "0x10",
                "1.",
                ".5",
                "+1",
                "1e5",
                "1E+05",
                "1d5",
                "nan(1)",
                "\u0663",
                "1\0",
                "\u00a01",
            ],
            *["1,2", '"1"', '"', 'a"b', '"a,b"', "\r", "1\r", "up", " up", "-0", "1f", "1e", "--1"],
        ]
    ),
    st.text(alphabet='0123456789.eE+-_, "\r\tx', max_size=6),
)
ROWS = st.one_of(
    st.lists(st.floats().map(repr), min_size=2, max_size=2).map(lambda r: ",".join([*r, "up"])),
    st.lists(FIELDS, min_size=3, max_size=3).map(",".join),
    st.text(max_size=9).map(lambda text: text.replace("\n", " ")),
)


OPTIONS = st.sampled_from(
    [{}, {"decimal": ","}, {"missing": ["-0", "up", "1_0"]}, {"on_bad_field": "reject"}]
)


@given(rows=st.lists(ROWS, max_size=6), ending=st.sampled_from(["", "\r"]), options=OPTIONS)
def test_the_compiled_way_is_the_careful_one(
    rows: list[str], ending: str, options: dict[str, Any]
) -> None:
    raws = [(row + ending).encode() for row in rows] * 32  # so many that it is worth while
    codec = CsvCodec(NAMES, label="y", key="b" if rows and len(rows[0]) % 2 else None, **options)
    once = decoded(codec, *raws)
    codec.quick = lambda raws: None  # type: ignore[method-assign]
    assert everything(decoded(codec, *raws)) == everything(once)


@given(bits=st.lists(st.integers(0, 2**64 - 1), min_size=40, max_size=40))
def test_every_float_is_read_to_the_bit(bits: list[int]) -> None:
    numbers = [struct.unpack("d", struct.pack("Q", b))[0] for b in bits]
    numbers = [v for v in numbers if abs(v) < float("inf")]
    raws = [f"{v!r},{v:.12g},up".encode() for v in numbers]
    got = records(decoded(CsvCodec(NAMES, label="y"), *raws))
    assert got == [{"a": v, "b": float(f"{v:.12g}")} for v in numbers]


def test_many_rows_with_a_few_bad_ones() -> None:
    raws = [f"{i},{i / 7},{i % 3}".encode() for i in range(3000)]
    bad = {5: b"x,1,2", 1000: b"1,2", 1001: b"1,2,3,4", 2999: b'"1,2,3'}
    for i, raw in bad.items():
        raws[i] = raw
    codec = CsvCodec(NAMES, label="y", on_bad_field="reject", fields={"a": "number"})
    batch = decoded(codec, *raws)
    assert [r.place.number - 1 for r in batch.rejected] == sorted(bad)
    assert [r.reason for r in batch.rejected] == [
        "not a number",
        "wrong number of fields",
        "wrong number of fields",
        "invalid CSV",
    ]
    assert batch.values is not None and len(batch) == 2996
    assert batch.values[:, 0].tolist() == [float(i) for i in range(3000) if i not in bad]
    assert batch.labels == [i % 3 for i in range(3000) if i not in bad]


def test_two_wrong_widths_do_not_make_a_right_one() -> None:
    batch = decoded(CsvCodec(NAMES), b"1,2", b"3,4,5,6")
    assert [r.reason for r in batch.rejected] == ["wrong number of fields"] * 2


def test_missing_values_and_booleans() -> None:
    batch = decoded(CsvCodec(NAMES, label="y"), b"1,,up", b"nan,TRUE,", b",false,7\r")
    assert records(batch) == [{"a": 1.0, "b": None}, {"a": None, "b": 1.0}, {"a": None, "b": 0.0}]
    assert batch.labels == ["up", None, 7]


def test_decimal_commas() -> None:
    codec = CsvCodec(NAMES, ";", decimal=",")
    batch = decoded(codec, *[b"1,29;-0,5e3;7"] * 40, b"1.29;2;3", b"1.000,5;2;3")
    assert records(batch)[0] == {"a": 1.29, "b": -500.0, "y": 7.0}
    assert [one.detail for one in batch.bad_fields] == ["'a': '1.29'", "'a': '1.000,5'"]
    quoted = decoded(CsvCodec(["a", "b"], decimal=","), *[b'"1,5",2'] * 40)
    assert records(quoted) == [{"a": 1.5, "b": 2.0}] * 40


def test_words_are_read_at_once() -> None:
    """Neither what stands for missing nor a boolean is left to the slow way."""
    codec = CsvCodec(NAMES, label="y", missing=["NA", "?", "-1"])
    quick = codec.quick(Spans.of([b" na ,TRUE,up", b"?,-1.0,up", b"1-,false,up", b"nan,-,up"]))
    assert quick is not None
    assert quick.odd.tolist() == [0, 0, 0, 1]  # nobody said that nan stands for missing
    np.testing.assert_array_equal(quick.columns.values[:2], [[np.nan, 1], [np.nan, np.nan]])


def test_columns_that_are_no_features() -> None:
    codec = CsvCodec(["k", "a", "note", "y"], label="y", key="k", ignore=["note"])
    batch = decoded(codec, b"7,1,x y z,up", b'8,2,"x, y",down')
    assert (batch.names, batch.keys, batch.labels) == (("a",), [7, 8], ["up", "down"])


def test_text_passes_if_it_may() -> None:
    codec = CsvCodec(["a", "b", "c", "d", "e"], numeric=False)
    batch = decoded(codec, b"1,2.5, red ,,true")
    assert batch.records == [{"a": 1, "b": 2.5, "c": "red", "d": None, "e": True}]


@pytest.mark.parametrize("names", [["a", "a"], ["", ""]])
def test_names_must_differ(names: list[str]) -> None:
    with pytest.raises(ValueError, match="names must differ"):
        CsvCodec(names)


@pytest.mark.parametrize("delimiter", ["\t", "\\t", "tab", "TAB"])
def test_a_tab_by_its_names(delimiter: str) -> None:
    assert records(decoded(CsvCodec(["a", "b"], delimiter), b"1\t2")) == [{"a": 1, "b": 2}]


def test_only_these_columns() -> None:
    batch = decoded(CsvCodec(["t", "a", "y"], label="y", features=["a"]), *[b"x,1,2"] * 40)
    assert batch.names == ("a",) and batch.labels == [2] * 40
    with pytest.raises(ValueError, match="no column 'z'"):
        CsvCodec(NAMES, features=["a", "z"])


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "é"])
def test_a_delimiter_is_one_character(delimiter: str) -> None:
    with pytest.raises(ValueError, match="one ASCII character"):
        CsvCodec(["a"], delimiter)


def parted(data: bytes, width: int | None = None, limit: int = 10**6) -> list[bytes]:
    lines = data.removesuffix(b"\n").split(b"\n")
    quotes = Quotes(",", width)
    found, i = [], 0
    while i < len(lines):
        n = quotes.lines(lines, i, True, limit)
        found.append(b"\n".join(lines[i : i + n]))
        i += n
    return found


CELLS = st.text(alphabet='ab",\n ', max_size=5)


@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5))
def test_quoted_fields_over_several_lines(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    found = parted(text.getvalue().encode(), 2)
    assert len(found) == len(rows)
    batch = decoded(CsvCodec(["p", "q"], numeric=False), *found)
    expected: list[dict[str, Any]] = [
        {"p": r[0].strip() or None, "q": r[1].strip() or None} for r in rows
    ]
    assert batch.records == expected


@pytest.mark.parametrize(
    ("data", "width", "records"),
    [
        (b'1,"a\n2,b\n3,c\n', 2, [b'1,"a', b"2,b", b"3,c"]),  # never closed
        (b'1,"a\n2,"b\n3,c\n', 2, [b'1,"a', b'2,"b', b"3,c"]),  # closed by the next, wrongly
        (b'1,"a\n2,3\n",c\n', 2, [b'1,"a', b"2,3", b'",c']),  # closed, but three fields
        (b'1,"a\n2,3\n",c\n', 3, [b'1,"a\n2,3\n",c']),
        (b'1,5" pipe\n2,b\n', 2, [b'1,5" pipe', b"2,b"]),
        (b'1, "a\r\nb"\r\n2,b\r\n', 2, [b'1, "a\r\nb"\r', b"2,b\r"]),
        (b'1,"a\n\n"\n', 2, [b'1,"a\n\n"']),
        (b'1,"a\n"","\nb"\n', 2, [b'1,"a\n"","', b'b"']),
    ],
)
def test_stray_quotes(data: bytes, width: int, records: list[bytes]) -> None:
    assert parted(data, width) == records


def test_a_record_has_at_most_a_hundred_lines() -> None:
    assert len(parted(b'1,"' + b"\n" * 99 + b'"\n', 2)) == 1
    assert len(parted(b'1,"' + b"\n" * 100 + b'"\n', 2)) == 101
    assert len(parted(b'1,"' + b"x" * 50 + b"\n" + b"x" * 50 + b'"\n', 2, 90)) == 2


def test_the_work_for_a_header_grows_with_its_columns_and_no_faster() -> None:
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    n = 2_000
    CsvCodec([Name(f"c{i}") for i in range(n)], label="c7", key="c9", ignore=["c8"])
    assert compared < 10 * n
