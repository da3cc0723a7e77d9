"""Labels as texts of which no two are alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream_llsvm.dashboard.plain import LONGEST, text

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
