"""Flat JSON -> numbers: records that all have the same fields in the same order, as most do.

The loop knows what to expect, and leaves every record to Python that is not exactly that: other
names, text that is neither a number nor missing, anything nested, escapes, what is no JSON at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, entry, part
from stream_llsvm.connectors.flat.gather import IGNORED, KEY, LABEL, ODD, READ, WIDE
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.parse_text import Plain, Texts, text_value
from stream_llsvm.connectors.flat.pointers import begin_of, byte

_QUOTE, _BACKSLASH, _COMMA, _COLON, _POINT = 34, 92, 44, 58, 46
_NULL = np.frombuffer(b"null", dtype=np.uint8)
_TRUE = np.frombuffer(b"true", dtype=np.uint8)
_FALSE = np.frombuffer(b"false", dtype=np.uint8)


class _Fields(NamedTuple):
    """The fields that are expected: where their names begin and end, and what each is."""

    names: Begin
    name_ends: Array
    roles: Array


@entry
def read_json(
    data: Array, starts: Array, ends: Array, names: Array, name_ends: Array, texts: Plain,
    roles: Array, values: Array, spans: Array, odd: Array,
) -> None:  # fmt: skip
    """Read records.

    Parameters
    ----------
    data, starts, ends
        The bytes of all, and where each record begins and ends.
    names, name_ends
        The names of the fields in their order, one after the other; of arrays there are none.
    texts
        How numbers are written that are text.
    roles
        What each field is: the column of a feature, or `LABEL`, `KEY` or `IGNORED`.
    values
        Where the numbers go, (n, features).
    spans
        (n, 4), where label and key begin and end in the data, filled with -1.
    odd
        (n,), what is known of each record.

    """
    begin, known = begin_of(data), Texts(*texts)
    fields = _Fields(begin_of(names), name_ends, roles)
    for i in range(len(starts)):
        odd[i] = _record(begin, starts[i], ends[i], fields, known, values, spans, i)


@part
def _record(
    data: Begin, at: int, stop: int, expected: _Fields, texts: Texts,
    values: Array, spans: Array, row: int,
) -> int:  # fmt: skip
    """Read a record into its row of values and of spans; return what is known of it."""
    known, roles = READ, expected.roles
    named = len(expected.name_ends) > 0
    at = _blank(data, at, stop)
    if at == stop or byte(data, at) != (123 if named else 91):  # { or [
        return ODD
    at += 1
    begun = False  # whether a field has come
    fields = len(roles)
    for f in range(fields):
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
        if role >= 0:
            values[row, role], at = _feature(data, at, stop, texts)
        else:
            begin = at
            at = _scalar(data, at, stop)
            if at < 0:
                return ODD
            for k in range(begin, at):
                if byte(data, k) > 127:
                    known = WIDE
            if role == IGNORED:
                if byte(data, begin) != _QUOTE and not _checked(data, begin, at):
                    return ODD
            else:
                which = 0 if role == LABEL else 2
                spans[row, which], spans[row, which + 1] = begin, at
        if at < 0:
            return ODD
    at = _blank(data, at, stop)
    if at == stop or byte(data, at) != (125 if named else 93):  # } or ]
        return ODD
    return known if _blank(data, at + 1, stop) == stop else ODD


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
def _named(data: Begin, at: int, stop: int, expected: _Fields, field: int) -> int:
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


@part
def _feature(data: Begin, at: int, stop: int, texts: Texts) -> tuple[float, int]:
    """Read a feature's value; return it and where it ends, -1 if it is odd."""
    one = byte(data, at)
    if one == 45 or 48 <= one <= 57:
        return number(data, at, stop, True, _POINT)
    if one == _QUOTE:
        end = _scalar(data, at, stop)
        if end < 0:
            return 0.0, -1
        value, known = text_value(data, at + 1, end - 1, texts)
        return value, end if known else -1
    if _says(data, at, stop, _NULL):
        return np.nan, at + 4
    if _says(data, at, stop, _TRUE):
        return 1.0, at + 4
    if _says(data, at, stop, _FALSE):
        return 0.0, at + 5
    return 0.0, -1


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
