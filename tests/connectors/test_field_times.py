"""Times read from a field of records in every format of messages."""

from __future__ import annotations

import json
from typing import Any

import msgpack
import numpy as np
import pytest

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.field_times import FieldTimes
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.formats import message_codec
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.svmlight_codec import SvmlightCodec

SAID: list[Any] = [1, 2.5, "3", "1970-01-01T00:00:04Z", None, "soon", True, 1e17]
TIMES = [1.0, 2.5, 3.0, 4.0, np.nan, np.nan, np.nan, 1e17]


def raws(form: str, records: list[dict[str, Any]]) -> list[bytes]:
    if form == "msgpack":
        return [msgpack.packb(one) for one in records]
    if form == "json":
        return [json.dumps(one).encode() for one in records]
    return [
        b",".join(b"" if v is None else str(v).encode() for v in one.values()) for one in records
    ]


@pytest.mark.parametrize("form", ["json", "msgpack", "csv"])
@pytest.mark.parametrize("many", [1, 60])
def test_every_format(form: str, many: int) -> None:
    codec = message_codec(form, ["a", "at", "y"], label="y", ignore=["a"])
    records = [{"a": 1.5, "at": at, "y": "up"} for _ in range(many) for at in SAID]
    found = FieldTimes(codec, "at").read(Spans.of(raws(form, records)))
    np.testing.assert_array_equal(found, TIMES * many)


def test_numbers_alone_are_read_by_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("read one by one")

    monkeypatch.setattr(JsonCodec, "one", slow)
    monkeypatch.setattr(CsvCodec, "one", slow)
    records = [{"a": 1.5, "at": at, "y": "up"} for at in range(1_000)]
    for form in ("json", "csv"):
        codec = message_codec(form, ["a", "at", "y"], label="y")
        found = FieldTimes(codec, "at").read(Spans.of(raws(form, records)))
        assert found.tolist() == list(range(1_000))


def test_what_cannot_be_read_has_no_time() -> None:
    times = FieldTimes(JsonCodec(label="at"), "at")  # the label may be the time, too
    found = times.read([b'{"at": 1}', None, b"poison", b'{"at": 2}', b'{"a": 1}'])
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, 2, np.nan])
    assert "the field 'at' is not there" in times.missing(b'{"a": 1}')
    assert "at = 'x' is no time" in times.missing(b'{"at": "x"}')


def test_a_time_inside_what_is_unwrapped() -> None:
    codec = JsonCodec(label="y", unwrap="payload.after")
    raw = b'{"payload": {"after": {"at": 7, "y": 1}}}'
    assert FieldTimes(codec, "at").read([raw]).tolist() == [7.0]


@pytest.mark.parametrize("codec", [CsvCodec(["a"]), SvmlightCodec()])
def test_formats_without_the_field(codec: Codec) -> None:
    with pytest.raises(ValueError, match="'at'"):
        FieldTimes(codec, "at")
