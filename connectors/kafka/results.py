"""Results -> messages of Kafka: JSON as in files, the record's key, and its place in a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_llsvm.connectors.base import Result
from stream_llsvm.connectors.kafka.fast_write import Message, coded
from stream_llsvm.connectors.predictions import as_line

_SOURCE = "source"  # the header with the record's place


def as_messages(results: Sequence[Result], model_version: str | None) -> list[Message]:
    r"""Return a message for each result.

    Examples
    --------
    >>> from stream_llsvm.connectors.base import Place
    >>> result = Result(Place("in", 0, 7), "k", None, "up", 0.75)
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
        place = str(result[0]).encode()
        size = len(place)
        if size < 64:
            own = b"%b%c%b%b" % (before, size << 1, place, after)
        else:
            own = coded([(_SOURCE, place), *more])
        made.append(Message(as_key(result[1]), as_line(result), own))
    return made


def headers(place: bytes, model_version: str | None) -> list[tuple[str, bytes]]:
    """Return a message's headers."""
    model = [] if model_version is None else [("model", model_version.encode())]
    return [(_SOURCE, place), *model]


def as_key(key: Any) -> bytes | None:
    """Return a record's key as a message's."""
    if key is None or isinstance(key, bytes):
        return key
    return str(key).encode(errors="surrogatepass")
