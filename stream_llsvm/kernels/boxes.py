"""Names and times in a row of numbers: NaN boxing.

A row is float64 throughout. What is no number travels inside a NaN, whose 51 free bits a computer
keeps as they are: three say what kind it is (0: nothing, the value is missing), 48 say which.
Whoever knows numbers only sees a missing value; who knows boxes looks at the bits.

    NAME    48 bits of a hash of the text
    TIME    the weekday (Monday is 0), and the second of the day

The hash is FNV-1a over the UTF-8 bytes, 64 bits, then MurmurHash3's final mix, and of that the low
48 bits: the same in every process, on every machine, in every version.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm.kernels.compile import Array, entry, kernel
from stream_llsvm.kernels.views import bits_of

#: Kinds of boxes; 0 is a missing value.
NAME, TIME = 1, 2
#: The lowest bits that are a box: above every number, every infinity and every plain NaN.
FIRST_BOX = 0x7FF9000000000000
KIND_SHIFT, KIND_BITS = 48, 7
CONTENT = (1 << KIND_SHIFT) - 1
#: Of a time: bits of the second within the day.
DAY_BITS = 17

#: Where a hash begins, and what it is multiplied with at each byte.
HASH_START, HASH_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2, _HALF = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(33)
_CONTENT = np.uint64(CONTENT)


def hash_step(so_far: Any, byte: Any) -> Any:
    """Take one byte into a hash; both are 64 bits without a sign."""
    return (so_far ^ byte) * HASH_PRIME


def hash_end(so_far: Any) -> Any:
    """Return the content of a name's box: a hash, mixed and cut."""
    h = so_far
    h = (h ^ (h >> _HALF)) * _MIX_1
    h = (h ^ (h >> _HALF)) * _MIX_2
    return (h ^ (h >> _HALF)) & _CONTENT


_hash_step, _hash_end = kernel(hash_step), kernel(hash_end)


@entry
def code_of(text: Array) -> int:
    """Return the content of the box of a name: 48 bits of the hash of its bytes (uint8)."""
    return _code_of(text, 0, text.size)


@entry
def codes_of(texts: Array, ends: Array, codes: Array) -> None:
    """Fill in the codes of names whose bytes lie one behind the other, each up to its end."""
    begin = 0
    for i in range(ends.size):
        codes[i] = _code_of(texts, begin, ends[i])
        begin = ends[i]


@kernel
def _code_of(text: Array, begin: int, end: int) -> int:
    h = HASH_START
    for i in range(begin, end):
        h = _hash_step(h, np.uint64(text[i]))
    return int(_hash_end(h))


@kernel
def kind_of(bits: int) -> int:
    """Return which kind of box a value's bits are; 0 for a number or a missing value."""
    return (bits >> KIND_SHIFT) & KIND_BITS if bits >= FIRST_BOX else 0


@kernel
def content_of(bits: int) -> int:
    """Return what a box holds: 48 bits."""
    return bits & CONTENT


@kernel
def holds_boxes(values: Array) -> bool:
    """Whether any of the values is a box."""
    bits = bits_of(values)
    for i in range(bits.size):  # noqa: SIM110  # numba knows no generators
        if bits[i] >= FIRST_BOX:
            return True
    return False


@kernel
def take_numbers(columns: Array, values: Array, kept: Array) -> int:
    """Fill ``kept`` with the columns of the values that are no boxes; returns how many these are.

    A column that comes several times, as a field's words do, has no numbers: so there are at most
    as many as columns.
    """
    bits = bits_of(values)
    n = 0
    for t in range(bits.size):
        if bits[t] < FIRST_BOX and n < kept.size:
            kept[n] = columns[t]
            n += 1
    return n
