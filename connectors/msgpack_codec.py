"""msgpack, a map a record, or an array of values whose names are given once."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import msgpack

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.columns import Record
from stream_llsvm.connectors.json_codec import framed, is_framed
from stream_llsvm.connectors.object_codec import ObjectCodec
from stream_llsvm.connectors.values import Bad
from stream_llsvm.records.values import show


class MsgpackCodec(ObjectCodec):
    """Reads msgpack values.

    Parameters
    ----------
    names
        The names of the fields, if records are arrays. Maps are read with or without them.
    options
        As for every `Codec`.

    Examples
    --------
    >>> codec = MsgpackCodec(["a", "y"], label="y")
    >>> batch = codec.decode([msgpack.packb([1.5, "up"])], ["x"], {})
    >>> batch.names, batch.values, batch.labels
    (('a',), array([[1.5]]), ['up'])

    """

    def __init__(self, names: Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(msgpack.unpackb, names, **options)

    def only(self, field: str) -> Codec:
        """Return what reads nothing of the same records but this field, as their label."""
        way = None if self.unwrap is None else ".".join(self.unwrap)
        return MsgpackCodec(self.names, label=field, features=(), unwrap=way)

    def one(self, raw: bytes) -> Record | None:
        """Read one value."""
        try:
            fields = self.loads(raw)
        except Exception as error:  # it raises errors of many kinds, some of its own
            if is_framed(raw):
                raise framed(raw) from None
            detail = f"{type(error).__name__} {error}"[:60]
            reason = "invalid UTF-8" if isinstance(error, UnicodeDecodeError) else "invalid msgpack"
            raise Bad(reason, f"{detail}: {show(raw)[:80]}") from None
        fields = self.checked(fields, raw)
        for name, value in fields.items():
            if not isinstance(name, str):
                raise Bad("odd field name", show(name)[:80])
            if isinstance(value, msgpack.Timestamp):
                fields[name] = _moment(value)
        return self.record(fields)


def _moment(value: msgpack.Timestamp) -> datetime.datetime | str:
    """Return the moment of a timestamp; its text if it is further off than Python knows."""
    try:
        moment: datetime.datetime = value.to_datetime()
    except (OverflowError, ValueError):
        return str(value)
    return moment
