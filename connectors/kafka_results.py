"""Results -> messages of Kafka: JSON, the record's key, and its place in a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from stream_llsvm.connectors.base import Result
from stream_llsvm.connectors.kafka_bundles import Message, coded

_HOW = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
_SOURCE = "source"  # the header with the record's place


def as_messages(results: Sequence[Result], model_version: str | None) -> list[Message]:
    r"""Return a message for each result.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> result = Result(Place("in", 0, 7), "k", None, "up", {"up": 0.75})
    >>> message = as_messages([result], None)[0]
    >>> message.key, message.headers
    (b'k', b'\x02\x0csource\x0cin/0@7')

    """
    more = headers(b"", model_version)[1:]
    # The same for all but the place, whose length has one byte as long as it is below 64.
    whole = coded([(_SOURCE, b""), *more])
    before = whole[: 2 + len(_SOURCE)]
    after = whole[len(before) + 1 :]
    made = []
    for result in results:
        where = str(result[0])
        place = where.encode()
        size = len(place)
        if size < 64:
            own = b"%b%c%b%b" % (before, size << 1, place, after)
        else:
            own = coded([(_SOURCE, place), *more])
        made.append(Message(as_key(result[1]), value_of(result, where), own))
    return made


def headers(place: bytes, model_version: str | None) -> list[tuple[str, bytes]]:
    """Return a message's headers."""
    model = [] if model_version is None else [("model", model_version.encode())]
    return [(_SOURCE, place), *model]


def value_of(result: Result, where: str) -> bytes:
    """Return a message's value."""
    _, key, label, prediction, proba = result
    message = {"place": where, "key": key, "label": label, "prediction": prediction, "proba": proba}
    try:
        return orjson.dumps(message, _as_text, _HOW)
    except TypeError:  # numpy's scalars are no keys
        message["proba"] = None if proba is None else {_plain(k): p for k, p in proba.items()}
        return orjson.dumps(message, _as_text, _HOW)


def as_key(key: Any) -> bytes | None:
    """Return a record's key as a message's."""
    if key is None or isinstance(key, bytes):
        return key
    return str(key).encode(errors="surrogatepass")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _as_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
