"""What river's models are given of records that hold more than numbers."""

from __future__ import annotations

from typing import Any

from river import base, preprocessing

from stream_llsvm.records.boxes import time_of, unboxed
from stream_llsvm.records.times import time_in


class Opened(base.Transformer):
    """Makes two numbers of a time, and a feature of each word; names stay names.

    Parameters
    ----------
    words
        Whether words become features; otherwise they stay words.

    Examples
    --------
    >>> Opened().transform_one({"city": "Oslo", "at": "0001-01-04T12:30", "said": ("go", "up")})
    {'city': 'Oslo', 'at hour': 12.5, 'at weekday': 3.0, 'said=go': 1, 'said=up': 1}

    """

    def __init__(self, *, words: bool = True) -> None:
        self.words = words

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return the record with numbers and names only."""
        if not any(isinstance(value, str | tuple) for value in x.values()):
            return x
        found: dict[Any, Any] = {}
        for field, value in x.items():
            if isinstance(value, tuple) and self.words:
                found.update((f"{field}={word}", 1) for word in value)
            elif isinstance(value, str) and (time := time_in(value)) is not None:
                hour, weekday = time_of(unboxed(time)[1])
                found |= {f"{field} hour": hour, f"{field} weekday": weekday}
            else:
                found[field] = value
        return found


class ScaledWithNames(preprocessing.StandardScaler):
    """Scales numbers, and makes a feature of each name and word.

    Examples
    --------
    >>> scaler = ScaledWithNames()
    >>> scaler.learn_one({"a": 3.0, "city": "Oslo"})
    >>> scaler.transform_one({"a": 3.0, "city": "Oslo", "said": ("go", "up")})
    {'a': 0.0, 'city=Oslo': 1, 'said=go': 1, 'said=up': 1}

    """

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn the scales of the numbers."""
        untyped: Any = super()
        untyped.learn_one(_numbers(x))

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return numbers scaled, and 1 for each name and word."""
        untyped: Any = super()
        found: dict[Any, Any] = untyped.transform_one(_numbers(x))
        for field, value in x.items():
            if isinstance(value, str):
                found[f"{field}={value}"] = 1
            elif isinstance(value, tuple):
                found.update((f"{field}={word}", 1) for word in value)
        return found


def _numbers(x: dict[Any, Any]) -> dict[Any, Any]:
    if not any(isinstance(value, str | tuple) for value in x.values()):
        return x
    return {name: value for name, value in x.items() if not isinstance(value, str | tuple)}
