"""Where the messages of a batch lie in the bytes that a broker sent, format version 2."""

from __future__ import annotations

from stream_llsvm.connectors.flat.compile import Array, Begin, entry, part
from stream_llsvm.connectors.flat.pointers import begin_of, byte

#: The columns of the table: what a message's offset and time are, where its key and its value begin
#: and end (below 0 if there is none), where its headers begin, and where it ends.
OFFSET, TIME, KEY, VALUE, HEADERS, END, COLUMNS = 0, 1, 2, 4, 6, 7, 8

#: What may be found: all as it should be; the same, but headers' names must be looked at; or that
#: a message is not as long as it says, or not all is messages.
WHOLE, NAMES, BROKEN = 0, 1, -1


@entry
def locate(data: Array, at: int, base: int, first_time: int, one_time: int, table: Array) -> int:
    """Find messages.

    Parameters
    ----------
    data, at
        The bytes of a batch, and where its first message begins.
    base, first_time
        What the messages' offsets and times are told from.
    one_time
        The time of all, if that is not below 0.
    table
        Filled with a row for each.

    """
    begin, size = begin_of(data), len(data)
    told = WHOLE
    for i in range(len(table)):
        row = table[i]
        length, at = _number(begin, at, size)
        if at < 0:
            return BROKEN
        first = at
        _, at = _number(begin, at, size)  # attributes, which have no meaning yet
        later, at = _number(begin, at, size)
        offset, at = _number(begin, at, size)
        row[OFFSET] = base + offset
        row[TIME] = first_time + later if one_time < 0 else one_time
        for column in (KEY, VALUE):
            length_of, at = _number(begin, at, size)
            row[column] = row[column + 1] = -1
            if at < 0 or length_of > size - at:
                return BROKEN
            if length_of >= 0:
                row[column] = at
                at += length_of
                row[column + 1] = at
        row[HEADERS] = at
        if at < size and byte(begin, at) == 0:
            at += 1
        else:
            found, at = _headers(begin, at, size)
            if found == NAMES:
                told = NAMES
        if at < 0 or at - first != length:
            return BROKEN
        row[END] = at
    return told if at == size else BROKEN


@part
def _headers(data: Begin, at: int, size: int) -> tuple[int, int]:
    """Return whether a name is more than ASCII, and where the headers end, -1 if they are none."""
    told = WHOLE
    count, at = _number(data, at, size)
    if at < 0 or count < 0 or count > size:
        return BROKEN, -1
    for _ in range(count):
        length, at = _number(data, at, size)
        if at < 0 or length < 0 or length > size - at:
            return BROKEN, -1
        for k in range(at, at + length):
            if byte(data, k) > 127:
                told = NAMES
        at += length
        length, at = _number(data, at, size)
        if at < 0 or length > size - at:
            return BROKEN, -1
        at += max(0, length)
    return told, at


@part
def _number(data: Begin, at: int, size: int) -> tuple[int, int]:
    """Read a number that is written in seven bits a byte; return it and where the next begins.

    That is -1 if there is none, or if none began where this one should.
    """
    found = 0
    shift = 0
    while 0 <= at < size and shift < 64:
        one = byte(data, at)
        at += 1
        found |= (one & 127) << shift
        if one < 128:
            # The last bit tells the sign; what is above must not be filled with it.
            return ((found >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(found & 1), at
        shift += 7
    return 0, -1
