"""What becomes of the values of messages, in every format that they may have."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest

from stream_llsvm.connectors.base import Batch, Place
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.formats import message_codec, text_or_bytes
from tests.connectors.support import records


def decode(codec: Codec, *values: bytes | None) -> Batch:
    places = [Place("t", 0, i) for i in range(len(values))]
    return codec.decode(values, places, {}, blanks=False)


def test_alike_maps_of_numbers_become_a_table() -> None:
    batch = decode(message_codec(label="y"), b'{"a":1,"b":null,"y":"x"}', b'{"a":2.5,"b":true}')
    assert batch.names == ("a", "b") and batch.records is None
    assert batch.values is not None
    np.testing.assert_array_equal(batch.values, [[1.0, np.nan], [2.5, 1.0]])
    assert batch.labels == ["x", None]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value"),
        (b"", "no value"),
        (b" \r\n", "no value"),
        (b"\xff\xfe", "invalid UTF-8"),
        (b'{"a": 1', "invalid JSON"),
        (b"[1, 2]", "not an object"),
        (b"1", "not an object"),
        (b'{"a": [[1]]}', "odd value"),
        (b'{"a": [{"b": 1}]}', "odd value"),
        (b"\0\0\0\0\7\x02Oslo", "framed by a schema registry"),
        (b'{"a": 1, "y": []}', "odd label"),
        (b"[" * 100_000, "invalid JSON"),
        (b'{"a":1},{"a":2}', "invalid JSON"),
    ],
)
def test_what_cannot_be_read_is_rejected(value: bytes | None, reason: str) -> None:
    batch = decode(message_codec(label="y"), b'{"a":1,"y":0}', value, b'{"a":2,"y":1}')
    assert batch.labels == [0, 1]
    assert [p.number for p in batch.places] == [0, 2]
    (one,) = batch.rejected
    assert one.place == Place("t", 0, 1)
    assert one.reason == reason
    assert one.raw == (value or b"")
    assert len(one.detail) <= 200


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_arrays_whose_names_are_given_once(format: str) -> None:
    import orjson

    dumps: Any = {"json": orjson.dumps, "msgpack": msgpack.packb}[format]
    codec = message_codec(format, ["a", "y", "id"], label="y", key="id", ignore=["note"])
    batch = decode(
        codec,
        *(dumps([i, i % 2, f"k{i}"]) for i in range(100)),
        dumps({"id": 7, "a": 0.5, "y": "up", "note": "x"}),
        dumps([1, 2]),
        dumps([1, 2, 3, 4]),
    )
    assert [x["a"] for x in records(batch)] == [*range(100), 0.5]
    assert batch.labels == [0, 1] * 50 + ["up"]
    assert batch.keys == [f"k{i}" for i in range(100)] + [7]
    assert [one.reason for one in batch.rejected] == ["wrong number of fields"] * 2
    (bad,) = decode(message_codec(format), dumps([1, 2])).rejected
    assert bad.reason == "not an object"


def test_lines_of_csv() -> None:
    codec = message_codec("csv", ["a", "b", "y"], label="y", on_bad_field="reject")
    batch = decode(codec, b"1,2,up", b"3,,down\r", b"", b"1,2", b"inf,2,up")
    assert records(batch) == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": None}]
    assert batch.labels == ["up", "down"]
    told = [one.reason for one in batch.rejected]
    assert told == ["no value", "wrong number of fields", "infinite value"]


@pytest.mark.parametrize(("key", "shown"), [(None, None), (b"\xff", b"\xff"), ("é".encode(), "é")])
def test_keys(key: bytes | None, shown: str | bytes | None) -> None:
    assert text_or_bytes(key) == shown


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="json, msgpack, csv; not 'yaml'"):
        message_codec("yaml")
    with pytest.raises(ValueError, match="give the names"):
        message_codec("csv")
    with pytest.raises(ValueError, match="two fields have the same name"):
        message_codec("json", ["a", "a"])
