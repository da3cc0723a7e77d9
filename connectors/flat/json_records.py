"""Flat JSON -> numbers: records that all have the same fields in the same order, as most do.

The loop knows what to expect, and leaves every record to Python that is not exactly that: other
names, text where a number should be, anything nested, escapes, what is no JSON at all.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.connectors.flat.compiled import Array, entry, part
from stream_llsvm.connectors.flat.fields import IGNORED, KEY, LABEL, ODD, READ, WIDE
from stream_llsvm.connectors.flat.numbers import number, store

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_NULL = np.frombuffer(b"null", dtype=np.uint8)
_TRUE = np.frombuffer(b"true", dtype=np.uint8)
_FALSE = np.frombuffer(b"false", dtype=np.uint8)


@entry
def read_json(
    data: Array, starts: Array, ends: Array, names: Array, name_ends: Array, roles: Array,
    values: Array, bits: Array, spans: Array, odd: Array,
) -> None:  # fmt: skip
    """Read records.

    Parameters
    ----------
    data, starts, ends
        The bytes of all, and where each record begins and ends.
    names, name_ends
        The names of the fields in their order, one after the other; of arrays there are none.
    roles
        What each field is: the column of a feature, or `LABEL`, `KEY` or `IGNORED`.
    values, bits
        Where the numbers go, (n, features), and the same memory as whole numbers.
    spans
        (n, 4), where label and key begin and end in the data, filled with -1.
    odd
        (n,), what is known of each record.

    """
    for i in range(len(starts)):
        odd[i] = _record(
            data, starts[i], ends[i], names, name_ends, roles, values, bits, spans, i
        )  # fmt: skip


@part
def _record(
    data: Array, at: int, stop: int, names: Array, name_ends: Array, roles: Array,
    values: Array, bits: Array, spans: Array, row: int,
) -> int:  # fmt: skip
    known = READ
    named = len(name_ends) > 0
    at = _blank(data, at, stop)
    if at == stop or data[at] != (123 if named else 91):  # { or [
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
            if at < stop and data[at] == _COMMA:
                at = _blank(data, at + 1, stop)
            elif named and role in (LABEL, KEY):
                at = before
                continue
            else:
                return ODD
        if named:
            after = _named(data, at, stop, names, name_ends, f)
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
            at = _feature(data, at, stop, values, bits, row, role)
        else:
            begin = at
            at = _scalar(data, at, stop)
            if at < 0:
                return ODD
            for k in range(begin, at):
                if data[k] > 127:
                    known = WIDE
            if role == IGNORED:
                if data[begin] != _QUOTE and not _checked(data, begin, at):
                    return ODD
            else:
                which = 0 if role == LABEL else 2
                spans[row, which], spans[row, which + 1] = begin, at
        if at < 0:
            return ODD
    at = _blank(data, at, stop)
    if at == stop or data[at] != (125 if named else 93):  # } or ]
        return ODD
    return known if _blank(data, at + 1, stop) == stop else ODD


@part
def _blank(data: Array, at: int, stop: int) -> int:
    """Return where what is no blank begins."""
    while at < stop and (data[at] == 32 or data[at] == 13 or data[at] == 10 or data[at] == 9):
        at += 1
    return at


@part
def _named(data: Array, at: int, stop: int, names: Array, name_ends: Array, field: int) -> int:
    """Return where a field's value begins; -1 if it is another field."""
    begin = name_ends[field - 1] if field else 0
    size = name_ends[field] - begin
    if at + size + 2 > stop or data[at] != _QUOTE or data[at + 1 + size] != _QUOTE:
        return -1
    for k in range(size):
        if data[at + 1 + k] != names[begin + k]:
            return -1
    at = _blank(data, at + size + 2, stop)
    if at == stop or data[at] != _COLON:
        return -1
    return _blank(data, at + 1, stop)


@part
def _feature(
    data: Array, at: int, stop: int, values: Array, bits: Array, row: int, column: int
) -> int:
    """Read a feature's value; return where it ends, -1 if it is odd."""
    byte = data[at]
    if byte == 45 or 48 <= byte <= 57:
        digits, power, negative, end = number(data, at, stop, True)
        if end < 0 or not store(digits, power, negative, values, bits, row, column):
            return -1
        return end
    if _says(data, at, stop, _NULL):
        values[row, column] = np.nan
        return at + 4
    if _says(data, at, stop, _TRUE):
        values[row, column] = 1.0
        return at + 4
    if _says(data, at, stop, _FALSE):
        values[row, column] = 0.0
        return at + 5
    return -1


@part
def _says(data: Array, at: int, stop: int, word: Array) -> bool:
    if at + len(word) > stop:
        return False
    for k in range(len(word)):  # noqa: SIM110
        if data[at + k] != word[k]:
            return False
    return True


@part
def _scalar(data: Array, at: int, stop: int) -> int:
    """Return where a text, number or word ends; -1 if it is odd. Only a text is all looked at."""
    if data[at] == _QUOTE:
        at += 1
        while at < stop and data[at] != _QUOTE:
            if data[at] == _BACKSLASH or data[at] < 32:
                return -1
            at += 1
        return at + 1 if at < stop else -1
    begin = at
    while at < stop:
        byte = data[at]
        letter = 97 <= byte | 32 <= 122
        if not (letter or 48 <= byte <= 57 or byte in (45, 43, 46)):
            break
        at += 1
    return at if at > begin else -1


@part
def _checked(data: Array, at: int, stop: int) -> bool:
    """Say whether what is no text is a number or one of the three words."""
    if data[at] == 45 or 48 <= data[at] <= 57:
        _, power, _, end = number(data, at, stop, True)
        return end == stop and power < 280  # a number beyond the floats is an error
    for word in (_NULL, _TRUE, _FALSE):
        if stop - at == len(word) and _says(data, at, stop, word):
            return True
    return False
