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

    Raises DamagedError as `unpacked` does, OSError if the file cannot be read.
    """
    with segment.path.open("rb") as file:
        if (begins := file.read(len(MAGIC))) != MAGIC:
            if MAGIC.startswith(begins):
                return  # cut off
            raise DamagedError(f"{segment.path} does not begin as a log does")
        offset, number, left = len(MAGIC), segment.first, b""
        while more := file.read(_AT_ONCE):
            block, at = left + more, 0
            for end, entry in unpacked(block, number):
                yield offset + end, entry
                at, number = end, entry.number + 1
            left, offset = block[at:], offset + at
