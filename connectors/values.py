"""What a field of a record is worth: the one place where a value becomes a number, or missing.

The compiled loops in ``flat/`` read the same way, to the bit, and leave to this whatever is odd.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.flat.parse_text import Texts, as_texts
from stream_llsvm.records.values import show

#: What people write where there is no value; capitals do not matter, nor blanks around it.
MISSING = ("NA", "N/A", "null", "None", "nan", "?", "-")
#: What becomes of a field that cannot be read: it is missing, or its record is rejected.
ON_BAD_FIELD = ("missing", "reject")
DECIMALS = (".", ",")

_TRUTH = {"true": 1.0, "false": 0.0}


class Unread(NamedTuple):
    """A field that could not be read: its name, why (a few words), and its value shown."""

    field: str
    reason: str
    detail: str


class Bad(Exception):
    """A record, or a value, that cannot be read: a fixed reason, a detail, and which fields."""

    def __init__(self, reason: str, detail: str, fields: tuple[Unread, ...] = ()) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.fields = fields


class Values:
    """Reads the values of features.

    Parameters
    ----------
    missing
        What stands for a missing value where values are text. One that is a number, such as
        ``-999``, does so also where they are numbers. Nothing at all is always missing.
    decimal
        What stands before the decimals where numbers are text: a point or a comma.
    on_bad_field
        What becomes of a field that cannot be read: with ``"missing"`` it is missing, and counted;
        with ``"reject"`` its record is rejected. A record is rejected in any case if nothing in it
        can be read.
    numeric
        Whether features are numbers. Otherwise other values pass as they are, except for nested
        objects and what is missing.

    Examples
    --------
    >>> values = Values(missing=["none", "-999"], decimal=",")
    >>> values.from_text("a", "1,5"), values.from_text("a", "None"), values.number("a", -999)
    (1.5, nan, nan)

    """

    def __init__(
        self,
        *,
        missing: Collection[str] = MISSING,
        decimal: str = ".",
        on_bad_field: str = "missing",
        numeric: bool = True,
    ) -> None:
        if decimal not in DECIMALS:
            raise ValueError(f"decimal is '.' or ',', not {show(decimal)}")
        if on_bad_field not in ON_BAD_FIELD:
            raise ValueError(f"on_bad_field is 'missing' or 'reject', not {show(on_bad_field)}")
        self.decimal = decimal
        self.rejects = on_bad_field == "reject"
        self.numeric = numeric
        several = [missing] if isinstance(missing, str) else list(missing)
        numbers = {text: self._float(text) for text in several}
        #: Numbers that stand for a missing value.
        self.sentinels = frozenset(v for v in numbers.values() if v is not None and not isnan(v))
        words = [text for text, v in numbers.items() if v is None or isnan(v)]
        self._words = _TRUTH | {text.strip().lower(): nan for text in words} | {"": nan}
        #: The same for the compiled loops.
        self.texts: Texts = as_texts(decimal, self._words)

    def _float(self, text: str) -> float | None:
        """Return the number that a text is, None if it is none."""
        if "_" in text:  # Python's own way to group digits is not a stream's
            return None
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        try:
            return float(text)
        except ValueError:
            return None

    def number(self, name: str, value: object) -> float:
        """Return a value as a finite float, NaN if it is missing. Raises Bad."""
        if value is None:
            return nan
        if isinstance(value, str):
            return self.from_text(name, value)
        if not isinstance(value, float | int):
            reason = "nested value" if isinstance(value, dict) else "not a number"
            raise Bad(reason, shown(name, value))
        try:
            result = float(value)
        except OverflowError:
            result = inf
        if result in self.sentinels:
            return nan
        if result in (inf, -inf):
            raise Bad("infinite value", shown(name, value))
        return result

    def from_text(self, name: str, text: str) -> float:
        """Return a value that is written out: a number, true, false or missing. Raises Bad."""
        result = self._float(text)
        if result is None:
            result = self._words.get(text.strip().lower())
            if result is None:
                raise Bad("not a number", shown(name, text.strip()))
        if result in self.sentinels:
            return nan
        if result in (inf, -inf):
            raise Bad("infinite value", shown(name, text))
        return result

    def anything(self, name: str, value: object) -> Any:
        """Return a value as it is, None if it is missing. Raises Bad."""
        if isinstance(value, dict):
            raise Bad("nested value", shown(name, value))
        if isinstance(value, str):
            return None if self.is_missing(value) else value
        if value is None or isinstance(value, bool) or not isinstance(value, float | int):
            return value
        # Infinity is refused; a whole number of any size stays one.
        return value if isinstance(value, int) or not isnan(self.number(name, value)) else None

    def is_number(self, text: str) -> bool:
        """Tell whether a text is a number, or true or false."""
        try:
            return not isnan(self.from_text("", text))
        except Bad:
            return False

    def is_missing(self, text: str) -> bool:
        """Tell whether a text stands for a missing value."""
        number = self._float(text)
        if number is None:
            number = self._words.get(text.strip().lower())
        return number is not None and (isnan(number) or number in self.sentinels)

    def row(
        self, fields: Iterable[tuple[str, Any]], read: Callable[[str, Any], Any]
    ) -> tuple[dict[str, Any], tuple[Unread, ...]]:
        """Return the values of a record, and which of them could not be read. Raises Bad."""
        x: dict[str, Any] = {}
        unread: list[Unread] = []
        for name, value in fields:
            try:
                x[name] = read(name, value)
            except Bad as bad:
                unread.append(Unread(name, bad.reason, bad.detail))
                x[name] = nan if self.numeric else None
        if unread and (self.rejects or not any(map(_is_there, x.values()))):
            raise Bad(unread[0].reason, unread[0].detail, tuple(unread))
        return x, tuple(unread)

    def settle(self, values: NDArray[np.float64]) -> None:
        """Let numbers that stand for a missing value be missing."""
        for sentinel in self.sentinels:
            values[values == sentinel] = nan


def _is_there(value: Any) -> bool:
    return not (value is None or (isinstance(value, float) and isnan(value)))


def shown(name: object, value: object) -> str:
    """Write a field and its value on one short line."""
    return f"{show(name)[:40]}: {show(value)[:80]}"
