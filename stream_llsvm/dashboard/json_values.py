"""What JSON can hold of names and numbers: short texts that differ, and finite numbers or null."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 200


def text(value: object, longest: int = LONGEST) -> str:
    """Return a name or a label for display, whatever it is.

    Examples
    --------
    >>> text(("a", 1)), len(text("x" * 1_000))
    ("('a', 1)", 200)

    """
    try:
        shown = str(value)
    except Exception:  # a label's own text can fail in any way; the page must still be drawn
        shown = f"<{type(value).__name__}>"
    # A lone surrogate is no text that can be sent.
    return shown[:longest].encode("utf-8", "replace").decode("utf-8")


def number(value: float | None, digits: int = 5) -> float | None:
    """Return a number with so many digits, None if there is none or it is not finite.

    Examples
    --------
    >>> number(0.123456789), number(float("nan")), number(1234567.8)
    (0.12346, None, 1234600.0)

    """
    if value is None:
        return None
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def numbers(values: NDArray[np.float64], digits: int = 5) -> Any:
    """Return lists of what `number` makes of each of many numbers, which must be finite.

    Examples
    --------
    >>> numbers(np.array([[0.123456789, 0.0], [1234567.8, 1e-300]]))
    [[0.12346, 0.0], [1234600.0, 1e-300]]

    """
    sizes = np.abs(values)
    usual = (sizes > 1e-13) & (sizes < 1e13)
    lifts = digits - 1 - np.floor(np.log10(np.where(usual, sizes, 1.0)))
    # Powers of ten are exact here, and so is the integer between: what comes out is the nearest
    # float to so many digits, which is also written with so many.
    up, down = 10.0 ** np.maximum(lifts, 0), 10.0 ** np.maximum(-lifts, 0)
    rounded: NDArray[np.float64] = np.rint(values * up / down) * down / up
    for i in np.flatnonzero(~usual).tolist():
        rounded.flat[i] = number(values.flat[i], digits)
    return rounded.tolist()


def largest(parts: Mapping[Any, float], most: int) -> tuple[list[Any], float]:
    """Return the names of the largest parts in size, and what the others sum up to."""
    names = sorted(parts, key=lambda name: -abs(parts[name]))
    return names[:most], float(sum(parts[name] for name in names[most:]))


def pairs(names: Iterable[Any], values: Mapping[Any, Any]) -> list[list[Any]]:
    """Return ``[name, value]`` for each of the names; a value may be a text, or a list of words."""
    return [[text(name), shown(values[name])] for name in names]


def shown(value: Any) -> float | str | None:
    """Return a record's value as it is shown: a short text, or a number of few digits.

    Examples
    --------
    >>> shown(0.123456789), shown("DE"), shown(("to", "be")), shown("0001-01-06T18:06:44")
    (0.12346, 'DE', 'to be', 'Sat 18:06:44')

    """
    if isinstance(value, str):
        return text(_DATELESS.sub(_weekday, value))
    if isinstance(value, list | tuple):
        return text(" ".join(map(str, value)))
    try:
        return None if value is None else number(value)
    except (TypeError, ValueError, OverflowError):  # a date, say, in a list of records
        return text(value)


#: What `readable` makes of a time: of its date only the weekday is known.
_DATELESS = re.compile(r"^0001-01-0([1-7])T")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _weekday(found: re.Match[str]) -> str:
    return f"{WEEKDAYS[int(found[1]) - 1]} "


_NUMBER = 12  # characters for it


def distinct(values: Iterable[Any]) -> list[str]:
    """Return a text for each value; of those that look alike, later ones get a number.

    Examples
    --------
    >>> distinct([1, "1", "b"])
    ['1', '1 (2)', 'b']

    """
    taken: set[str] = set()
    texts = []
    for value in values:
        told = text(value)
        n = 1
        while told in taken:
            n += 1
            told = f"{text(value, LONGEST - _NUMBER)} ({n})"
        taken.add(told)
        texts.append(told)
    return texts
