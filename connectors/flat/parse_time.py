"""Times in ISO 8601 -> the box of a time: the weekday and the second of the day, as written.

Read are dates, and times as ``2026-01-31T12:30`` with seconds, their decimals and an offset if
there are any, and a blank instead of the T; whatever else begins as a date is left to Python.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.connectors.flat.compile import Begin, part
from stream_llsvm.connectors.flat.gather import ODD, READ
from stream_llsvm.connectors.flat.pointers import byte, float_of
from stream_llsvm.kernels.boxes import DAY_BITS, TIME
from stream_llsvm.records.boxes import boxed

_TIME_BOX = np.array(boxed(TIME, 0)).view(np.uint64)[()]
_DATE, _MINUTES, _SECONDS = 10, 16, 19  # characters
_MINUS, _COLON, _DOT, _BLANK, _T, _Z = 45, 58, 46, 32, 84, 90
_FEBRUARY, _LEAP_DAY = 2, 29
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
# Days of the week between the first of January and the first of each month; a year begins in March.
_SHIFT = np.array([0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4])


@part
def begins_as_date(data: Begin, at: int, stop: int) -> bool:
    """Whether a text begins as in 2026-01-31."""
    if stop - at < _DATE or byte(data, at + 4) != _MINUS or byte(data, at + 7) != _MINUS:
        return False
    for k in (0, 1, 2, 3, 5, 6, 8, 9):  # noqa: SIM110
        if not 48 <= byte(data, at + k) <= 57:
            return False
    return True


@part
def time_value(data: Begin, at: int, stop: int) -> tuple[float, int]:
    """Read what begins as a date: the box, and whether that is known."""
    century, rest, month, day = (
        _two(data, at), _two(data, at + 2), _two(data, at + 5), _two(data, at + 8),
    )  # fmt: skip
    year = 100 * century + rest
    hour = minute = second = 0
    end = at + _DATE
    if end < stop:
        if stop - at < _MINUTES or byte(data, at + 13) != _COLON:
            return np.nan, ODD
        if byte(data, at + 10) not in (_T, _BLANK):
            return np.nan, ODD
        hour, minute = _two(data, at + 11), _two(data, at + 14)
        end = at + _MINUTES
    if end < stop and byte(data, end) == _COLON:
        if stop - at < _SECONDS:
            return np.nan, ODD
        second = _two(data, at + 17)
        end = at + _SECONDS
        if end < stop and byte(data, end) == _DOT:
            end += 1
            begin = end
            while end < stop and 48 <= byte(data, end) <= 57:
                end += 1
            if end == begin:
                return np.nan, ODD
    if not _is_offset(data, end, stop) or year < 1:
        return np.nan, ODD
    if not (1 <= month <= 12 and 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return np.nan, ODD
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = _LEAP_DAY if leap and month == _FEBRUARY else _DAYS[month - 1]
    if not 1 <= day <= days:
        return np.nan, ODD
    if month <= _FEBRUARY:
        year -= 1
    sunday_first = (year + year // 4 - year // 100 + year // 400 + _SHIFT[month - 1] + day) % 7
    weekday = (sunday_first + 6) % 7
    content = (weekday << DAY_BITS) | (3600 * hour + 60 * minute + second)
    return float_of(_TIME_BOX | np.uint64(content)), READ


@part
def _two(data: Begin, at: int) -> int:
    """Return the number of two digits; below 0 if they are none."""
    tens, ones = byte(data, at) - 48, byte(data, at + 1) - 48
    return 10 * tens + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -1000


@part
def _is_offset(data: Begin, at: int, stop: int) -> bool:
    """Whether this is nothing, Z, or an offset such as +01:00."""
    if at == stop:
        return True
    if stop - at == 1:
        return byte(data, at) == _Z
    if stop - at != 6 or byte(data, at) not in (43, _MINUS) or byte(data, at + 3) != _COLON:
        return False
    return 0 <= _two(data, at + 1) < 24 and 0 <= _two(data, at + 4) < 60
