"""One value of a record -> one float64, or an error that says what to do about it."""

from __future__ import annotations

import math
import reprlib

import numpy as np

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


def as_number(name: object, value: object, row: int | None = None) -> float:
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
        raise _not_a_number(name, value, row)
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever cannot is refused below
    except OverflowError:
        raise _infinite(name, value, row) from None
    except Exception:
        # __float__ is the value's own code and may raise anything
        raise _not_a_number(name, value, row) from None
    if math.isinf(number):
        raise _infinite(name, value, row)
    return number


def _said(name: object, value: object, row: int | None) -> str:
    place = "" if row is None else f" in row {row} (the first row is 0)"
    return f"feature {show(name)}{place} has the value {show(value)} ({type(value).__name__})"


def _not_a_number(name: object, value: object, row: int | None) -> ValueError:
    return ValueError(
        f"{_said(name, value, row)}: the model learns from numbers; encode it "
        "(river.preprocessing.OneHotEncoder) or drop it"
    )


def _infinite(name: object, value: object, row: int | None) -> ValueError:
    return ValueError(
        f"{_said(name, value, row)}: infinite, or too large for a float; clip it, drop it, or "
        "send None if it means that the value is missing"
    )


def refuse_column(name: object, value: object, row: int) -> ValueError:
    """Make the error for a column whose kind is not numeric, whatever its values look like.

    Parameters
    ----------
    name
        The column's name.
    value
        Its first value that is not missing.
    row
        That value's position.

    """
    return _not_a_number(name, value, row)
