"""What is no number, in a float64: names and times, see ``kernels/boxes.py``."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import (
    CONTENT,
    DAY_BITS,
    FIRST_BOX,
    KIND_BITS,
    KIND_SHIFT,
    NAME,
    TIME,
    code_of,
    codes_of,
)

_BITS, _FLOAT = struct.Struct("<q"), struct.Struct("<d")
#: Half a pair of surrogates, which no UTF-8 has, takes three bytes of its own.
_UTF_8 = ("utf-8", "surrogatepass")
_PLAIN_NAN = 0x7FF8000000000000


def boxed(kind: int, content: int) -> float:
    """Return the NaN that holds this.

    Parameters
    ----------
    kind
        `NAME` or `TIME`.
    content
        48 bits.

    """
    number: float = _FLOAT.unpack(_BITS.pack(_PLAIN_NAN | kind << KIND_SHIFT | content))[0]
    return number


def unboxed(value: float) -> tuple[int, int]:
    """Return the kind and the content of a box; (0, 0) for a number or a missing value.

    Parameters
    ----------
    value
        Any float.

    Examples
    --------
    >>> unboxed(boxed(NAME, 7)), unboxed(float("nan")), unboxed(7.0)
    ((1, 7), (0, 0), (0, 0))

    """
    bits: int = _BITS.unpack(_FLOAT.pack(value))[0]
    if bits < FIRST_BOX:
        return 0, 0
    return bits >> KIND_SHIFT & KIND_BITS, bits & CONTENT


def name_code(text: str) -> int:
    """Return 48 bits that stand for a name, the same in every process.

    Parameters
    ----------
    text
        The name; every character counts, also its case.

    Examples
    --------
    >>> hex(name_code("DE"))
    '0x9de3703e6015'

    """
    return int(code_of(np.frombuffer(text.encode(*_UTF_8), dtype=np.uint8)))


def name_codes(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return what `name_code` gives for each of some names.

    Parameters
    ----------
    texts
        The names.

    Examples
    --------
    >>> name_codes(["DE", "é"]).tolist() == [name_code("DE"), name_code("é")]
    True

    """
    joined = "".join(texts)
    each = texts if joined.isascii() else [text.encode(*_UTF_8) for text in texts]
    ends = np.fromiter(accumulate(map(len, each)), np.int64, len(texts))
    codes = np.empty(len(texts), dtype=np.int64)
    codes_of(np.frombuffer(joined.encode(*_UTF_8), dtype=np.uint8), ends, codes)
    return codes


def boxed_name(text: str) -> float:
    """Return a name as a value of a row.

    Parameters
    ----------
    text
        The name.

    Examples
    --------
    >>> boxed_name("DE"), unboxed(boxed_name("DE")) == (NAME, name_code("DE"))
    (nan, True)

    """
    return boxed(NAME, name_code(text))


def boxed_time(weekday: int, second: int) -> float:
    """Return a time as a value of a row.

    Parameters
    ----------
    weekday
        0 (Monday) to 6.
    second
        Of the day.

    """
    return boxed(TIME, weekday << DAY_BITS | second)


def time_of(content: int) -> tuple[float, float]:
    """Return the hour (with its fraction) and the weekday of a time's content.

    Parameters
    ----------
    content
        What `unboxed` gave.

    Examples
    --------
    >>> time_of(unboxed(boxed_time(2, 45_000))[1])
    (12.5, 2.0)

    """
    return (content & ((1 << DAY_BITS) - 1)) / 3600.0, float(content >> DAY_BITS)
