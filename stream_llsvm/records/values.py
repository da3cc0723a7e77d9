"""One value of a record -> a number, a time, a name or words, or an error that says what to do."""

from __future__ import annotations

import datetime
import math
import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from stream_llsvm.records.texts import MISSING, MOST_WORDS, Name, Read, from_text
from stream_llsvm.records.times import time_of_object

# Types that Python or numpy would turn into a float, at the price of losing what they mean.
_NOT_NUMBERS = (
    str,
    bytes,
    complex,
    np.complexfloating,
    np.flexible,
    np.datetime64,
    np.timedelta64,
)

_NUMBERS_ONLY = (
    "the model learns from numbers; encode it (river.preprocessing.OneHotEncoder) or drop it"
)
_UNREADABLE = (
    "a value is a number, a text, a time or a list of names; write it as one of these or drop it"
)
#: Texts that stand for a missing label in files, messages and requests: NaN, as programs write it.
NO_LABEL = frozenset({"NaN", "nan", "NAN", "Nan"})
_LISTS = (list, tuple, set, frozenset)
_WHOLE = (int, np.integer, np.bool_)

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


def show(value: object) -> str:
    """Write a value on one short line, whatever it is.

    Parameters
    ----------
    value
        Anything; its own ``repr`` may be long, on several lines, or fail.

    Examples
    --------
    >>> show("red")
    "'red'"
    >>> len(show("red" * 1000)) < 70
    True

    """
    try:
        return " ".join(_short.repr(value).split())
    except Exception:  # an object's repr can raise anything; the message must still be written
        return f"<{type(value).__name__}>"


def is_missing(value: object) -> bool:
    """Tell whether a value stands for "no value": None, NaN in any of its forms, pandas' NA.

    Parameters
    ----------
    value
        Anything.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(0.0)
    (True, True, False)

    """
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  only NaN and its like differ from themselves
    except Exception:  # an array has no single answer; such a value is not missing, it is wrong
        return False


def read(name: object, value: object, row: int | None = None) -> Read:
    """Return what a value of a record is: the one place where that is decided.

    Parameters
    ----------
    name
        The field's name, for the message.
    value
        A number of any kind, a text, a date or a time, a list of names, or nothing. An object
        inside an object is none of these: see ``nested.py``.
    row
        The row's position in its frame, for the message.

    Returns
    -------
    float, tuple of str, or str
        A number (NaN if it is missing) or a time (in a NaN, see ``boxes.py``); words; or a name.

    Raises
    ------
    ValueError
        If the value is none of these, is infinite, or is too large for a float.

    Examples
    --------
    >>> read("open", True), read("price", "12.5"), read("city", "Oslo"), read("tag", ["b", "a"])
    (1.0, 12.5, 'Oslo', ('b', 'a'))
    >>> read("shape", 1j)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: feature 'shape' has the value 1j (complex): a value is a number, a text, ...

    """
    if isinstance(value, Name):
        return value
    if type(value) is tuple and len(value) > 1 and set(map(type, value)) == {str}:
        # Words that were read once, of which "none" is one like others.
        return tuple(dict.fromkeys(value))[:MOST_WORDS]
    if isinstance(value, str):
        told = from_text(value)
        if type(told) is float and math.isinf(told):
            raise _infinite(name, value, row)
        return told
    if isinstance(value, _LISTS):
        # The order of a set is another one in each process.
        unordered = isinstance(value, set | frozenset)
        return _bag(name, value, sorted(value, key=str) if unordered else value, row)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return read(name, value[()], row)
        if value.ndim == 1:
            return _bag(name, value, value.tolist(), row)
    moment = _moment(value)
    return as_number(name, value, row, _UNREADABLE) if moment is None else moment


def _moment(value: object) -> float | None:
    """Return a date, time of day or duration as a float, None if it is neither."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return math.nan
        if isinstance(value, np.timedelta64):
            return float(value / np.timedelta64(1, "s"))
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.date):
        return math.nan if is_missing(value) else time_of_object(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.time):
        return value.hour + value.minute / 60 + value.second / 3600
    return None


def _bag(name: object, value: object, items: Iterable[Any], row: int | None) -> Read:
    """Return the names of a list: distinct, and none for what is missing."""
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item, str):
            said = item.strip()
            if said.lower() not in MISSING:
                names[said] = None
        elif isinstance(item, _WHOLE):
            names[str(item)] = None
        elif not is_missing(item):
            raise ValueError(
                f"{_said(name, value, row)}: a list may hold names and whole numbers; give each "
                "other value a field of its own, or drop it"
            )
        if len(names) == MOST_WORDS:
            break
    return tuple(names) if len(names) > 1 else next(iter(names), math.nan)


def as_number(
    name: object, value: object, row: int | None = None, advice: str | None = None
) -> float:
    """Convert one value to a finite float, or to NaN when it is missing.

    Parameters
    ----------
    name
        The feature's name, for the message.
    value
        A number of any kind (also a boolean, ``Decimal``, ``Fraction`` or numpy scalar), or
        None or NaN for a missing one.
    row
        The row's position in its frame, for the message.
    advice
        What to do about a value that is not a number, for the message.

    Raises
    ------
    ValueError
        If the value is not a number, is infinite, or is too large for a float.

    Examples
    --------
    >>> as_number("open", True), as_number("price", None)
    (1.0, nan)
    >>> as_number("colour", "red")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: feature 'colour' has the value 'red' (str): the model learns from numbers; ...

    """
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    kind = type(value)
    if (
        isinstance(value, _NOT_NUMBERS)
        or (isinstance(value, np.ndarray) and (value.ndim > 0 or value.dtype.kind not in "biuf"))
        # float() would parse the text in a bytearray and its like.
        or not (hasattr(kind, "__float__") or hasattr(kind, "__index__"))
    ):
        raise _not_a_number(name, value, row, advice)
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever cannot is refused below
    except OverflowError:
        raise _infinite(name, value, row) from None
    except Exception:
        # __float__ is the value's own code and may raise anything
        raise _not_a_number(name, value, row, advice) from None
    if math.isinf(number):
        raise _infinite(name, value, row)
    return number if number == number else math.nan  # noqa: PLR0124  see nans.py


def _said(name: object, value: object, row: int | None) -> str:
    place = "" if row is None else f" in row {row} (the first row is 0)"
    return f"feature {show(name)}{place} has the value {show(value)} ({type(value).__name__})"


def _not_a_number(name: object, value: object, row: int | None, advice: str | None) -> ValueError:
    return ValueError(f"{_said(name, value, row)}: {advice or _NUMBERS_ONLY}")


def _infinite(name: object, value: object, row: int | None) -> ValueError:
    return ValueError(
        f"{_said(name, value, row)}: infinite, or too large for a float; clip it, drop it, or "
        "send None if it means that the value is missing"
    )
