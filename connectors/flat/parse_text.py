"""Values that are written out -> one float64: digits, words for a number, times, and names.

What is no number is a box, see ``kernels/boxes.py``. The loops leave to Python what they are not
certain of: three words or more, which are a text, and what might be a number or a missing value by
some sign that only Python knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, Bits, aside, part
from stream_llsvm.connectors.flat.gather import ODD, READ, WIDE
from stream_llsvm.connectors.flat.note import Notes, note
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.parse_time import begins_as_date, time_value
from stream_llsvm.connectors.flat.pointers import byte, float_of
from stream_llsvm.kernels.boxes import HASH_START, NAME, hash_end, hash_step
from stream_llsvm.records.boxes import boxed

#: What a field's values are taken for: by themselves, or always for this. Up to `NUMBER` they may
#: be numbers. The loops compare: looking into a tuple takes them longer.
AUTO, NUMBER, NAMES, TIMES, TEXT = range(5)

#: The same as `Texts`, without a class, by whose name compiled code would be kept on disk.
Plain = tuple[int, Array, Array, Array, bool, bool]

_NAME_BOX = np.array(boxed(NAME, 0)).view(np.uint64)[()]
_MOST_WORDS = 2  # of a name; more are a text
_POINT = 46
_INFINITY = np.frombuffer(b"infinity", dtype=np.uint8)
_NAN = np.frombuffer(b"nan", dtype=np.uint8)


class Texts(NamedTuple):
    """How values are written.

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
    sentinels
        Whether some numbers stand for a missing value.
    others
        Whether there are words of other letters than ASCII, which only Python knows.

    """

    point: int
    words: Array
    ends: Array
    worth: Array
    sentinels: bool
    others: bool


def as_texts(decimal: str, words: Mapping[str, float], *, sentinels: bool) -> Texts:
    """Return what the loops need to know."""
    plain = {word.encode(): worth for word, worth in words.items() if word and word.isascii()}
    joined = b"".join(plain) or b"-"
    return Texts(
        ord(decimal),
        np.frombuffer(joined, dtype=np.uint8),
        np.cumsum([len(word) for word in plain], dtype=np.int64),
        np.array(list(plain.values()), dtype=np.float64),
        sentinels,
        not all(map(str.isascii, words)),
    )


_step: Any = part(hash_step)
_end: Any = part(hash_end)


@aside
def text_value(
    data: Begin, at: int, stop: int, kind: int, texts: Texts, notes: Notes
) -> tuple[float, int]:
    """Read a text from its first byte to its last: its value, and whether that is known."""
    while at < stop and byte(data, at) == 32:
        at += 1
    while stop > at and byte(data, stop - 1) == 32:
        stop -= 1
    if at == stop:
        return np.nan, READ
    value, end = number(data, at, stop, False, texts.point)
    counts = kind <= NUMBER
    if end == stop and counts:
        return value, READ
    if end == stop and (texts.sentinels or kind == TIMES):
        return np.nan, ODD
    worth, known = _word(data, at, stop, texts)
    if known and (counts or worth != worth):  # noqa: PLR0124  NaN
        return worth, READ
    if kind in (NUMBER, TEXT):
        return np.nan, ODD
    if kind != NAMES and begins_as_date(data, at, stop):
        return time_value(data, at, stop)
    if kind == TIMES or (end < 0 and _beyond_numbers(data, at, stop)):
        return np.nan, ODD
    return _name(data, at, stop, kind, end, texts, notes)


@part
def _word(data: Begin, at: int, stop: int, texts: Texts) -> tuple[float, bool]:
    """Look a text up among the words; capitals do not matter."""
    begin = 0
    for word in range(len(texts.ends)):
        end = texts.ends[word]
        if end - begin == stop - at and _is(data, at, stop, texts.words, begin):
            return texts.worth[word], True
        begin = end
    return np.nan, False


@part
def _is(data: Begin, at: int, stop: int, words: Array, begin: int) -> bool:
    """Whether a text is the word that begins here; capitals do not matter."""
    for k in range(stop - at):
        one = byte(data, at + k)
        if 65 <= one <= 90:
            one += 32
        if one != words[begin + k]:
            return False
    return True


@part
def _beyond_numbers(data: Begin, at: int, stop: int) -> bool:
    """Whether this is infinity, or NaN, as Python reads them."""
    if byte(data, at) in (43, 45):
        at += 1
    size = stop - at
    if size == len(_NAN) and _is(data, at, stop, _NAN, 0):
        return True
    return size in (3, len(_INFINITY)) and _is(data, at, stop, _INFINITY, 0)


@part
def name_value(h: Bits, begin: int, stop: int, notes: Notes) -> float:
    """Return the box of a name whose bytes went into the hash, which is noted."""
    content = _end(h)
    note(notes, np.int64(content), begin, stop)
    return float_of(_NAME_BOX | content)


@part
def plain_name(data: Begin, at: int, stop: int, notes: Notes) -> float:
    """Return the box of a name that needs no look."""
    h = HASH_START
    for k in range(at, stop):
        h = _step(h, np.uint64(byte(data, k)))
    return name_value(h, at, stop, notes)


@part
def _name(
    data: Begin, at: int, stop: int, kind: int, end: int, texts: Texts, notes: Notes
) -> tuple[float, int]:
    """Read a name, which has no blanks at its ends; odd if it may be something else.

    ``end`` is where a number ended with which it begins; below 0 if that is not known.
    """
    h = HASH_START
    letters = digits = wide = blank = False
    words = 1
    for k in range(at, stop):
        one = byte(data, k)
        h = _step(h, np.uint64(one))
        if one == 32:
            words += 0 if blank else 1
            blank = True
            continue
        blank = False
        if one < 32:
            return np.nan, ODD  # it may be a blank to Python
        if one > 127:
            wide = letters = True
            if one == 0xE2 and k + 1 < stop and byte(data, k + 1) == 0x84:
                return np.nan, ODD  # here lies the one sign whose small letter is one of ASCII
        elif 48 <= one <= 57:
            digits = True
        elif one not in (43, 44, 45, _POINT, 69, 95, 101):  # + , - . E _ e
            letters = True
    if wide and texts.others:
        return np.nan, ODD
    if kind == AUTO:
        if words > _MOST_WORDS:
            return np.nan, ODD
        # Without a letter it may be a number to Python, or one with other decimals.
        if digits and not letters and (end < 0 or texts.point != _POINT):
            return np.nan, ODD
    elif texts.sentinels and not letters:
        return np.nan, ODD
    return name_value(h, at, stop, notes), WIDE if wide else READ
