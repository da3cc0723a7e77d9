"""JSON, an object a record, or an array of values whose names are given once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.base import BadField, Batch, Place, Position, Rejected
from stream_llsvm.connectors.codec import Codec, plain
from stream_llsvm.connectors.columns import Columns, Quick, Record, fill
from stream_llsvm.connectors.flat.gather import ODD
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.json_shape import JsonShape
from stream_llsvm.connectors.values import Bad
from stream_llsvm.records.values import show

_NUMBERS = {float, int, bool, type(None)}
_PLAIN = {str, int, bool, type(None)}
_MOSTLY = 4  # one in so many records may be odd


class ObjectCodec(Codec):
    """What formats share whose records are objects: names with values.

    Parameters
    ----------
    parse
        What reads one value; it may raise anything.
    names
        The names of the fields, if records are arrays. Objects are read with or without them.
    options
        As for every `Codec`.

    """

    def __init__(
        self, parse: Callable[[bytes], Any], names: Sequence[str] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        if names is not None and len(set(names)) != len(names):
            raise ValueError("two fields have the same name; names must differ")
        self.names = None if names is None else tuple(names)
        self._parse = parse
        self.loads = parse if names is None else self._as_object

    def _as_object(self, raw: bytes) -> Any:
        """Read one value, an array as the object that it stands for; a wrong one as it is."""
        fields = self._parse(raw)
        if isinstance(fields, list) and self.names is not None and len(fields) == len(self.names):
            return dict(zip(self.names, fields, strict=True))
        return fields

    def checked(self, fields: Any, raw: bytes) -> dict[str, Any]:
        """Return what was read if it is an object. Raises Bad."""
        if isinstance(fields, list) and self.names is not None:
            detail = f"{len(fields)} instead of {len(self.names)}: {show(raw)[:80]}"
            raise Bad("wrong number of fields", detail)
        if isinstance(fields, list):
            raise Bad("not an object", f"an array, whose fields have no names: {show(raw)[:80]}")
        if not isinstance(fields, dict):
            raise Bad("not an object", show(raw)[:80])
        return fields

    def record(self, fields: dict[str, Any]) -> Record:
        """Make a record of an object, which is used up. Raises Bad."""
        label = fields.pop(self.label, None) if self.label is not None else None
        key = fields.pop(self.key, None) if self.key is not None else None
        wanted = self.selection.wanted
        features = ((name, value) for name, value in fields.items() if wanted(name))
        read = self.values.number if self.numeric else self.values.anything
        x, unread = self.values.row(features, read)
        return Record(x, plain(label, "label", "label"), plain(key, "key", "key"), unread)

    def decode_objects(
        self, objects: Sequence[Mapping[str, Any]], places: Sequence[Place], position: Position
    ) -> Batch:
        """Read records that are objects already, as `decode` reads bytes."""
        batch = Batch([], places, position)
        records, kept = [], []
        for i, fields in enumerate(objects):
            try:
                record = self.record(dict(fields))
            except Bad as bad:
                raw = json.dumps(fields, default=repr).encode()
                batch.rejected.append(Rejected(places[i], bad.reason, bad.detail, raw))
                unread = bad.fields
            else:
                records.append(record)
                kept.append(places[i])
                unread = record.unread
            batch.bad_fields += [BadField(places[i], *one) for one in unread]
        batch.places = kept
        fill(batch, [records], self.numeric)
        if self.key is None:
            batch.keys = None
        return batch

    def fast(self, raws: Sequence[bytes]) -> Columns | None:
        """Read objects at once that have the same fields in the same order, all numbers."""
        flat: list[Any] = []
        labels: list[Any] = []
        keys: list[Any] = []
        names: list[str] | None = None
        label, key, ignore = self.label, self.key, self.selection.ignore
        features = self.selection.features
        loads = self.loads
        try:
            for raw in raws:
                fields = loads(raw)
                # A list has a pop too, but not with two arguments.
                labels.append(None if label is None else fields.pop(label, None))
                keys.append(None if key is None else fields.pop(key, None))
                for name in ignore:
                    fields.pop(name, None)
                if features is not None:
                    fields = {name: fields[name] for name in fields if name in features}
                found = list(fields)
                if found != names:
                    if names is not None or not found:
                        return None
                    names = found
                flat += fields.values()
            kinds = set(map(type, flat))
            others = set(map(type, labels)) | set(map(type, keys))
            if names is None or not {str}.issuperset(map(type, names)):
                return None
            if not kinds <= _NUMBERS or not others <= _PLAIN:
                return None
            values = np.array(flat, dtype=np.float64).reshape(len(raws), len(names))
        except (ValueError, TypeError, AttributeError, OverflowError):
            return None
        self.values.settle(values)
        if np.isinf(values).any():
            return None
        return Columns(tuple(names), values, labels, keys)


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
    >>> raws = [b'{"a": 1, "b": "NA", "y": "up"}', b'{"a": "x", "b": "0.5"}', b'{"a": "x"}']
    >>> batch = codec.decode(raws, list("xyz"), {})
    >>> batch.names, batch.values, batch.labels
    (('a', 'b'), array([[1. , nan], [nan, 0.5]]), ['up', None])
    >>> batch.bad_fields[0].field, batch.bad_fields[0].reason
    ('a', 'not a number')
    >>> batch.rejected[0].place, batch.rejected[0].reason, batch.rejected[0].detail
    ('z', 'not a number', "'a': 'x'")

    """

    def __init__(self, names: Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(orjson.loads, names, **options)
        self._shape: JsonShape | None = None  # of the last records

    def quick(self, raws: Spans) -> Quick | None:
        """Read many objects at once that look the same."""
        read = None
        if self._shape is not None:
            read = self._shape.read(raws)
            if read is not None and read.odd[0] != ODD:
                return _mostly(read)
        shape = self._shape_of(raws[0])
        if shape is None or shape.like(self._shape):
            return _mostly(read)
        self._shape = shape
        return _mostly(shape.read(raws))

    def _shape_of(self, raw: bytes | None) -> JsonShape | None:
        try:
            fields = orjson.loads(raw or b"")
        except ValueError:
            return None
        return JsonShape.of(fields, self.selection, self.values, self.names)

    def one(self, raw: bytes) -> Record | None:
        """Read one object; None for a blank line."""
        try:
            fields = self.loads(raw)
        except ValueError as error:
            if not raw.strip(b" \t\r\n"):
                return None
            fields = _lenient(raw, str(error))
        return self.record(self.checked(fields, raw))


def _mostly(read: Quick | None) -> Quick | None:
    """Return what was read, None if so many records are odd that reading objects is faster."""
    if read is None or np.count_nonzero(read.odd) * _MOSTLY > len(read.odd):
        return None
    return read


def _lenient(raw: bytes, said: str) -> Any:
    """Read what Python's own json writes for NaN and infinity. Raises Bad."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Bad("invalid UTF-8", f"byte {error.start + 1}: {show(raw)[:80]}") from None
    if "NaN" in text or "Infinity" in text:
        try:
            fields = json.loads(text)
            json.dumps(fields, ensure_ascii=False).encode()  # halves of characters are refused
        except (ValueError, RecursionError):
            pass
        else:
            return fields
    raise Bad("invalid JSON", f"{said[:60]}: {show(raw)[:80]}")
