"""The files of a log: how entries lie in them, and where a file ends that a crash cut off.

A log is a folder of segments. Each is named by the number of its first entry and begins with eight
fixed bytes. An entry is a checksum, its length, its kind, the time it came, and its bytes. The
checksum covers all of that and the entry's number, so that no entry passes for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from zlib import crc32

MAGIC = b"LLSVMLG1"
RECORD, LABEL = 0, 1
LONGEST = 2**26  # bytes of an entry
_HEAD = Struct("<IIBd")  # checksum, length, kind, time
_COVERED = Struct("<IBd")
HEAD = _HEAD.size
_CHECKSUM = HEAD - _COVERED.size
_NAME = re.compile(r"(\d{20})\.log")
_AT_ONCE = 2**20
_COVERED_KIND = 8  # bytes of a head before the kind
#: A kind, and a time since 1970 and before 2242: what text is not.
_LIKE_A_HEAD = re.compile(rb"[\x00\x01](?=.{7}[\x3f-\x41])", re.DOTALL)


class Entry(NamedTuple):
    """What was written at once: its number, its kind, when it came, and its bytes."""

    number: int
    kind: int
    time: float
    body: bytes


class Segment(NamedTuple):
    """A file of entries, and the number of its first."""

    first: int
    path: Path


class DamagedError(Exception):
    """Bytes that are no entry stand where one should."""


def segment_path(folder: Path, first: int) -> Path:
    """Return where the segment lies that begins with this entry."""
    return folder / f"{first:020}.log"


def segments(folder: Path) -> list[Segment]:
    """Return the segments of a log, oldest first."""
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(Segment(int(match[1]), path) for match, path in matches if match)


def packed(number: int, kind: int, time: float, body: bytes) -> bytes:
    """Return an entry as it is written.

    Examples
    --------
    >>> list(unpacked(packed(7, RECORD, 1.5, b'{"x": 1}'), 7))
    [(25, Entry(number=7, kind=0, time=1.5, body=b'{"x": 1}'))]

    """
    covered = _COVERED.pack(len(body), kind, time)
    checksum = crc32(body, crc32(covered, number & 0xFFFFFFFF))
    return checksum.to_bytes(_CHECKSUM, "little") + covered + body


def unpacked(block: bytes, number: int, at: int = 0) -> Iterator[tuple[int, Entry]]:
    """Yield the whole entries of a block from a place on, and where each ends.

    Raises DamagedError where bytes are no entry; an entry that the block cuts off is left out.
    """
    size = len(block)
    while at + HEAD <= size:
        checksum, length, kind, time = _HEAD.unpack_from(block, at)
        begin = at + HEAD
        if length > LONGEST:
            raise DamagedError(f"entry {number:,} says that it has {length:,} bytes")
        end = begin + length
        if end > size:
            return
        body = block[begin:end]
        covered = block[at + _CHECKSUM : begin]
        if crc32(body, crc32(covered, number & 0xFFFFFFFF)) != checksum:
            raise DamagedError(f"the checksum of entry {number:,} is wrong")
        yield end, Entry(number, kind, time, body)
        at, number = end, number + 1


def entries(segment: Segment) -> Iterator[tuple[int, Entry]]:
    """Yield a segment's whole entries, and where in the file each ends.

    What is damaged between them is passed over: their numbers tell. Raises OSError if the file
    cannot be read.
    """
    with segment.path.open("rb") as file:
        offset, number = len(MAGIC), segment.first
        while True:
            file.seek(offset)
            left, damaged = b"", False
            while not damaged and (more := file.read(_AT_ONCE)):
                block, at = left + more, 0
                try:
                    for end, entry in unpacked(block, number):
                        yield offset + end, entry
                        at, number = end, entry.number + 1
                except DamagedError:
                    damaged = True
                left, offset = block[at:], offset + at
            file.seek(offset)
            found = whole_after(file.read(), number)
            if found is None:
                return
            offset, number = offset + found[0], found[1]


def whole_after(block: bytes, number: int) -> tuple[int, int] | None:
    """Return where the first whole entry of a block begins, and its number; None if there is none.

    The block begins where this entry should, and does not.

    Examples
    --------
    >>> seventh, eighth = (packed(i, RECORD, 1.5, b'{"x": 1}') for i in (7, 8))
    >>> whole_after(seventh[:-1] + b"?" + eighth, 7), whole_after(seventh[:-1], 7)
    ((25, 8), None)

    """
    for match in _LIKE_A_HEAD.finditer(block):
        begin = match.start() - _COVERED_KIND
        if begin < 0:
            continue
        checksum, length, _, _ = _HEAD.unpack_from(block, begin)
        end = begin + HEAD + length
        if length <= LONGEST and end <= len(block):
            more = (_number_in(block[begin + _CHECKSUM : end], checksum) - number) & 0xFFFFFFFF
            if more * HEAD <= begin:  # no more entries than there is room for
                return begin, number + more
    return None


def _number_in(covered: bytes, checksum: int) -> int:
    """Return the number, but for its higher bits, with which bytes have this checksum.

    A checksum is linear in the bits of what it begins with, and each number gives another one.
    """
    zeros = bytes(len(covered))
    basis: dict[int, tuple[int, int]] = {}  # by their highest bits: sums, and the numbers of each
    for bit in range(32):
        total, number = crc32(zeros, 1 << bit) ^ crc32(zeros), 1 << bit
        while total.bit_length() in basis:
            other = basis[total.bit_length()]
            total, number = total ^ other[0], number ^ other[1]
        basis[total.bit_length()] = total, number
    total, number = checksum ^ crc32(covered), 0
    while total:
        other = basis[total.bit_length()]
        total, number = total ^ other[0], number ^ other[1]
    return number
