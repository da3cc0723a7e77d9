"""What JSON can hold of names and numbers: short text, and finite numbers or null."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

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


def number(value: float, digits: int = 5) -> float | None:
    """Return a number with so many digits, None if it is not finite.

    Examples
    --------
    >>> number(0.123456789), number(float("nan")), number(1234567.8)
    (0.12346, None, 1234600.0)

    """
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def largest(parts: Mapping[Any, float], most: int) -> tuple[list[Any], float]:
    """Return the names of the largest parts in size, and what the others sum up to."""
    names = sorted(parts, key=lambda name: -abs(parts[name]))
    return names[:most], float(sum(parts[name] for name in names[most:]))


def pairs(names: Iterable[Any], values: Mapping[Any, float]) -> list[list[Any]]:
    """Return ``[name, value]`` for each of the names."""
    return [[text(name), number(values[name])] for name in names]
