"""Points in time: as people write them, as Python has them, and which fields hold bare seconds."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Any

from stream_llsvm.records.boxes import boxed_time

#: A date, or a date and a time of day: ISO 8601, with a ``T`` or a blank between them.
_WRITTEN = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?"
    r"(?: ?(?:[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
#: What a field is called that says when something was, at the end of its name.
_WHEN = {
    "time", "timestamp", "ts", "datetime", "date", "at", "epoch", "created", "updated", "modified",
    "when",
}  # fmt: skip
#: Words of a name: ``created_at``, ``createdAt``, ``payload.ts``, ``eventTimeMs``.
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNITS = {"s", "ms", "us", "ns", "sec", "seconds", "millis", "micros", "nanos", "utc"}
_ENDS = (*_WHEN, *_UNITS)


def time_in(text: str) -> float | None:
    """Return the time that a text is, boxed; None if it is none.

    The hour is the one that is written: a zone behind it says where it was that hour.

    Parameters
    ----------
    text
        The text, without blanks around it.

    Examples
    --------
    >>> from stream_llsvm.records.boxes import time_of, unboxed
    >>> time_of(unboxed(time_in("2026-11-19T12:30:00+02:00"))[1])
    (12.5, 3.0)
    >>> time_in("2026-02-30") is None
    True

    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
    try:
        weekday = datetime.date(year, month, day).weekday()
        datetime.time(hour, minute, min(second, 59) if second <= 60 else second)
    except ValueError:
        return None
    return boxed_time(weekday, 3600 * hour + 60 * minute + min(second, 59))


def time_of_object(value: Any) -> float:
    """Return a date or a date and time, boxed.

    Parameters
    ----------
    value
        A ``datetime.date`` or ``datetime.datetime`` (pandas' are such).

    """
    if not isinstance(value, datetime.datetime):
        return boxed_time(value.weekday(), 0)
    return boxed_time(value.weekday(), 3600 * value.hour + 60 * value.minute + value.second)


def says_when(name: object) -> bool:
    """Tell whether a field of this name obviously holds a time, even as a bare number.

    Parameters
    ----------
    name
        The field's name.

    Examples
    --------
    >>> [says_when(name) for name in ("ts", "created_at", "eventTime", "payload.ts_ms")]
    [True, True, True, True]
    >>> [says_when(name) for name in ("lifetime", "temperature", "rate", 7)]
    [False, False, False, False]

    """
    return isinstance(name, str) and name.lower().endswith(_ENDS) and _says_when(name)


@lru_cache(4_096)
def _says_when(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name.rpartition(".")[2])]
    while len(words) > 1 and words[-1] in _UNITS:
        words.pop()
    return bool(words) and words[-1] in _WHEN
