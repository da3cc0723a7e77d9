"""Lines of CSV without quotes -> numbers.

The loop leaves every line to Python in which there is anything else than numbers, words that stand
for one or for a missing value, and the text of the fields that are no features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, entry, part
from stream_llsvm.connectors.flat.gather import KEY, LABEL, ODD, READ, WIDE
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.parse_text import Plain, Texts, text_value
from stream_llsvm.connectors.flat.pointers import begin_of, byte

_LONG = 100_000  # Python's csv refuses longer fields


class _Fields(NamedTuple):
    """What stands between fields, and what each is."""

    delimiter: int
    roles: Array


@entry
def read_csv(
    data: Array, starts: Array, ends: Array, delimiter: int, texts: Plain, roles: Array,
    values: Array, spans: Array, odd: Array,
) -> None:  # fmt: skip
    """Read lines.

    Parameters
    ----------
    data, starts, ends
        The bytes of all, and where each line begins and ends.
    delimiter
        What stands between two fields.
    texts
        How numbers are written.
    roles
        What each field is: the column of a feature, or `LABEL`, `KEY` or `IGNORED`.
    values
        Where the numbers go, (n, features).
    spans
        (n, 4), where label and key begin and end in the data, filled with -1.
    odd
        (n,), what is known of each line.

    """
    begin, known, fields = begin_of(data), Texts(*texts), _Fields(delimiter, roles)
    for i in range(len(starts)):
        odd[i] = _line(begin, starts[i], ends[i], fields, known, values, spans, i)


@part
def _line(
    data: Begin, at: int, stop: int, expected: _Fields, texts: Texts,
    values: Array, spans: Array, row: int,
) -> int:  # fmt: skip
    """Read a line into its row of values and of spans; return what is known of it."""
    delimiter, roles = expected
    if stop > at and byte(data, stop - 1) == 13:
        stop -= 1
    if stop == at or stop - at > _LONG:
        return ODD
    known = READ
    fields = len(roles)
    for f in range(fields):
        if f:
            if at == stop or byte(data, at) != delimiter:
                return ODD
            at += 1
        while at < stop and byte(data, at) == 32:
            at += 1
        role = roles[f]
        if role >= 0:
            if at == stop or byte(data, at) == delimiter:
                values[row, role] = np.nan
                continue
            begin = at
            values[row, role], at = number(data, at, stop, False, texts.point)
            while 0 <= at < stop and byte(data, at) == 32:
                at += 1
            if at < 0 or (at < stop and byte(data, at) != delimiter):
                at = begin
                while at < stop and byte(data, at) != delimiter:
                    at += 1
                values[row, role], known_word = text_value(data, begin, at, texts)
                if not known_word:
                    return ODD
            continue
        begin = at
        while at < stop and byte(data, at) != delimiter:
            one = byte(data, at)
            if one in (34, 13, 10, 0):
                return ODD
            if one > 127:
                known = WIDE
            at += 1
        if role == LABEL:
            spans[row, 0], spans[row, 1] = begin, at
        elif role == KEY:
            spans[row, 2], spans[row, 3] = begin, at
    return known if at == stop else ODD
