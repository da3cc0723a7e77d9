"""Flat JSON -> numbers, names and times: records that all have the same fields in the same order.

The loop knows what to expect, and leaves every record to Python that is not exactly that: other
fields, text of three words or more, anything nested, escapes, what is no JSON at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, aside, entry, inside, part
from stream_llsvm.connectors.flat.gather import IGNORED, KEY, LABEL, ODD, READ, WIDE
from stream_llsvm.connectors.flat.note import Notes, has_room
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.parse_text import (
    AUTO,
    NAMES,
    NUMBER,
    TEXT,
    Plain,
    Texts,
    plain_name,
    text_value,
)
from stream_llsvm.connectors.flat.pointers import begin_of, byte

_QUOTE, _BACKSLASH, _COMMA, _COLON, _POINT = 34, 92, 44, 58, 46
_WHOLE = 18  # digits, which any 64 bits hold
_NULL = np.frombuffer(b"null", dtype=np.uint8)
_TRUE = np.frombuffer(b"true", dtype=np.uint8)
_FALSE = np.frombuffer(b"false", dtype=np.uint8)


class _Expected(NamedTuple):
    """The fields that are expected, and where their values go."""

    names: Begin
    name_ends: Array
    roles: Array
    kinds: Array
    values: Array
    spans: Array


@entry
def read_json(
    raws: tuple[Array, Array, Array], first: int, texts: Plain,
    fields: tuple[Array, Array, Array, Array], filled: tuple[Array, Array, Array],
    notes: tuple[Array, Array, Array],
) -> int:  # fmt: skip
    """Read records from one on; return up to which there was room to note new names.

    Parameters
    ----------
    raws
        The bytes of all, and where each record begins and ends.
    first
        The record to begin with.
    texts, fields, filled, notes
        See `Texts`, `Fields`, `Filled` and `Notes`.

    """
    data, starts, ends = raws
    names, name_ends, roles, kinds = fields
    values, spans, odd = filled
    begin, known, noted = begin_of(data), Texts(*texts), Notes(*notes)
    expected = _Expected(begin_of(names), name_ends, roles, kinds, values, spans)
    for i in range(first, len(starts)):
        if not has_room(noted, len(roles)):
            return i
        odd[i] = _record(begin, starts[i], ends[i], expected, known, noted, i)
    return len(starts)


@inside
def _record(
    data: Begin, at: int, stop: int, expected: _Expected, texts: Texts, notes: Notes, row: int
) -> int:
    """Read a record into its row of values and of spans; return what is known of it."""
    known, roles = READ, expected.roles
    named = len(expected.name_ends) > 0
    at = _blank(data, at, stop)
    if at == stop or byte(data, at) != (123 if named else 91):  # { or [
        return ODD
    at += 1
    begun = False  # whether a field has come
    for f in range(len(roles)):
        role = roles[f]
        before = at
        at = _blank(data, at, stop)
        if begun:
            # The label or the key may be missing, and with it the comma.
            if at < stop and byte(data, at) == _COMMA:
                at = _blank(data, at + 1, stop)
            elif named and role in (LABEL, KEY):
                at = before
                continue
            else:
                return ODD
        if named:
            after = _named(data, at, stop, expected, f)
            if after < 0:
                if role in (LABEL, KEY):
                    at = before
                    continue
                return ODD
            at = after
        if at >= stop:
            return ODD
        begun = True
        found = READ
        one, kind = byte(data, at), expected.kinds[f]
        if role >= 0 and (one == 45 or 48 <= one <= 57) and kind not in (NAMES, TEXT):
            expected.values[row, role], at = number(data, at, stop, True, _POINT)
        elif role >= 0:
            expected.values[row, role], at, found = _feature(data, at, stop, kind, texts, notes)
        else:
            begin = at
            at, found = _apart(data, at, stop, role)
            if role != IGNORED and at >= 0:
                which = 0 if role == LABEL else 2
                expected.spans[row, which], expected.spans[row, which + 1] = begin, at
        if at < 0 or found == ODD:
            return ODD
        if found == WIDE:
            known = WIDE
    at = _blank(data, at, stop)
    if at == stop or byte(data, at) != (125 if named else 93):  # } or ]
        return ODD
    return known if _blank(data, at + 1, stop) == stop else ODD


@part
def _apart(data: Begin, at: int, stop: int, role: int) -> tuple[int, int]:
    """Return where the value of a field ends that is no feature, and what is known of it."""
    begin, known = at, READ
    at = _scalar(data, at, stop)
    for k in range(begin, at):
        if byte(data, k) > 127:
            known = WIDE
    if at >= 0 and role == IGNORED and byte(data, begin) != _QUOTE:
        return at, known if _checked(data, begin, at) else ODD
    return at, known


@part
def _blank(data: Begin, at: int, stop: int) -> int:
    """Return where what is no blank begins."""
    while at < stop:
        one = byte(data, at)
        if one not in (32, 13, 10, 9):
            break
        at += 1
    return at


@part
def _named(data: Begin, at: int, stop: int, expected: _Expected, field: int) -> int:
    """Return where a field's value begins; -1 if it is another field."""
    ends = expected.name_ends
    begin = ends[field - 1] if field else 0
    size = ends[field] - begin
    if at + size + 2 > stop or byte(data, at) != _QUOTE or byte(data, at + 1 + size) != _QUOTE:
        return -1
    for k in range(size):
        if byte(data, at + 1 + k) != byte(expected.names, begin + k):
            return -1
    at = _blank(data, at + size + 2, stop)
    if at == stop or byte(data, at) != _COLON:
        return -1
    return _blank(data, at + 1, stop)


@aside
def _feature(
    data: Begin, at: int, stop: int, kind: int, texts: Texts, notes: Notes
) -> tuple[float, int, int]:
    """Read a feature's value; return it, where it ends, and what is known of it."""
    one = byte(data, at)
    if one == 45 or 48 <= one <= 57:
        end = number(data, at, stop, True, _POINT)[1]
        if kind == TEXT or texts.sentinels or end < 0 or end - at > _WHOLE:
            return 0.0, -1, ODD
        if not _whole(data, at, end):
            return 0.0, -1, ODD
        return plain_name(data, at, end, notes), end, READ
    if one == _QUOTE:
        end = _scalar(data, at, stop)
        if end < 0:
            return 0.0, -1, ODD
        value, known = text_value(data, at + 1, end - 1, kind, texts, notes)
        return value, end, known
    if _says(data, at, stop, _NULL):
        return np.nan, at + 4, READ
    if kind not in (AUTO, NUMBER):
        return 0.0, -1, ODD
    if _says(data, at, stop, _TRUE):
        return 1.0, at + 4, READ
    if _says(data, at, stop, _FALSE):
        return 0.0, at + 5, READ
    return 0.0, -1, ODD


@part
def _whole(data: Begin, at: int, stop: int) -> bool:
    """Whether a number is whole, and written as Python writes it."""
    for k in range(at + 1, stop):  # noqa: SIM110
        if not 48 <= byte(data, k) <= 57:
            return False
    return True


@part
def _says(data: Begin, at: int, stop: int, word: Array) -> bool:
    if at + len(word) > stop:
        return False
    for k in range(len(word)):  # noqa: SIM110
        if byte(data, at + k) != word[k]:
            return False
    return True


@part
def _scalar(data: Begin, at: int, stop: int) -> int:
    """Return where a text, number or word ends; -1 if it is odd. Only a text is all looked at."""
    if byte(data, at) == _QUOTE:
        at += 1
        while at < stop and byte(data, at) != _QUOTE:
            if byte(data, at) == _BACKSLASH or byte(data, at) < 32:
                return -1
            at += 1
        return at + 1 if at < stop else -1
    begin = at
    while at < stop:
        one = byte(data, at)
        letter = 97 <= one | 32 <= 122
        if not (letter or 48 <= one <= 57 or one in (45, 43, 46)):
            break
        at += 1
    return at if at > begin else -1


@part
def _checked(data: Begin, at: int, stop: int) -> bool:
    """Say whether what is no text is a number or one of the three words."""
    if byte(data, at) == 45 or 48 <= byte(data, at) <= 57:
        return number(data, at, stop, True, _POINT)[1] == stop
    for word in (_NULL, _TRUE, _FALSE):
        if stop - at == len(word) and _says(data, at, stop, word):
            return True
    return False
