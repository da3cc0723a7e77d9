"""Names, times, words, objects in objects: what sources make of them, and that it stays bounded."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import msgpack
import numpy as np
import pytest

from stream_llsvm.connectors import dictionary
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.msgpack_codec import MsgpackCodec
from stream_llsvm.records.boxes import name_code, unboxed
from stream_llsvm.records.texts import Name
from stream_llsvm.records.values import read
from tests.connectors.support import decoded, everything, records

MANY = 40  # so many that compiled loops read them


def as_json(*documents: Any) -> list[bytes]:
    return [json.dumps(document).encode() for document in documents]


def of(codec: Codec, *documents: Any) -> Any:
    pack: Any = msgpack.packb if isinstance(codec, MsgpackCodec) else lambda x: as_json(x)[0]
    return decoded(codec, *map(pack, documents))


@pytest.mark.parametrize("codec", [JsonCodec(label="y"), MsgpackCodec(label="y")])
def test_names_are_columns_of_codes_with_their_texts(codec: Codec) -> None:
    rows = [{"user": f"u{i % 7}", "amount": i, "city": ["Oslo", None][i % 2]} for i in range(MANY)]
    batch = of(codec, *rows)
    assert batch.names == ("user", "amount", "city") and batch.values.shape == (MANY, 3)
    code = unboxed(batch.values[3, 0])[1]
    assert code == name_code("u3") and batch.texts[code] == "u3"
    assert math.isnan(batch.values[3, 2]) and unboxed(batch.values[3, 2]) == (0, 0)
    assert batch.record(4) == {"user": "u4", "amount": 4.0, "city": "Oslo"}
    assert set(batch.texts.values()) == {*(f"u{i}" for i in range(7)), "Oslo"}


@pytest.mark.parametrize("codec", [JsonCodec(), MsgpackCodec()])
def test_texts_and_lists_are_words_and_keep_a_record_out_of_the_matrix(codec: Codec) -> None:
    plain = [{"a": 1, "said": "hello"}] * MANY
    batch = of(codec, *plain, {"a": 2, "said": "To be, or not to be"}, {"a": 3, "said": ["x", "y"]})
    assert batch.values is None and not batch.bad_fields
    assert batch.records[0] == {"a": 1.0, "said": "hello"}
    assert batch.records[-2:] == [
        {"a": 2.0, "said": ("to", "be", "or", "not")},
        {"a": 3.0, "said": ("x", "y")},
    ]


@pytest.mark.parametrize("text", ["None of this is null", "a b c d", "NA na N/A nan", "7 8 9"])
def test_words_that_are_read_again_are_the_same(text: str) -> None:
    """A record that waits for its label is read once more, and must be what it was."""
    once = of(JsonCodec(), {"said": text}).record(0)["said"]
    assert read("said", once) == once == read("said", text)


def test_a_field_that_changes_what_it_is() -> None:
    rows = [{"a": value} for value in (1, "red", "7", None, True, "2026-11-19T12:30:00Z", "NA")]
    batch = of(JsonCodec(), *rows)
    assert [batch.record(i) for i in range(7)] == [
        {"a": 1.0}, {"a": "red"}, {"a": 7.0}, {}, {"a": 1.0}, {"a": "0001-01-04T12:30:00"}, {},
    ]  # fmt: skip
    assert batch.values is not None and not batch.bad_fields


def test_quoted_fields_of_csv_are_read_at_once() -> None:
    codec = CsvCodec(["a", "b", "y"], label="y")
    quick = codec.quick(Spans.of([b'"Oslo, N", "1.5","up"', b'"",2,"d,e"']))
    assert quick is not None
    assert quick.columns.labels[1] == "d,e"
    lines = [b'"Oslo, N","1.5",up', b'"","2","d,e"', b'"a""b",1,up', b'x,"1', b'"x"y,1,up']
    codec.decode(lines * MANY, list(range(5 * MANY)), {})  # type: ignore[arg-type]
    slow = CsvCodec(["a", "b", "y"], label="y")
    slow.quick = lambda raws: None  # type: ignore[method-assign]
    assert everything(decoded(slow, *lines * MANY)) == everything(decoded(codec, *lines * MANY))


def test_what_a_field_is_said_to_be() -> None:
    fields = {"user": "name", "note": "ignore", "amount": "number", "when": "time", "body": "text"}
    document = {
        "user": 48213, "note": "x", "amount": "red", "when": 1_700_000_000, "body": "hi",
    }  # fmt: skip
    batch = of(JsonCodec(fields=fields), document)
    assert batch.record(0) == {
        "user": "48213", "when": "0001-01-02T22:13:20", "body": "hi",
    }  # fmt: skip
    assert type(batch.record(0)["user"]) is Name  # else it would be a number again
    assert [one.field for one in batch.bad_fields] == ["amount"]
    csv = CsvCodec(["user", "when"], fields=fields)
    batch = decoded(csv, *[b"007,2026-01-31"] * MANY)
    assert batch.record(0) == {"user": "007", "when": "0001-01-06T00:00:00"}
    batch = of(MsgpackCodec(fields=fields), {"user": 7.0, "when": "1700000000000"}, {"user": True})
    assert batch.record(0) == {"user": "7", "when": "0001-01-02T22:13:20"}
    assert batch.record(1) == {"user": "true"}


def test_texts_of_one_word_are_names() -> None:
    batch = of(JsonCodec(fields={"body": "text"}), {"body": "Hi!"}, {"body": "7"}, {"body": "?"})
    assert [batch.record(i) for i in range(3)] == [{"body": "hi"}, {"body": "7"}, {}]
    assert of(JsonCodec(fields={"b": "text"}), {"b": "Go on"}).record(0) == {"b": ("go", "on")}


@pytest.mark.parametrize("fields", [{"y": "name"}, {"a": "text "}, {"a": 7}])
def test_what_a_field_cannot_be(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"label or the key|not 'text '|not 7"):
        JsonCodec(label="y", fields=fields)


def test_times_of_epochs_are_read_in_columns_that_hold_them() -> None:
    rows = [{"t": 1_700_000_000 + 3600 * i, "a": i} for i in range(MANY)]
    batch = of(JsonCodec(fields={"t": "time"}), *rows, {"t": 7, "a": 1})
    moments = [datetime.datetime.fromtimestamp(row["t"], datetime.UTC) for row in rows]
    assert [batch.record(i)["t"][11:] for i in range(MANY)] == [f"{m:%H:%M:%S}" for m in moments]
    assert [one.reason for one in batch.bad_fields] == ["not a time"]
    assert batch.record(MANY) == {"a": 1.0}


@pytest.mark.parametrize("codec", [JsonCodec, MsgpackCodec])
def test_objects_in_objects_are_fields(codec: type[Codec]) -> None:
    document = {"id": 7, "payload": {"a": 1, "by": {"city": "Oslo"}, "y": "up"}, "tags": {"b": 2}}
    batch = of(codec(label="payload.y", key="id", ignore=["tags"]), *[document] * MANY)
    assert batch.labels == ["up"] * MANY and batch.keys == [7] * MANY
    assert batch.values is not None
    assert batch.record(0) == {"payload.a": 1.0, "payload.by.city": "Oslo"}
    only = of(codec(label="payload.y", features=["payload.by", "tags.b"]), document)
    assert only.record(0) == {"payload.by.city": "Oslo", "tags.b": 2.0}


def test_objects_are_bounded_in_depth_and_number() -> None:
    deep: dict[str, Any] = {"a": 1, "b": 2}
    for _ in range(900):
        deep = {"a": deep}
    wide = {"id": 1, "o": {f"f{i}": i for i in range(1_500)}}
    batch = of(JsonCodec(), {"id": 7, "deep": deep}, wide, {f"f{i}": i for i in range(10_000)})
    assert len(batch) == 3 and not batch.rejected
    assert batch.records[0] == {"id": 7.0}
    assert [len(x) for x in batch.records] == [1, 1_001, 10_000]
    assert [(one.place.number, one.reason) for one in batch.bad_fields] == [
        (1, "nested value"), (2, "nested value"),
    ]  # fmt: skip
    assert batch.bad_fields[1].detail.startswith("500 values")


CHANGE = {"schema": {}, "payload": {"before": None, "after": {"a": 1, "y": "up"}, "op": "c"}}
DELETE = {"schema": {}, "payload": {"before": {"a": 1}, "after": None, "op": "d"}}


def test_a_change_is_unwrapped_and_deletes_are_counted() -> None:
    codec = JsonCodec(label="y", unwrap="payload.after")
    raws: list[Any] = as_json(*[CHANGE] * MANY, DELETE, {"payload": {}}, {"payload": {"after": 7}})
    batch = codec.decode([*raws, None], list(range(MANY + 4)), {})  # type: ignore[arg-type]
    assert batch.labels == ["up"] * MANY and batch.names == ("a",)
    assert batch.deletes == 2  # and the message without a value that follows a delete
    assert [one.reason for one in batch.rejected] == ["nothing to unwrap", "not an object"]


def test_json_of_a_schema_registry() -> None:
    frame = b"\0\0\0\1\7"
    raws = [
        frame + raw for raw in as_json(*[{"a": i, "city": "Oslo", "y": 1} for i in range(MANY)])
    ]
    codec = JsonCodec(label="y")
    quick = codec.quick(Spans.of(raws))
    assert quick is not None and not quick.odd.any()
    batch = decoded(codec, *raws, frame + b"\x02\x06abc", raws[0][5:], frame)
    assert len(batch) == MANY + 1 and batch.record(3) == {"a": 3.0, "city": "Oslo"}
    told = [(one.reason, one.raw) for one in batch.rejected]
    assert told[0] == ("framed by a schema registry", frame + b"\x02\x06abc")
    assert "schema 263" in batch.rejected[0].detail
    avro = decoded(MsgpackCodec(), frame + b"\xff\xff")
    assert [one.reason for one in avro.rejected] == ["framed by a schema registry"]


def test_halves_of_characters_cost_no_record() -> None:
    batch = decoded(JsonCodec(label="y"), b'{"a": "\\ud800", "b": 1}', b'{"a": "\\ud83d\\ude00"}')
    assert records(batch) == [{"a": "\ufffd", "b": 1.0}, {"a": "\U0001f600"}]


def test_long_names_and_names_that_are_nearly_the_same() -> None:
    names = ["x" * 5_000, "a", "A", "\u00e9", "e\u0301"]
    batch = of(JsonCodec(), *[{"a": name} for name in names])
    assert [batch.record(i)["a"] for i in range(5)] == names
    assert len(set(map(unboxed, batch.values[:, 0].tolist()))) == 5


def test_the_dictionary_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """New names with every record: older batches keep their texts, later ones begin anew."""
    monkeypatch.setattr(dictionary, "_MOST_NAMES", 10_000)
    codec = CsvCodec(["a", "b"])
    kept = []
    for turn in range(6):
        rows = [b"u%d,k%d" % (i, i % 3) for i in range(4_000 * turn, 4_000 * turn + 4_000)]
        batch = decoded(codec, *rows)
        assert len(batch.texts) < 15_000
        kept.append((batch, batch.record(3_999)))
    for turn, (batch, last) in enumerate(kept):
        assert last == {"a": f"u{4_000 * turn + 3_999}", "b": f"k{(4_000 * turn + 3_999) % 3}"}
        assert batch.record(3_999) == last


def test_times_of_msgpack() -> None:
    moments = [msgpack.Timestamp(1_700_000_000), msgpack.Timestamp(2**40)]
    batch = of(MsgpackCodec(), *[{"t": moment} for moment in moments])
    assert unboxed(batch.values[0, 0])[0] == 2
    assert len(batch) == 2


def test_numbers_beside_names_are_as_they_were() -> None:
    values = np.random.default_rng(0).normal(size=MANY)
    batch = of(JsonCodec(), *[{"a": value, "b": "x"} for value in values.tolist()])
    assert batch.values[:, 0].tolist() == values.tolist()
