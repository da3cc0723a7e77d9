"""Messages -> records: which codec reads them, and what a message has beside its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.csv_codec import CsvCodec
from stream_llsvm.connectors.json_codec import JsonCodec
from stream_llsvm.connectors.msgpack_codec import MsgpackCodec

FORMATS = ("json", "msgpack", "csv")


def message_codec(
    format: str = "json", names: Sequence[str] | None = None, **options: Any
) -> Codec:
    """Return what reads messages of a format.

    Parameters
    ----------
    format
        ``json`` or ``msgpack``: a map each, or an array if names are given; or ``csv``: a line
        each, without a header.
    names
        The names of the fields of an array or a line, given once for all.
    options
        As for every `Codec`.

    Examples
    --------
    >>> codec = message_codec("json", ["a", "y"], label="y")
    >>> batch = codec.decode([b"[1.5, 0]", b'{"y": 1, "a": 2}'], list("xy"), {})
    >>> batch.values, batch.labels
    (array([[1.5], [2. ]]), [0, 1])

    """
    if format == "json":
        return JsonCodec(names, **options)
    if format == "msgpack":
        return MsgpackCodec(names, **options)
    if format == "csv":
        if names is None:
            raise ValueError("csv messages have no header: give the names of their fields")
        return CsvCodec(names, **options)
    raise ValueError(f"messages are {', '.join(FORMATS)}; not {format!r}")


def text_or_bytes(key: bytes | None) -> str | bytes | None:
    """Return a message's own key as the text that it is, or else as it is."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
