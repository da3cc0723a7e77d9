"""Names and labels as texts to show: short, each once, and never code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LONGEST = 200


def shown(value: Any, longest: int = LONGEST) -> str:
    r"""Return a text for anything; what cannot be written as UTF-8 is replaced.

    Examples
    --------
    >>> shown(3), shown("x" * 500)[-3:], shown("\ud800")
    ('3', 'xx…', '?')

    """
    try:
        text = str(value)
    except Exception:  # somebody else's class
        text = type(value).__name__
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def distinct(values: Iterable[Any]) -> list[str]:
    """Return texts of which no two are alike, for labels that are not.

    Examples
    --------
    >>> distinct([1, "1", "b"])
    ['1', '1 (2)', 'b']

    """
    taken: dict[str, int] = {}
    texts = []
    for value in values:
        text = shown(value)
        if text in taken:
            base, n = shown(value, LONGEST - 12), taken[text]
            while text in taken:
                n += 1
                text = f"{base} ({n})"
            taken[shown(value)] = n
        taken[text] = 1
        texts.append(text)
    return texts
