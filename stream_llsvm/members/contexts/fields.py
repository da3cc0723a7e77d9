"""Reading a record: which of its fields say something, and whether contexts are wanted at all.

A name stands for itself, and up to FIELDS fields a missing value is a name, too. A number with a
fraction stands for the eighth of its scale in which it lies. A whole number stands for itself once
its own context has come twice, before that for its eighth; alone it asks for both. So codes written
as numbers (user 48213) are names, and balances stay numbers. Words (a column that comes several
times) only stand alone.
"""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.boxes import FIRST_BOX, content_of, holds_boxes, kind_of
from stream_llsvm.kernels.compile import Array, Real, inlined, kernel
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.kernels.views import bits_of
from stream_llsvm.members.contexts.state import (
    ASLEEP,
    BIT_WORDS,
    BITS,
    CHOICE,
    CODE,
    COLUMN,
    DIFFERENT,
    EIGHTH,
    FIRST,
    FOR_GOOD,
    FOR_NOW,
    FRACTION,
    MISSING,
    N_FIELDS,
    NUMBER,
    SCALED,
    WIDE,
    ContextsState,
)
from stream_llsvm.members.contexts.table import key_of, mixed

PARTS = 8


@kernel
def is_missing(v: Real, bits: int) -> bool:
    """Whether there is neither a number nor a box."""
    return v == ABSENT or (math.isnan(v) and bits < FIRST_BOX)


@kernel
def eighth_of(z: Real) -> int:
    """Return in which eighth of its scale, from -2 to 2, a scaled value lies."""
    return int(min(max(np.floor((z + 2) * (PARTS / 4)), 0.0), PARTS - 1.0))


@kernel
def kind_of_value(v: Real, bits: int) -> int:
    """Return as what a value is taken; a number as its eighth."""
    if bits >= FIRST_BOX:
        return kind_of(bits)
    return MISSING if is_missing(v, bits) else EIGHTH


@kernel
def key_of_value(field: int, kind: int, bits: int, z: Real) -> int:
    """Return the key of a value that is taken as this."""
    if kind == EIGHTH:
        return key_of(field, kind, eighth_of(z))
    return key_of(field, kind, 0 if kind == MISSING else content_of(bits))


@kernel
def content_of_whole(v: Real) -> int:
    """Return a whole number as one, as far as it has room."""
    return int(min(max(v, -9e18), 9e18))


@inlined
def find_parts(m: ContextsState, values: Array, columns: Array) -> int:
    """Find where in a record each field's values are; returns how many fields say something.

    Up to FIELDS fields all of them do, since one that is missing says so: its first value is -1.
    """
    running, parts, slots, fields = m.running, m.parts, m.slots, m.fields
    bits = bits_of(values)
    wide, sparse, n = running[WIDE] == 1, columns.size > 0, 0
    if not wide:
        n = running[N_FIELDS]
        for s in range(n):
            column = fields[s]
            there = not sparse and column < values.size
            parts[COLUMN, s], parts[SCALED, s] = column, column
            parts[FIRST, s], parts[NUMBER, s] = column if there else -1, 1
        if not sparse:
            return n
    scaled = 0
    for t in range(values.size):
        column = columns[t] if sparse else t
        at = scaled
        scaled += 1 if not sparse or bits[t] < FIRST_BOX else 0
        if wide:
            if m.hashes[column] == 0 or is_missing(values[t], bits[t]):
                continue
            if n > 0 and parts[COLUMN, n - 1] == column:
                parts[NUMBER, n - 1] += 1
            elif n < parts.shape[1]:
                parts[COLUMN, n], parts[FIRST, n] = column, t
                parts[NUMBER, n], parts[SCALED, n] = 1, at
                n += 1
        elif slots[column] >= 0:
            s = slots[column]
            if parts[FIRST, s] < 0:
                parts[FIRST, s], parts[SCALED, s] = t, at
            else:
                parts[NUMBER, s] += 1
    return n


@inlined
def watch(m: ContextsState, values: Array) -> int:
    """Tell, by a record with a label, whether contexts are wanted from here on.

    For good once a name has come, or a field of whole numbers only has shown so many different
    ones that it is a code. For now as long as some field shows few whole numbers: a choice. Numbers
    with fractions, and what is counted, the other members know better.
    """
    if holds_boxes(values):
        return FOR_GOOD
    parts, watched, n = m.parts, m.watched, m.running[N_FIELDS]
    if m.running[WIDE] == 1 or n == 0:
        return ASLEEP
    choice = False
    for s in range(n):
        own = watched[s]
        v = values[parts[FIRST, s]] if parts[FIRST, s] >= 0 else np.nan
        if own[FRACTION] == 0 and v - v == 0:
            if v != math.floor(v):
                own[FRACTION] = 1
            else:
                h = mixed(content_of_whole(v))
                word, bit = BITS + (h & (BIT_WORDS - 1)), np.int64(1) << ((h >> 4) & 63)
                if own[word] & bit == 0:
                    own[word] |= bit
                    own[DIFFERENT] += 1
        if own[FRACTION] == 0 and own[DIFFERENT] >= CODE:
            return FOR_GOOD
        choice |= own[FRACTION] == 0 and 2 <= own[DIFFERENT] <= CHOICE
    return FOR_NOW if choice else ASLEEP
