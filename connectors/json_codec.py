"""JSON, an object a record, or an array of values whose names are given once."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Quick, Record
from stream_llsvm.connectors.flat.gather import ODD
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.json_shape import JsonShape
from stream_llsvm.connectors.object_codec import ObjectCodec
from stream_llsvm.connectors.values import Bad
from stream_llsvm.records.values import show

_FRAME = 5  # bytes of a schema registry: a zero, and the number of a schema
_HALVES, _NO_CHARACTER = re.compile("[\ud800-\udfff]"), "\ufffd"
_MOSTLY = 4  # one in so many records may be odd


class JsonCodec(ObjectCodec):
    """Reads JSON objects; also with NaN and Infinity, as Python writes them.

    Parameters
    ----------
    names
        The names of the fields, if records are arrays. Objects are read with or without them.
    options
        As for every `Codec`.

    Examples
    --------
    >>> codec = JsonCodec(label="y")
    >>> raws = [b'{"a": 1, "b": "NA", "y": "up"}', b'{"a": "x", "b": "0.5"}', b'{"a": 1']
    >>> batch = codec.decode(raws, list("xyz"), {})
    >>> batch.names, batch.values, batch.labels
    (('a', 'b'), array([[1. , nan], [nan, 0.5]]), ['up', None])
    >>> batch.record(1)
    {'a': 'x', 'b': 0.5}
    >>> batch.rejected[0].place, batch.rejected[0].reason
    ('z', 'invalid JSON')

    """

    def __init__(self, names: Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(orjson.loads, names, **options)
        self._shape: JsonShape | None = None  # of the last records

    def only(self, field: str) -> Codec:
        """Return what reads nothing of the same records but this field, as their label."""
        way = None if self.unwrap is None else ".".join(self.unwrap)
        return JsonCodec(self.names, label=field, features=(), unwrap=way)

    def quick(self, raws: Spans) -> Quick | None:
        """Read many objects at once that look the same."""
        if self.unwrap is not None:
            return None
        read = None
        raws = _unframed(raws)
        if self._shape is not None:
            read = self._shape.read(raws, self.dictionary)
            if read is not None and read.odd[0] != ODD:
                return _mostly(read)
        shape = self._shape_of(raws[0])
        if shape is None or shape.like(self._shape):
            return _mostly(read)
        self._shape = shape
        return _mostly(shape.read(raws, self.dictionary))

    def _lenient(self, raw: bytes, said: str) -> Any:
        """Read what Python's own json reads, too: NaN, infinity, 1e999, halves of characters.

        The last become the sign for what is no character. Raises Bad.
        """
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise Bad("invalid UTF-8", f"byte {error.start + 1}: {show(raw)[:80]}") from None
        if "NaN" in text or "Infinity" in text or "infinity" in said or "\\u" in text:
            try:
                whole = json.dumps(json.loads(text), ensure_ascii=False)
                fields = self.as_object(json.loads(_HALVES.sub(_NO_CHARACTER, whole)))
            except (ValueError, RecursionError):
                pass
            else:
                if not _HALVES.search(whole):
                    return fields
                for what, name in (("label", self.label), ("key", self.key)):
                    if _NO_CHARACTER in str(self.checked(fields, raw).get(name or "", "")):
                        raise Bad(f"odd {what}", f"half of a character: {show(raw)[:80]}")
                return fields
        raise Bad("invalid JSON", f"{said[:60]}: {show(raw)[:80]}")

    def _shape_of(self, raw: bytes | None) -> JsonShape | None:
        try:
            fields = orjson.loads(raw or b"")
        except ValueError:
            return None
        if isinstance(fields, dict) and len(fields) > self._most:
            return None
        return JsonShape.of(fields, self.selection, self.values, self.names)

    def one(self, raw: bytes) -> Record | None:
        """Read one object; None for a blank line."""
        plainly = raw[_FRAME:] if is_framed(raw) else raw
        try:
            fields = self.loads(plainly)
        except ValueError as error:
            if not raw.strip(b" \t\r\n"):
                return None
            if plainly is not raw and plainly.lstrip()[:1] not in (b"{", b"["):
                raise framed(raw) from None
            fields = self._lenient(plainly, str(error))
        return self.record(self.checked(fields, plainly))


def _mostly(read: Quick | None) -> Quick | None:
    """Return what was read, None if so many records are odd that reading objects is faster."""
    if read is None or np.count_nonzero(read.odd) * _MOSTLY > len(read.odd):
        return None
    return read


def _unframed(raws: Spans) -> Spans:
    """Return messages without the number of a schema that a schema registry puts before them."""
    block = np.frombuffer(raws.block, dtype=np.uint8)
    long = raws.ends - raws.starts > _FRAME
    if not len(block) or not long.any() or block[raws.starts[long][0]] != 0:
        return raws
    starts = raws.starts.copy()
    starts[long] += _FRAME * (block[raws.starts[long]] == 0)
    return Spans(raws.block, starts, raws.ends)


def is_framed(raw: bytes) -> bool:
    """Whether a message begins as a schema registry wants it."""
    return raw[:1] == b"\0" and len(raw) > _FRAME


def framed(raw: bytes) -> Bad:
    """Return what is wrong with a message of a schema registry that is no JSON."""
    schema = int.from_bytes(raw[1:_FRAME], "big")
    return Bad(
        "framed by a schema registry",
        f"schema {schema}, maybe Avro or Protobuf: write JSON, or convert the topic to it",
    )
