"""What becomes of the bytes of a record."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest

from stream_llsvm.connectors.base import Place
from stream_llsvm.connectors.kafka_values import MapDecoder, Parts


def decode(decoder: MapDecoder, *values: bytes | None) -> Parts:
    places = [Place("t", 0, i) for i in range(len(values))]
    return decoder(values, [b"k%d" % i for i in range(len(values))], places)


def test_alike_maps_of_numbers_become_a_table() -> None:
    parts = decode(MapDecoder(), b'{"a":1,"b":null,"label":"x"}', b'{"a":2.5,"b":true}')
    assert parts.names == ("a", "b") and parts.records is None
    assert parts.values is not None
    np.testing.assert_array_equal(parts.values, [[1.0, np.nan], [2.5, 1.0]])
    assert parts.labels == ["x", None]
    assert parts.keys == ["k0", "k1"]


@pytest.mark.parametrize("second", [b'{"b":1}', b'{"a":"red"}', b'{"a":1,"c":2}'])
def test_other_maps_stay_maps(second: bytes) -> None:
    parts = decode(MapDecoder(), b'{"a":1,"label":0}', second)
    assert parts.names is None and parts.values is None
    assert parts.records is not None and len(parts.records) == 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value"),
        (b"", "not json"),
        (b"\xff\xfe", "not json"),
        (b'{"a": 1', "not json"),
        (b'{"a": NaN}', "not json"),
        (b"[1, 2]", "not a map"),
        (b"1", "not a map"),
        (b'{"a": [1]}', "not a number or text"),
        (b'{"a": {"b": 1}}', "not a number or text"),
        (b"[" * 100_000, "not json"),
    ],
)
def test_what_cannot_be_read_is_rejected(value: bytes | None, reason: str) -> None:
    parts = decode(MapDecoder(), b'{"a":1,"label":0}', value, b'{"a":2,"label":1}')
    assert parts.labels == [0, 1]
    assert [p.number for p in parts.places] == [0, 2]
    assert parts.keys == ["k0", "k2"]
    (one,) = parts.rejected
    assert one.place == Place("t", 0, 1)
    assert one.reason == reason
    assert one.raw == (value or b"")
    assert len(one.detail) <= 200


def test_values_that_together_look_like_others_are_rejected() -> None:
    parts = decode(MapDecoder(), b'{"a":1', b'"b":2}', b'{"a":1},{"a":2}')
    assert len(parts.rejected) == 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (msgpack.packb({1: 2}), "not msgpack"),
        (msgpack.packb({b"a": 2}), "a name is not text"),
        (msgpack.packb([1]), "not a map"),
        (b"\xc1", "not msgpack"),
        (b"", "not msgpack"),
        (msgpack.packb({"a": b"bytes"}), "not a number or text"),
    ],
)
def test_msgpack(value: bytes, reason: str) -> None:
    good = msgpack.packb({"a": 1.5, "label": 1})
    parts = decode(MapDecoder("msgpack"), good, value, good)
    assert parts.names == ("a",) and parts.labels == [1, 1]
    assert [one.reason for one in parts.rejected] == [reason]


def test_key_from_a_field_and_no_label() -> None:
    parts = decode(MapDecoder(label=None, key="id"), b'{"id":7,"a":1}', b'{"id":8,"a":2}')
    assert parts.keys == [7, 8] and parts.labels == [None, None] and parts.names == ("a",)


@pytest.mark.parametrize(("key", "shown"), [(None, None), (b"\xff", b"\xff"), ("é".encode(), "é")])
def test_keys_are_text_if_they_can(key: bytes | None, shown: Any) -> None:
    assert MapDecoder()([b"{}"], [key], [Place("t", 0, 0)]).keys == [shown]


def test_numbers_too_large_for_a_float_stay_what_they_are() -> None:
    parts = decode(MapDecoder(), b'{"a":18446744073709551615}')
    assert parts.values is not None and parts.values[0, 0] == 2.0**64


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="json"):
        MapDecoder("yaml")
