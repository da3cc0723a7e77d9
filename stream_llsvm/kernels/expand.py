"""From fields to columns: a name also becomes 0/1 columns, a time an hour and a weekday.

A layout is one array of whole numbers: how many fields and columns there are, what a sparse row
names, then a row for each field, which says where its columns are (-1: it has none), and then the
names that have columns, each with its code and its column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_llsvm.kernels.boxes import (
    DAY_BITS,
    FIRST_BOX,
    NAME,
    TIME,
    content_of,
    kind_of,
)
from stream_llsvm.kernels.compile import Array, Real, entry, kernel
from stream_llsvm.kernels.views import bits_of

#: So many names of a field get columns: the first that come.
MOST_NAMES = 30
#: What stands at the beginning of a layout.
N_FIELDS, N_COLUMNS, EXTENT = range(3)
HEAD = 3
#: What a sparse row names: of a field's names only the one that it has; all of these; all columns.
ONES, ZEROS, ALL = range(3)
#: A field's row: its own column, those of its hour, weekday and number of words, whether its name
#: says that it holds times, and where its names begin and end.
OWN, HOUR, WEEKDAY, WORDS, WHEN, FIRST, END = range(7)
ROW = 7
#: A kind of box that no value has: the record does not name the field.
NOTHING = 7
#: What lacks a column, beside the code of a name.
LACKS_OWN, LACKS_TIME, LACKS_WORDS = -1, -2, -3
#: What may become other columns: names and times, or numbers so large that they may be times.
LARGE, BOXES = 1, 2
_ABSENT = -np.inf
_NEVER = -(1 << 40)
#: From 2000 to 2100, in seconds; other units are a thousand times as many, and again.
EARLIEST, _LATEST, _UNITS = 946_684_800.0, 4_102_444_800.0, 4
_DAY, _THURSDAY = 86_400, 3


def epoch_moment(v: Any) -> int:
    """Return the content of the box for a number of seconds (ms, us, ns) since 1970, -1 for others.

    Only from 2000 to 2100: the units cannot be taken for each other.
    """
    unit = 1.0
    for _ in range(_UNITS):
        if EARLIEST * unit <= v < _LATEST * unit:
            seconds = int(v / unit)
            return (seconds // _DAY + _THURSDAY) % 7 << DAY_BITS | seconds % _DAY
        unit *= 1000.0
    return -1


_epoch_moment = kernel(epoch_moment)


@kernel
def _moment(v: Real, bits: int, says_when: int) -> int:
    """Return the content of a time's box, -1 for what is no time."""
    if kind_of(bits) == TIME:
        return content_of(bits)
    return _epoch_moment(v) if says_when == 1 else -1


@kernel
def _place_of(layout: Array, row: int, code: int) -> int:
    """Return where a field's name stands in the layout, -1 if it has no column."""
    for t in range(layout[row + FIRST], layout[row + END], 2):
        if layout[t] == code:
            return t
    return -1


@kernel
def _is_new(layout: Array, row: int, code: int) -> bool:
    """Whether a name has no column yet, and there is one for it."""
    most = layout[row + FIRST] + 2 * MOST_NAMES
    return layout[row + END] < most and _place_of(layout, row, code) < 0


@kernel
def _lacks(v: Real, bits: int, layout: Array, row: int) -> int:
    """Return how many columns a single value lacks; far below 0 if it is infinite."""
    kind = kind_of(bits)
    if kind == NOTHING:
        return 0
    if math.isinf(v):
        return _NEVER
    if _moment(v, bits, layout[row + WHEN]) >= 0:
        return 2 if layout[row + HOUR] < 0 else 0
    missing = kind == 0 and v != v  # noqa: PLR0124
    lacking = 1 if layout[row + OWN] < 0 and not missing else 0
    if kind == NAME and _is_new(layout, row, content_of(bits)):
        lacking += 1
    return lacking


@kernel
def _put(v: Real, bits: int, layout: Array, row: int, out: Array) -> None:
    """Put a single value into a dense row."""
    kind = kind_of(bits)
    if kind == NOTHING:
        return
    own, hour = layout[row + OWN], layout[row + HOUR]
    moment = _moment(v, bits, layout[row + WHEN])
    if moment >= 0:
        if hour >= 0:
            out[hour] = (moment & ((1 << DAY_BITS) - 1)) / 3600.0
            out[layout[row + WEEKDAY]] = float(moment >> DAY_BITS)
        return
    if own >= 0:
        out[own] = v
    elif kind == 0 and v != v and hour >= 0:  # noqa: PLR0124  NaN: a time that is missing
        out[hour] = out[layout[row + WEEKDAY]] = v
    if kind == NAME:
        code = content_of(bits)
        for t in range(layout[row + FIRST], layout[row + END], 2):
            out[layout[t + 1]] = 1.0 if layout[t] == code else 0.0


@entry
def expand_dense(values: Array, layout: Array, out: Array) -> int:
    """Fill dense rows; returns how many columns they lack, below 0 if a value is infinite.

    ``values`` has one number a field, row after row; ``out`` is (rows, columns).
    """
    bits = bits_of(values)
    n, lacking = layout[N_FIELDS], 0
    for q in range(out.shape[0]):
        out[q, :] = _ABSENT
        for f in range(n):
            i = q * n + f
            row = HEAD + ROW * f
            lacking += _lacks(values[i], bits[i], layout, row)
            _put(values[i], bits[i], layout, row, out[q])
    return lacking


@kernel
def _append(columns: Array, values: Array, at: int, column: int, v: Real) -> int:
    columns[at], values[at] = column, v
    return at + 1


@kernel
def _append_field(
    v: Real, bits: int, layout: Array, row: int, columns: Array, values: Array
) -> int:
    """Write what a single value names into a sparse row; returns how many columns these are."""
    kind, at = kind_of(bits), 0
    if kind == NOTHING:
        return 0
    own, hour = layout[row + OWN], layout[row + HOUR]
    moment = _moment(v, bits, layout[row + WHEN])
    if moment >= 0:
        if hour >= 0:
            second = moment & ((1 << DAY_BITS) - 1)
            at = _append(columns, values, at, hour, second / 3600.0)
            at = _append(columns, values, at, layout[row + WEEKDAY], float(moment >> DAY_BITS))
        return at
    if own >= 0:
        at = _append(columns, values, at, own, v)
    elif kind == 0 and v != v and hour >= 0:  # noqa: PLR0124
        at = _append(columns, values, at, hour, v)
        at = _append(columns, values, at, layout[row + WEEKDAY], v)
    if kind == NAME:
        code = content_of(bits)
        if layout[EXTENT] == ONES:
            t = _place_of(layout, row, code)
            return at if t < 0 else _append(columns, values, at, layout[t + 1], 1.0)
        for t in range(layout[row + FIRST], layout[row + END], 2):
            at = _append(columns, values, at, layout[t + 1], 1.0 if layout[t] == code else 0.0)
    return at


@kernel
def _sort(columns: Array, values: Array) -> None:
    """Sort a row by its columns; those of one column keep their order."""
    for i in range(1, columns.size):
        column, v, j = columns[i], values[i], i
        while j > 0 and columns[j - 1] > column:
            columns[j], values[j] = columns[j - 1], values[j - 1]
            j -= 1
        columns[j], values[j] = column, v


@kernel
def _run_of(fields: Array, t: int, end: int) -> int:
    """Return how many entries from one on are of the same field: the words of a text."""
    length = 1
    while fields.size > 0 and t + length < end and fields[t + length] == fields[t]:
        length += 1
    return length


@entry
def expand_sparse(
    values: Array,
    fields: Array,
    starts: Array,
    layout: Array,
    out_values: Array,
    out_columns: Array,
    out_starts: Array,
) -> int:
    """Fill sparse rows; returns how many columns they lack, below 0 if a value is infinite.

    ``fields`` says of which field each value is, and ``starts`` where rows begin; without them each
    row has all fields. A field that comes several times in a row is a text, and these its words.
    """
    bits = bits_of(values)
    n, width, lacking, at = layout[N_FIELDS], layout[N_COLUMNS], 0, 0
    out_starts[0] = 0
    for q in range(out_starts.size - 1):
        begin, end = (starts[q], starts[q + 1]) if starts.size > 0 else (q * n, q * n + n)
        base = at
        if layout[EXTENT] == ALL:
            for c in range(width):
                at = _append(out_columns, out_values, at, c, _ABSENT)
        t = begin
        while t < end:
            row = HEAD + ROW * (fields[t] if fields.size > 0 else t - begin)
            words = _run_of(fields, t, end)
            own, counted = layout[row + OWN], layout[row + WORDS]
            if words > 1:
                lacking += (own < 0) + (counted < 0)
                for i in range(t, t + words):
                    if own < 0:
                        break
                    if i == t and layout[EXTENT] == ALL:
                        out_values[base + own] = values[i]
                    else:
                        at = _append(out_columns, out_values, at, own, values[i])
                if counted >= 0 and layout[EXTENT] == ALL:
                    out_values[base + counted] = float(words)
                elif counted >= 0:
                    at = _append(out_columns, out_values, at, counted, float(words))
            else:
                lacking += _lacks(values[t], bits[t], layout, row)
                if layout[EXTENT] == ALL:
                    _put(values[t], bits[t], layout, row, out_values[base : base + width])
                else:
                    at += _append_field(
                        values[t], bits[t], layout, row, out_columns[at:], out_values[at:]
                    )
            t += words
        _sort(out_columns[base:at], out_values[base:at])
        out_starts[q + 1] = at
    return lacking


@entry
def find_new(
    values: Array, fields: Array, starts: Array, counted: Array, layout: Array, found: Array
) -> int:
    """Find the rows at which columns come that the layout does not have; returns how many.

    Only rows that are ``counted``. Each is noted once, as the row, the field, and the code of a
    name or what it lacks; the layout, with room for 30 names a field, takes it in.
    """
    bits = bits_of(values)
    n, k = layout[N_FIELDS], 0
    for q in range(counted.size):
        if not counted[q]:
            continue
        begin, end = (starts[q], starts[q + 1]) if starts.size > 0 else (q * n, q * n + n)
        t = begin
        while t < end:
            f = fields[t] if fields.size > 0 else t - begin
            row = HEAD + ROW * f
            words, kind = _run_of(fields, t, end), kind_of(bits[t])
            own, hour = layout[row + OWN], layout[row + HOUR]
            moment = _moment(values[t], bits[t], layout[row + WHEN]) if words == 1 else -1
            code = content_of(bits[t])
            if moment >= 0:
                if hour < 0:
                    layout[row + HOUR] = layout[row + WEEKDAY] = 0
                    found[k] = (q, f, LACKS_TIME)
                    k += 1
            else:
                valued = values[t] == values[t] or kind == NAME
                if own < 0 and (valued or hour < 0):
                    layout[row + OWN] = 0
                    found[k] = (q, f, LACKS_OWN)
                    k += 1
                if words > 1 and layout[row + WORDS] < 0:
                    layout[row + WORDS] = 0
                    found[k] = (q, f, LACKS_WORDS)
                    k += 1
                elif kind == NAME and words == 1 and _is_new(layout, row, code):
                    layout[layout[row + END]] = code
                    layout[row + END] += 2
                    found[k] = (q, f, code)
                    k += 1
            t += words
    return k


@entry
def any_odd(values: Array) -> int:
    """Tell what may become other columns: `BOXES`, if there are some, else `LARGE` or nothing."""
    bits, large = bits_of(values), 0
    for i in range(bits.size):
        if bits[i] >= FIRST_BOX:
            return BOXES
        if values[i] >= EARLIEST:
            large = LARGE
    return large
