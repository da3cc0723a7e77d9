"""The table of cells: where a context lies, and who gives way where it is full.

A cell is ``(count, tag, a share for each column of scores)``, side by side, so that asking is one
look into memory. A context may lie in cell i or in its neighbour, i xor 1: its own (the tags are
alike), else a free one, else the rarer of both is asked to give way: its count goes down by one,
and who asked has no vote and learns nothing until a count has reached 0. That is
least-frequently-used with ageing, without a list, and it is the whole bound of memory.

Of a context's hash the low bits say where it lies, and the tag holds those from FIRST_BITS on. So
when the table is doubled a cell finds its new place by its tag alone. Tags are whole numbers in
4-byte floats, which hold 24 bits as they are.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.kernels.linear import copy_to

COUNT, TAG, SHARES = range(3)
#: The first size of a table: 2 to the power of so much.
FIRST_BITS = 10
TAG_BITS = 24
#: It is doubled when more than one cell in so many is taken: fuller, many pairs of places have
#: three that want them (one in two: 0.1 points less on the mean of 14 streams, 0.003 nats more).
CROWDED = 4
#: Odd, with bits all over.
_MIX, _STEP, _SPREAD = 0x3F58476D1CE4E5B9, 0x14D049BB133111EB, 0x1E3779B97F4A7C15


@kernel
def mixed(word: int) -> int:
    """Mix the bits of a 64-bit word: each of them changes about half of the others."""
    h = np.int64(word) * np.int64(_MIX)
    h = (h ^ (h >> 29)) * np.int64(_STEP)
    return int(h ^ (h >> 32))


@kernel
def key_of(field: int, kind: int, content: int) -> int:
    """Return the key of a field's value; a set's key is the sum of its fields' keys."""
    return int(
        mixed(mixed(np.int64(field) + np.int64(kind) * np.int64(_SPREAD)) + np.int64(content))
    )


@kernel
def tag_of(code: int) -> Real:
    """Return the tag of the context with this hash."""
    return np.float32((code >> FIRST_BITS) & ((1 << TAG_BITS) - 1))


@kernel
def holds(cells: Array, place: int, tag: Real) -> bool:
    """Whether the context with this tag lies there."""
    return cells[place, TAG] == tag and cells[place, COUNT] > 0


@kernel
def place_of(cells: Array, used: int, code: int) -> int:
    """Return where a context lies or, if it is new, where it may: see ``holds``."""
    i = code & (used - 1)
    j = i ^ 1
    tag = tag_of(code)
    if holds(cells, i, tag):
        return i
    if holds(cells, j, tag) or cells[j, COUNT] < cells[i, COUNT]:
        return j
    return i


@kernel
def double(cells: Array, used: int) -> None:
    """Let cells move to where they lie in a table of twice the size; what lies there is free."""
    bit = 0
    while 1 << (FIRST_BITS + bit) < used:
        bit += 1
    for i in range(used):
        if cells[i, COUNT] > 0 and (np.int64(cells[i, TAG]) >> bit) & 1 == 1:
            copy_to(cells[used + i], cells[i])
            cells[i] = 0
