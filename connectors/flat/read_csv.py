"""Lines of CSV -> numbers, names and times.

The loop leaves every line to Python in which there is a quote within a field, a text of three words
or more, or what only Python can tell from a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, entry, part
from stream_llsvm.connectors.flat.gather import KEY, LABEL, ODD, READ, WIDE
from stream_llsvm.connectors.flat.note import Notes, has_room
from stream_llsvm.connectors.flat.parse_float import number
from stream_llsvm.connectors.flat.parse_text import NUMBER, Plain, Texts, text_value
from stream_llsvm.connectors.flat.pointers import begin_of, byte

_LONG = 100_000  # Python's csv refuses longer fields
_QUOTE = 34


class _Line(NamedTuple):
    """What a line looks like, and where its values go."""

    delimiter: int
    point: int
    roles: Array
    kinds: Array
    values: Array
    spans: Array


@entry
def read_csv(
    raws: tuple[Array, Array, Array], first: int, delimiter: int, texts: Plain,
    fields: tuple[Array, Array, Array, Array], filled: tuple[Array, Array, Array],
    others: Array, notes: tuple[Array, Array, Array],
) -> int:  # fmt: skip
    """Read lines from one on; return up to which there was room to note new names.

    Parameters
    ----------
    raws
        The bytes of all, and where each line begins and ends.
    first
        The line to begin with.
    delimiter
        What stands between two fields.
    texts, fields, filled, notes
        See `Texts`, `Fields`, `Filled` and `Notes`; fields are not named.
    others
        Scratch, int64 (fields, 3).

    """
    data, starts, ends = raws
    _, _, roles, kinds = fields
    values, spans, odd = filled
    begin, known, noted = begin_of(data), Texts(*texts), Notes(*notes)
    line = _Line(delimiter, known.point, roles, kinds, values, spans)
    for i in range(first, len(starts)):
        if not has_room(noted, len(roles)):
            return i
        # What is no number is looked at after the line: the loop over its bytes must stay small.
        found, count = _line(begin, starts[i], ends[i], line, others, i)
        for k in range(count):
            if found == ODD:
                break
            field, at, stop = others[k]
            value, told = text_value(begin, at, stop, kinds[field], known, noted)
            values[i, roles[field]] = value
            if told != READ:
                found = told
        odd[i] = found
    return len(starts)


@part
def _line(data: Begin, at: int, stop: int, line: _Line, others: Array, row: int) -> tuple[int, int]:
    """Read a line into its row of values and of spans.

    Return what is known of it, and how many fields are no numbers: ``others`` has which, and where
    each begins and ends.
    """
    count = 0
    delimiter, roles = line.delimiter, line.roles
    if stop > at and byte(data, stop - 1) == 13:
        stop -= 1
    if stop == at or stop - at > _LONG:
        return ODD, 0
    known = READ
    for f in range(len(roles)):
        if f:
            if at == stop or byte(data, at) != delimiter:
                return ODD, 0
            at += 1
        while at < stop and byte(data, at) == 32:
            at += 1
        role, kind = roles[f], line.kinds[f]
        begin = at
        if role >= 0 and kind <= NUMBER:
            if at == stop or byte(data, at) == delimiter:
                line.values[row, role] = np.nan
                continue
            line.values[row, role], at = number(data, at, stop, False, line.point)
            while 0 <= at < stop and byte(data, at) == 32:
                at += 1
            if at >= 0 and (at == stop or byte(data, at) == delimiter):
                continue
            at = begin
        ends = delimiter
        if at < stop and byte(data, at) == _QUOTE:
            ends = _QUOTE
            at += 1
            begin = at
        while at < stop and byte(data, at) != ends:
            one = byte(data, at)
            if one in (_QUOTE, 13, 10, 0):
                return ODD, 0
            if one > 127:
                known = WIDE
            at += 1
        end = at
        if ends == _QUOTE:
            if at == stop:
                return ODD, 0
            at += 1
        if role >= 0:
            others[count, 0], others[count, 1], others[count, 2] = f, begin, end
            count += 1
        elif role == LABEL:
            line.spans[row, 0], line.spans[row, 1] = begin, end
        elif role == KEY:
            line.spans[row, 2], line.spans[row, 3] = begin, end
    return (known, count) if at == stop else (ODD, 0)
