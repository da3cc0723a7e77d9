"""Checks of what users choose at construction: one line says what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def choice(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return value if it is one of those allowed."""
    options = list(allowed)
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    return value


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return value if it is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise ValueError(f"{name} must be a whole number from {low:,} to {high:,}; got {value!r}")
    return int(value)


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return value if it is a number in the range."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}; got {value!r}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """Return value if it is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    return value
