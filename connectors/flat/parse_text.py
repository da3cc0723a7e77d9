"""Values that are written out -> numbers: digits, and words that stand for a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, part
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.pointers import byte

#: The same as `Texts`, without a class, by whose name compiled code would be kept on disk.
Plain = tuple[int, Array, Array, Array]


class Texts(NamedTuple):
    """How numbers are written.

    Attributes
    ----------
    point
        The byte that stands before decimals.
    words
        uint8, words in small letters, one after the other.
    ends
        int64, where in them each ends.
    worth
        float64, the number that each stands for; NaN for a missing value.

    """

    point: int
    words: Array
    ends: Array
    worth: Array


def as_texts(decimal: str, words: Mapping[str, float]) -> Texts:
    """Return what the loops need to know; words of other than ASCII are left to Python."""
    plain = {word.encode(): worth for word, worth in words.items() if word and word.isascii()}
    joined = b"".join(plain) or b"-"
    return Texts(
        ord(decimal),
        np.frombuffer(joined, dtype=np.uint8),
        np.cumsum([len(word) for word in plain], dtype=np.int64),
        np.array(list(plain.values()), dtype=np.float64),
    )


@part
def text_value(data: Begin, at: int, stop: int, texts: Texts) -> tuple[float, bool]:
    """Read a text from its first byte to its last: its value, and whether that is known."""
    while at < stop and byte(data, at) == 32:
        at += 1
    while stop > at and byte(data, stop - 1) == 32:
        stop -= 1
    if at == stop:
        return np.nan, True
    value, end = number(data, at, stop, False, texts.point)
    if end == stop:
        return value, True
    return _word(data, at, stop, texts)


@part
def _word(data: Begin, at: int, stop: int, texts: Texts) -> tuple[float, bool]:
    """Look a text up among the words; capitals do not matter."""
    begin = 0
    for word in range(len(texts.ends)):
        end = texts.ends[word]
        if end - begin == stop - at:
            same = True
            for k in range(stop - at):
                one = byte(data, at + k)
                if 65 <= one <= 90:
                    one += 32
                if one != texts.words[begin + k]:
                    same = False
                    break
            if same:
                return texts.worth[word], True
        begin = end
    return np.nan, False
