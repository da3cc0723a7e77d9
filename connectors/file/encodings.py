"""Encodings: what is not UTF-8 is turned into it as it is read."""

from __future__ import annotations

import codecs

from stream_llsvm.connectors.file.byte_streams import TAIL, ByteStream, open_stream, too_short

_BLOCK = 1 << 18


def open_encoded(path: str, encoding: str | None) -> ByteStream:
    """Open a file by its name, as `open_stream`, and turn it into UTF-8 if it is not (None)."""
    stream = open_stream(path)
    return stream if encoding is None else Utf8Stream(path, stream, encoding)


class Utf8Stream:
    """What another stream holds, turned into UTF-8; offsets count bytes of that.

    What is not of the encoding becomes a byte that is not UTF-8, by which its record is rejected.

    Parameters
    ----------
    path
        The name of the file, for messages.
    stream
        Its bytes as they are, from the beginning.
    encoding
        What they are.

    """

    def __init__(self, path: str, stream: ByteStream, encoding: str) -> None:
        self.path = path
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_SPOILED)
        self._held = b""  # turned already

    def read(self, size: int, timeout: float) -> bytes | None:
        """Return some bytes, b"" at the end, None if none came within so many seconds."""
        data, self._held = self._held, b""
        while not data:
            raw = self._stream.read(size, timeout)
            if raw is None:
                return None
            text = self._decoder.decode(raw, final=not raw)
            data = text.encode(errors="surrogateescape")
            if not raw:
                break
        return data

    def skip(self, offset: int) -> bytes:
        """Read up to this offset; return the bytes before it."""
        tail = b""
        while offset:
            data = self.read(_BLOCK, 0)
            if not data:
                raise too_short(self.path, offset)
            here, self._held = data[:offset], data[offset:]
            tail = (tail + here)[-TAIL:]
            offset -= len(here)
        return tail

    def close(self) -> None:
        """Let go of the stream."""
        self._stream.close()


def _spoiled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end  # the byte 255, which is nowhere in UTF-8


_SPOILED = "stream_llsvm.spoiled"
codecs.register_error(_SPOILED, _spoiled)


def as_encoding(name: str) -> str | None:
    """Return an encoding by its usual name, None for UTF-8, which needs no work.

    Examples
    --------
    >>> as_encoding("Latin1"), as_encoding("UTF8"), as_encoding("utf-8-sig")
    ('iso8859-1', None, None)

    """
    try:
        found = codecs.lookup(name)
    except LookupError:
        found = None
    if found is None or not found._is_text_encoding:
        raise ValueError(f"unknown encoding {name!r}: utf-8, latin-1, cp1252, utf-16, ...")
    return None if found.name in ("utf-8", "utf-8-sig", "ascii") else found.name
