"""What all formats share: what a value, a label or a key may be, and how batches are made."""

from __future__ import annotations

import json
import math
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_llsvm.connectors.base import Place
from stream_llsvm.connectors.codec import Codec, plain_from_text
from stream_llsvm.connectors.columns import Places
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.msgpack_codec import MsgpackCodec
from stream_llsvm.connectors.svmlight_codec import SvmlightCodec
from stream_llsvm.records.boxes import unboxed
from tests.connectors.support import decoded, everything, records

CODECS: list[Codec] = [
    CsvCodec(["a", "b", "y"], label="y"),
    CsvCodec(["a"], numeric=False),
    CsvCodec(["a", "b", "k"], delimiter=" ", key="k"),
    JsonCodec(label="y", key="k"),
    JsonCodec(numeric=False),
    MsgpackCodec(label="y", key="k"),
    MsgpackCodec(["a", "y"], label="y", numeric=False),
    SvmlightCodec(),
]


@pytest.mark.parametrize("codec", CODECS, ids=lambda c: type(c).__name__)
@given(raws=st.lists(st.binary(max_size=60), max_size=5))
def test_no_bytes_raise(codec: Codec, raws: list[bytes]) -> None:
    batch = decoded(codec, *raws)
    assert len(batch) == len(batch.places) == len(records(batch))
    assert len(batch) + len(batch.rejected) <= len(raws)
    assert (batch.keys is None) == (codec.key is None)
    for one in batch.rejected:
        assert one.raw == raws[one.place.number - 1]
        assert len(one.detail) < 200 and "\n" not in one.detail and len(one.reason) < 30


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=2), v, max_size=2),
    max_leaves=4,
)
DOCUMENTS = st.dictionaries(st.sampled_from("abyk"), VALUES, max_size=4) | VALUES


@given(documents=st.lists(DOCUMENTS, max_size=4))
def test_json_one_by_one_is_the_same(documents: list[Any]) -> None:
    codec = JsonCodec(label="y", key="k")
    raws = [json.dumps(document).encode() for document in documents]
    once = decoded(codec, *raws)
    codec.fast = lambda raws: None  # type: ignore[method-assign]
    assert everything(decoded(codec, *raws)) == everything(once)


@pytest.mark.parametrize("codec", [JsonCodec, MsgpackCodec])
@pytest.mark.parametrize("text", ["NA", "n/a", " null ", "None", "nan", "?", "-", ""])
def test_what_people_write_for_missing(codec: type[Codec], text: str) -> None:
    pack: Any = msgpack.packb if codec is MsgpackCodec else lambda x: json.dumps(x).encode()
    batch = decoded(codec(label="y"), pack({"a": text, "b": "0.22", "y": text}))
    assert records(batch) == [{"a": None, "b": 0.22}]
    # A class may well be called None, but not NaN.
    assert batch.labels == [None if text == "nan" else text]
    assert not batch.rejected and not batch.bad_fields


def test_missing_as_the_user_says() -> None:
    codec = JsonCodec(missing=["none", "-999", "inf"])
    batch = decoded(codec, b'{"a": -999, "b": 1}', b'{"a": "-999.0", "b": "NONE"}', b'{"a": "NA"}')
    assert records(batch) == [{"a": None, "b": 1.0}, {"a": None, "b": None}, {"a": "NA"}]
    batch = decoded(codec, b'{"a": Infinity, "b": 1}', b'{"a": "inf", "b": 1}')
    assert records(batch) == [{"a": None, "b": 1.0}] * 2


def test_a_bad_field_does_not_cost_the_record() -> None:
    raws = [b'{"a": 1, "b": "red", "c": [[1]]}', b'{"a": 2, "b": 3, "c": 4}']
    batch = decoded(JsonCodec(fields={"b": "number"}), *raws)
    assert records(batch) == [{"a": 1, "b": None, "c": None}, {"a": 2, "b": 3, "c": 4}]
    assert batch.values is not None and not batch.rejected
    first = Place("here", None, 1)
    assert batch.bad_fields == [
        (first, "b", "not a number", "'b': 'red'"),
        (first, "c", "odd value", "'c': [[1]]"),
    ]
    strict = decoded(JsonCodec(on_bad_field="reject", fields={"b": "number"}), *raws)
    assert len(strict) == 1 and strict.bad_fields == batch.bad_fields
    assert [(r.reason, r.place) for r in strict.rejected] == [("not a number", first)]


@pytest.mark.parametrize("large", [b"1e999", b"-1e999", b"Infinity"])
def test_a_number_beyond_the_floats_does_not_cost_the_record(large: bytes) -> None:
    batch = decoded(JsonCodec(label="y"), b'{"a": ' + large + b', "b": 2, "y": "up"}')
    assert records(batch) == [{"a": None, "b": 2.0}]
    assert batch.labels == ["up"] and not batch.rejected
    assert [(one.field, one.reason) for one in batch.bad_fields] == [("a", "infinite value")]


def test_a_record_of_which_nothing_can_be_read_is_rejected() -> None:
    batch = decoded(JsonCodec(label="y"), b'{"payload": [[1]], "b": null, "y": 1}')
    assert [r.reason for r in batch.rejected] == ["odd value"]
    assert [one.field for one in batch.bad_fields] == ["payload"]


@pytest.mark.parametrize("codec", [JsonCodec, MsgpackCodec])
def test_only_these_features(codec: type[Codec]) -> None:
    pack: Any = msgpack.packb if codec is MsgpackCodec else lambda x: json.dumps(x).encode()
    documents = [{"t": "x", "b": i, "y": 1, "n": {"a": 1}, "a": 2, "c": 3} for i in range(40)]
    batch = decoded(codec(label="y", features=["a", "b"]), *map(pack, documents))
    assert batch.names == ("b", "a") and batch.values is not None
    assert batch.values[:, 0].tolist() == list(range(40)) and not batch.bad_fields


def test_the_label_is_no_feature() -> None:
    with pytest.raises(ValueError, match="both the label and a feature"):
        JsonCodec(label="y", features=["a", "y"])


@pytest.mark.parametrize("option", [{"decimal": ";"}, {"on_bad_field": "drop"}])
def test_options_that_are_none(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not '(;|drop)'"):
        JsonCodec(**option)


def packable(document: Any) -> bool:
    try:
        msgpack.packb(document)
    except (OverflowError, ValueError):
        return False
    return True


@given(documents=st.lists(DOCUMENTS.filter(packable), max_size=4))
def test_msgpack_one_by_one_is_the_same(documents: list[Any]) -> None:
    codec = MsgpackCodec(["a", "y"], label="y", key="k")
    raws = [msgpack.packb(document) for document in documents]
    once = decoded(codec, *raws)
    codec.fast = lambda raws: None  # type: ignore[method-assign]
    assert everything(decoded(codec, *raws)) == everything(once)


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (b'{"a": [[1]]}', "odd value", "'a': [[1]]"),
        (b'{"a": [{"b": 1}]}', "odd value", "'a': [{'b': 1}]"),
        (b'{"n": "red"}', "not a number", "'n': 'red'"),
        (b'{"t": 7}', "not a time", "'t': '7'"),
        (b'{"a": Infinity}', "infinite value", "'a': inf"),
        (b'{"a": 1, "y": {}}', "odd label", "'label': {}"),
        (b'{"a": 1, "y": [2]}', "odd label", "'label': [2]"),
        (b'{"a": 1, "k": []}', "odd key", "'key': []"),
        (b"[1]", "not an object", "an array, whose fields have no names: b'[1]'"),
        (b'{"a": 1', "invalid JSON", None),
        (b'{"a": 1e999', "invalid JSON", None),
        (b'{"a": 1e999}', "infinite value", "'a': inf"),
        (b'{"a": "\xff"}', "invalid UTF-8", None),
        (b'{"a": 1, "y": "\\ud800"}', "odd label", None),
        (b"\0\0\0\1\2Hello", "framed by a schema registry", None),
        (b"[" * 5000, "invalid JSON", None),
        (b'{"n": "' + b"x" * 9999 + b'"}', "not a number", None),
    ],
)
def test_rejected_json(raw: bytes, reason: str, detail: str | None) -> None:
    codec = JsonCodec(label="y", key="k", fields={"n": "number", "t": "time"})
    batch = decoded(codec, b'{"a": 1}', raw, b'{"a": 2}')
    (one,) = batch.rejected
    assert (one.reason, one.place, one.raw) == (reason, Place("here", None, 2), raw)
    assert detail in (None, one.detail)
    assert len(one.detail) < 170
    assert [p.number for p in batch.places] == [1, 3]
    assert records(batch) == [{"a": 1.0}, {"a": 2.0}]


def test_the_same_features_are_a_matrix() -> None:
    codec = JsonCodec(label="y", key="k", ignore=["note"])
    batch = decoded(
        codec,
        b'{"a": 1, "b": true, "y": "up", "k": 7}',
        b'{"b": null, "a": 2.5, "note": "x"}',
        b"",
        b'{"a": NaN, "b": 1, "y": 2.5}',
    )
    assert batch.names == ("a", "b") and batch.records is None
    assert batch.values is not None and batch.values.dtype == np.float64
    np.testing.assert_array_equal(batch.values, [[1, 1], [2.5, np.nan], [np.nan, 1]])
    assert batch.labels == ["up", None, 2.5] and batch.keys == [7, None, None]
    assert [p.number for p in batch.places] == [1, 2, 4]
    assert batch.position == {"at": 1} and not batch.rejected


def test_others_are_records_of_floats() -> None:
    batch = decoded(JsonCodec(), *[b'{"a": 1}'] * 100, *[b'{"b": true}'] * 100)
    assert batch.names is None and batch.values is None and batch.keys is None
    assert batch.records == [{"a": 1.0}] * 100 + [{"b": 1.0}] * 100
    assert all(type(v) is float for x in batch.records for v in x.values())


def test_other_values_pass_if_they_may() -> None:
    batch = decoded(JsonCodec(numeric=False), b'{"a": "red", "b": [1], "c": 3, "d": null}')
    assert batch.records == [{"a": "red", "b": [1], "c": 3, "d": None}]
    assert decoded(JsonCodec(numeric=False), b'{"a": 1}').names is None
    batch = decoded(JsonCodec(numeric=False), b'{"a": {"b": "x"}}', b'{"a": -Infinity}')
    assert batch.records == [{"a": {"b": "x"}}]
    assert [one.reason for one in batch.rejected] == ["infinite value"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1: 2}, "invalid msgpack"),
        ({b"a": 2}, "odd field name"),
        ([1, 2, 3], "wrong number of fields"),
        (5, "not an object"),
        ({"a": b"x"}, "odd value"),
        ({"a": msgpack.ExtType(1, b"x")}, "odd value"),
        ({"y": b"x"}, "odd label"),
        ({"y": math.inf}, "odd label"),
    ],
)
def test_rejected_msgpack(value: Any, reason: str) -> None:
    batch = decoded(MsgpackCodec(["a", "y"], label="y"), msgpack.packb(value))
    assert [one.reason for one in batch.rejected] == [reason]


def test_svmlight_has_names() -> None:
    assert records(decoded(SvmlightCodec(), b"1 2:x 3:1")) == [{"2": "x", "3": 1.0}]


def test_msgpack_maps_and_arrays() -> None:
    codec = MsgpackCodec(["a", "y"], label="y")
    batch = decoded(codec, msgpack.packb([1, "up"]), msgpack.packb({"y": math.nan, "a": None}))
    assert records(batch) == [{"a": 1.0}, {"a": None}] and batch.labels == ["up", None]
    batch = decoded(codec, msgpack.packb(["x" * 10])[:5], b"\xdf\xff\xff\xff\xff", b"\xa1\xff")
    assert [r.reason for r in batch.rejected] == ["invalid msgpack"] * 2 + ["invalid UTF-8"]


@pytest.mark.parametrize(
    ("raw", "x", "label"),
    [
        (b"+1 1:0.5 3:-2", {"1": 0.5, "3": -2.0}, 1),
        (b"-1.0 qid:7 0:1e3 # 5:5", {"0": 1000.0}, -1),
        (b"2.5\t01:nan\r", {"1": None}, 2.5),
        (b"1:2 2:3", {"1": 2.0, "2": 3.0}, None),
        (b"3", {}, 3),
    ],
)
def test_svmlight(raw: bytes, x: dict[str, float], label: float | None) -> None:
    batch = decoded(SvmlightCodec(), raw)
    assert records(batch) == [x] and batch.labels == [label]
    assert type(batch.labels[0]) is type(label)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"cat 1:2", "odd label"),
        (b"1,2 1:2", "odd label"),
        (b"inf 1:2", "odd label"),
        (b"1 2", "invalid svmlight"),
        (b"1 a:2", "invalid svmlight"),
        (b"1 -1:2", "invalid svmlight"),
        (b"1 2:", "invalid svmlight"),
        (b"1 2:1 02:1", "invalid svmlight"),
        (b"1 2:1e999", "infinite value"),
        (b"1 2:\xff", "invalid UTF-8"),
    ],
)
def test_rejected_svmlight(raw: bytes, reason: str) -> None:
    batch = decoded(SvmlightCodec(), raw, b"# only a comment", b"", b"1 \xc3\xa9"[:2])
    assert [one.reason for one in batch.rejected] == [reason]
    assert [p.number for p in batch.places] == [4]


@pytest.mark.parametrize("text", ["0", "7", "-7", "123456789012345678"])
def test_what_looks_like_a_whole_number(text: str) -> None:
    assert plain_from_text(f" {text} ") == int(text)


@pytest.mark.parametrize("text", ["007", "-0", "+1", "7.0", "1e3", "1_0", "1" * 19, "٣", "up"])
def test_what_stays_text(text: str) -> None:
    assert plain_from_text(text) == text


def test_places_are_a_sequence() -> None:
    places = Places("topic", 3, range(5, 9))
    assert len(places) == 4 and places[-1] == Place("topic", 3, 8)
    assert list(places[1:3]) == [Place("topic", 3, 6), Place("topic", 3, 7)]
    assert str(places[0]) == "topic/3@5"


def test_label_and_key_differ() -> None:
    with pytest.raises(ValueError, match="cannot be both"):
        JsonCodec(label="y", key="y")


@pytest.mark.parametrize("more", [{}, {"c": "x"}, {"t": "some words of a text"}, {"o": {"p": 1}}])
@pytest.mark.parametrize("times", [1, 100])
def test_a_nan_says_nothing_whatever_its_bits_are(more: dict[str, Any], times: int) -> None:
    name = np.array(0x7FF9000000000007).view(np.float64).item()
    batches = [
        decoded(MsgpackCodec(), *[msgpack.packb({"a": a, "b": 1.5, **more})] * times)
        for a in (name, None)
    ]
    bits = [
        [unboxed(x["a"]) for x in one.records or []] if one.values is None else one.values.tobytes()
        for one in batches
    ]
    assert bits[0] == bits[1] and batches[0].texts == batches[1].texts


@pytest.mark.parametrize("text", ["NaN", "nan"])
@pytest.mark.parametrize("times", [1, 100])
def test_a_label_that_reads_nan_is_missing(text: str, times: int) -> None:
    record = {"a": 1, "b": 2, "y": text}
    for codec, raw in [
        (CsvCodec(["a", "b", "y"], label="y"), f"1,2,{text}".encode()),
        (JsonCodec(label="y"), json.dumps(record).encode()),
        (MsgpackCodec(label="y"), msgpack.packb(record)),
    ]:
        assert decoded(codec, *[raw] * times).labels == [None] * times
    assert (
        decoded(JsonCodec(key="y"), *[json.dumps(record).encode()] * times).keys == [text] * times
    )


@pytest.mark.parametrize("codec", [JsonCodec(label="y"), MsgpackCodec(label="y")])
def test_a_record_of_very_many_fields_is_rejected(codec: Codec) -> None:
    write: Any = json.dumps if isinstance(codec, JsonCodec) else msgpack.packb
    wide = write({f"k{i}": i for i in range(10_001)} | {"y": "a"})
    raws = [
        raw if isinstance(raw, bytes) else raw.encode() for raw in (wide, write({"y": 1, "x": 2.0}))
    ]
    for several in (raws, raws[:1] * 3):
        batch = decoded(codec, *several)
        told = {(one.reason, one.detail) for one in batch.rejected}
        assert told == {("too many fields", "10,001, and at most 10,000 are read")}
        assert records(batch) == [{"x": 2.0}] * (several is raws)
    named = JsonCodec(label="y", features=[f"k{i}" for i in range(10_001)])
    assert (
        len(decoded(named, json.dumps({f"k{i}": i for i in range(10_001)}).encode()).rejected) == 0
    )
