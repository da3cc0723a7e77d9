"""The compiled loops over JSON and CSV read what one record at a time would, or leave it alone."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Quick
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.values import KINDS, Bad
from stream_llsvm.records.boxes import boxed_name, name_code
from tests.connectors.support import decoded, everything

# Numbers as people and programs write them, good and bad; and what else may stand in their place.
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.4f}"),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(r"[-+]?[0-9]{0,25}\.?[0-9]{0,25}([eE][-+]?[0-9]{1,4})?", fullmatch=True),
)
TIMES = st.one_of(
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat()),
    st.dates().map(str),
    st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]([Tt ]?[0-2]?[0-9]:[0-6][0-9](:[0-6][0-9]?)?([.,][0-9]*)?"
        r" ?(Z|z|UTC|[+-][0-9]{2}:?[0-9]{0,2})?)?",
        fullmatch=True,
    ),
)
NAMES = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="ab1 -.,e+_\t\u00e4\u0663\u00a0\u212a\u6771\u3000", max_size=8),
    st.sampled_from(["New York", "a b c", "a a a", "inf", "-Infinity", "NAN", "u1242", "10.0.0.1"]),
    st.sampled_from(
        ["1.29", "1.000,5", "1_0", "1e", "N\u212a", "n/\uff21", "e", "TRUE", "007", "x" * 900]
    ),
)
OTHERS = (
    (NAMES | TIMES).map(lambda text: f'"{text}"')
    | NAMES
    | TIMES
    | st.sampled_from(
        [
            "null",
            "true",
            "false",
            "nul",
            "NaN",
            '"NA"',
            '" ? "',
            '"-"',
            '"1.5"',
            '"1,5 "',
            '"True"',
            "-7",
            '"-7.0"',
            '"x"',
            '"\\u00e4"',
            "[1]",
            "{}",
            "",
            " ",
            "1 2",
            "_",
        ]
    )
)


def bits(value: Any) -> bytes:
    """Return the 64 bits that a row has for a value that a record has."""
    return struct.pack("d", boxed_name(value) if isinstance(value, str) else value)


def agrees(codec: Codec, raws: list[bytes]) -> Quick | None:
    """Check that what was read at once is what is read one by one."""
    quick = codec.quick(Spans.of(raws))
    if quick is None:
        return None
    names, values, labels, keys = quick.columns
    assert len(values) == len(labels) == len(keys) == len(quick.odd) == len(raws)
    for i in np.flatnonzero(quick.odd == 0).tolist():
        record = codec.one(raws[i])  # which would raise if it were bad
        assert record is not None and not record.unread
        assert tuple(record.x) == names
        assert [bits(v) for v in record.x.values()] == [bits(v) for v in values[i].tolist()]
        for value in record.x.values():
            if isinstance(value, str):
                assert codec.dictionary.texts[name_code(value)] == value
        assert (type(labels[i]), labels[i]) == (type(record.label), record.label)
        assert (type(keys[i]), keys[i]) == (type(record.key), record.key)
    return quick


def as_json(fields: list[tuple[str, str]], blank: str) -> bytes:
    inside = f"{blank},".join(f'"{name}"{blank}:{blank}{text}' for name, text in fields)
    return f"{blank}{{{blank}{inside}{blank}}}{blank}".encode(errors="replace")


@given(
    st.lists(
        st.tuples(
            st.permutations(["a", "b", "y", "k", "no"]) | st.just(["a", "y", "b", "k", "no"]),
            st.lists(NUMBERS | OTHERS, min_size=5, max_size=5),
            st.sampled_from(["", " ", "\t\r\n "]),
            st.integers(0, 5),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_json_is_what_orjson_reads(rows: list[tuple[list[str], list[str], str, int]]) -> None:
    raws = [
        as_json(list(zip(names, texts, strict=True))[: left or 5], blank)
        for names, texts, blank, left in rows
    ]
    agrees(JsonCodec(label="y", key="k", ignore=["no"]), raws)
    agrees(JsonCodec(label="y", features=["b"], missing=["nul", "-7"], decimal=","), raws)
    for kind in KINDS:
        agrees(JsonCodec(label="y", fields={"a": kind, "b": kind}), raws)
        agrees(JsonCodec(fields={"a": kind, "y": kind}, missing=["x", "-7", "\u00e4"]), raws)


@given(st.lists(st.lists(NUMBERS | OTHERS, min_size=2, max_size=4), min_size=1, max_size=8))
def test_json_arrays_are_what_orjson_reads(rows: list[list[str]]) -> None:
    raws = [f"[{','.join(row)}]".encode(errors="replace") for row in rows]
    agrees(JsonCodec(["a", "y", "b"], label="y"), raws)


@given(
    rows=st.lists(st.lists(NUMBERS | OTHERS, min_size=4, max_size=5), min_size=1, max_size=8),
    end=st.sampled_from(["", "\r", " "]),
)
@example(rows=[["1", "2", "3", "x" * 140_000]], end="")
def test_csv_is_what_python_reads(rows: list[list[str]], end: str) -> None:
    raws = [(",".join(row) + end).encode(errors="replace").replace(b"\n", b"") for row in rows]
    agrees(CsvCodec(["a", "y", "b", "k"], label="y", key="k"), raws)
    agrees(CsvCodec(["a", "b", "c", "y"], label="y", ignore=["c"]), raws)
    agrees(CsvCodec(["a", "b", "c", "y"], label="y", missing=["nul", "-7", "\u00e4"]), raws)
    for kind in KINDS:
        agrees(CsvCodec(["a", "b", "c", "y"], label="y", fields={"a": kind, "b": kind}), raws)
    semicolons = [raw.replace(b",", b";") for raw in raws]
    agrees(CsvCodec(["a", "b", "c", "y"], ";", features=["a", "b"], decimal=","), semicolons)


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=8))
def test_bytes_of_any_kind(raws: list[bytes]) -> None:
    agrees(JsonCodec(label="y"), [b'{"a":1,"y":0}', *raws])
    agrees(CsvCodec(["a", "y"], label="y"), raws)


@given(
    raws=st.lists(
        st.tuples(st.integers(0, 40), st.binary(min_size=1, max_size=2)), min_size=1, max_size=20
    )
)
def test_damaged_records(raws: list[tuple[int, bytes]]) -> None:
    """Records of which a byte or two are others."""
    good = b'{"a": 1.25, "y": "up", "b": -3e2, "no": "x"}'
    line = b"1.25,up,-3e2,some text,and more of it"
    damaged, lines = [good], [line]
    for at, byte in raws:
        damaged.append(good[:at] + byte + good[at + 1 :])
        lines.append((line[:at] + byte + line[at + 1 :]).replace(b"\n", b""))
    agrees(JsonCodec(label="y", ignore=["no"]), damaged)
    agrees(CsvCodec(["a", "y", "b", "t", "u"], label="y", ignore=["t", "u"]), lines)


# Just between two floats, at the ends of their range, with all digits that 64 bits hold.
HARD = [
    "9007199254740993", "9007199254740992.5", "1.7976931348623157e308", "1.7976931348623159e308",
    "2.2250738585072014e-308", "4.9e-324", "8.41e21", "9.999999999999999999e22", "5e-324",
    "18446744073709551615", "0.000000000000000000000000000000123456789012345678", "1e23", "-0.0",
    "-0", "-0e5", "0e999", "1e-999", "123456789012345678901", "6.02214076e23", "1e22", "1e-22",
]  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_hard_numbers(text: str) -> None:
    agrees(JsonCodec(), [b'{"a":1}', f'{{"a":{text}}}'.encode()])
    agrees(CsvCodec(["a", "b"]), [b"1,1", f"{text},1".encode()])


def test_numbers_of_all_sizes_are_read_at_once() -> None:
    """Random bits, as Python writes them: hardly any is left to the slow way."""
    rng = np.random.default_rng(0)
    random = rng.integers(0, 2**64, 40_000, dtype=np.uint64).view(np.float64)
    values = random[np.isfinite(random) & (np.abs(random) > 1e-300)].tolist()
    raws = [b'{"a":%b}' % repr(value).encode() for value in values]
    quick = agrees(JsonCodec(), raws)
    assert quick is not None and np.count_nonzero(quick.odd) < len(raws) / 500


def test_plain_records_are_read_at_once() -> None:
    documents: list[dict[str, Any]] = [
        {"a": i / 7, "y": ["up", "dähn"][i % 2], "b": [None, True, -i][i % 3], "k": f"k{i}"}
        for i in range(50)
    ]
    raws = [json.dumps(document, ensure_ascii=False).encode() for document in documents]
    quick = agrees(JsonCodec(label="y", key="k"), raws)
    assert quick is not None and not quick.odd.any()
    assert quick.columns.keys == [document["k"] for document in documents]
    unlabelled = [raw.replace(b'"y": "up", ', b"") for raw in raws]
    quick = agrees(JsonCodec(label="y", key="k"), [raws[0], *unlabelled])
    assert quick is not None and not quick.odd.any()
    assert quick.columns.labels[1::2] == [None] * 25


@pytest.mark.parametrize("codec", [JsonCodec(label="y"), CsvCodec(["a", "b", "y"], label="y")])
def test_odd_records_among_many(codec: Codec) -> None:
    csv = isinstance(codec, CsvCodec)
    plain = [b"%d,,z" % i if csv else b'{"a":%d,"b":null,"y":"z"}' % i for i in range(100)]
    for odd in [b"", b"no", b'"1",2,x', b'{"b":1,"a":2}', b'{"c":1}', b"inf,1,2", b'{"a":1e999}']:
        raws = [odd, *plain[:50], odd, odd, *plain[50:], odd]
        once = decoded(codec, *raws)
        assert len(once) >= 100
        slow = CsvCodec(["a", "b", "y"], label="y") if csv else JsonCodec(label="y")
        slow.quick = lambda raws: None  # type: ignore[method-assign]
        if isinstance(slow, JsonCodec):
            slow.fast = lambda raws: None  # type: ignore[method-assign]
        assert everything(decoded(slow, *raws)) == everything(once)


def test_records_that_change_their_shape() -> None:
    codec = JsonCodec(label="y")
    for names in (["a", "b", "y"], ["b", "a"], ["x", "y"], ["y", "x"]):
        raws = [json.dumps(dict.fromkeys(names, i)).encode() for i in range(40)]
        quick = agrees(codec, raws)
        assert quick is not None and not quick.odd.any()


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb", "ä", "", "\ud800"])
def test_names_of_all_kinds(name: str) -> None:
    document = json.dumps({name: 1.5, "c": 2}, ensure_ascii=False).encode(errors="surrogatepass")
    codec = JsonCodec()
    agrees(codec, [document] * 2)
    raws = [document] * 40
    try:
        expected = codec.one(document)
    except Bad:
        expected = None
    assert len(decoded(codec, *raws)) == (40 if expected else 0)
