"""What a field of a record is worth: a number, a time, a name, words, or missing.

That is decided in ``records/``; here is what users say of it: what stands for a missing value,
which decimals numbers have, and what a field is to be taken for. The compiled loops in ``flat/``
read the same way, to the bit, and leave to this whatever is odd.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.flat.gather import ODD
from stream_llsvm.connectors.flat.parse_text import (
    AUTO,
    NAMES,
    NUMBER,
    TEXT,
    TIMES,
    Texts,
    as_texts,
)
from stream_llsvm.kernels.boxes import FIRST_BOX, TIME
from stream_llsvm.kernels.expand import epoch_moment
from stream_llsvm.records.boxes import boxed, unboxed
from stream_llsvm.records.texts import BLANKS, TRUTH, Read, all_words, as_name, from_text
from stream_llsvm.records.times import time_in
from stream_llsvm.records.values import read, show

#: What people write where there is no value; capitals do not matter, nor blanks around it.
MISSING = ("NA", "N/A", "null", "None", "nan", "?", "-")
#: What becomes of a field that cannot be read: it is missing, or its record is rejected.
ON_BAD_FIELD = ("missing", "reject")
DECIMALS = (".", ",")
#: What the values of a field are taken for, if the user says so; one that is ignored is no feature.
KINDS = {"name": NAMES, "number": NUMBER, "time": TIMES, "text": TEXT}
IGNORE = "ignore"

#: More than this a record cannot count.
LARGEST_WEIGHT = 1e6

# Numbers with the other decimals, or with points between thousands.
_POINTS = re.compile(r"[-+]?([0-9]*\.[0-9]*([eE][-+]?[0-9]+)?|[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?)")
_EXACT = 2.0**53
_KNOWN = 2**14  # texts whose meaning is kept
_LONG = 100  # longer texts are not


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
        Whether values become what models of this package learn from. Otherwise all pass as they
        are, but for what is missing.
    fields
        What some fields are taken for: ``"name"``, ``"number"``, ``"time"`` or ``"text"``. Values
        of all others are taken one by one for what they look like.
    weight
        The field that says how much a record counts: a number, not below 0.

    Examples
    --------
    >>> values = Values(missing=["none", "-999"], decimal=",", fields={"b": "name"})
    >>> values.read("a", "1,5"), values.read("a", "None"), values.read("a", -999)
    (1.5, nan, nan)
    >>> values.read("a", "DE"), values.read("a", "go home now"), values.read("b", "007")
    ('DE', ('go', 'home', 'now'), '007')

    """

    def __init__(
        self,
        *,
        missing: Collection[str] = MISSING,
        decimal: str = ".",
        on_bad_field: str = "missing",
        numeric: bool = True,
        fields: Mapping[str, str] | None = None,
        weight: str | None = None,
    ) -> None:
        if decimal not in DECIMALS:
            raise ValueError(f"decimal is '.' or ',', not {show(decimal)}")
        if on_bad_field not in ON_BAD_FIELD:
            raise ValueError(f"on_bad_field is 'missing' or 'reject', not {show(on_bad_field)}")
        self.decimal = decimal
        self.rejects = on_bad_field == "reject"
        self.numeric = numeric
        self.weight = weight
        #: What fields are taken for, where it is not decided value by value.
        self.kinds = {name: KINDS[kind] for name, kind in (fields or {}).items() if kind in KINDS}
        several = [missing] if isinstance(missing, str) else list(missing)
        numbers = {text: self._float(text) for text in several}
        #: Numbers that stand for a missing value.
        self.sentinels = frozenset(v for v in numbers.values() if v is not None and not isnan(v))
        words = [text for text, v in numbers.items() if v is None or isnan(v)]
        self._words = TRUTH | {text.strip().lower(): nan for text in words} | {"": nan}
        #: The same for the compiled loops.
        self.texts: Texts = as_texts(decimal, self._words, sentinels=bool(self.sentinels))
        self._known: dict[str, Read] = {}

    def _float(self, text: str) -> float | None:
        """Return the number that a text is, None if it is none."""
        # Python's own way to group digits is not a stream's, nor are digits of other scripts.
        if "_" in text or not text.isascii():
            return None
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        try:
            return float(text)
        except ValueError:
            return None

    def kinds_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return what fields are taken for, as the compiled loops know it."""
        kinds = self.kinds if self.weight is None else {**self.kinds, self.weight: NUMBER}
        return np.array([kinds.get(name, AUTO) for name in names], dtype=np.int64)

    def names_among(self, names: Iterable[str]) -> bool:
        """Whether one of these fields is taken for something whatever its values look like."""
        return any(self.kinds.get(name, TIMES) != TIMES for name in names)

    def read(self, name: str, value: object) -> Read:
        """Return a number or a time as a float, words as a tuple, a name as text. Raises Bad."""
        kind = self.kinds.get(name, AUTO) if self.kinds else AUTO
        if value is None:
            return nan
        if type(value) is float or type(value) is int:
            if kind in (AUTO, NUMBER):
                return self.number(name, value)
        elif isinstance(value, str):
            if kind != AUTO:
                return self._said(name, value, kind)
            told = self._known.get(value)
            return self._looked_at(name, value) if told is None else told
        if isinstance(value, dict):
            raise Bad("nested value", shown(name, value))
        if isinstance(value, float | int):
            if kind in (AUTO, NUMBER):
                return self.number(name, value)
            return self._said(name, _written(value), kind)
        if kind in (NUMBER, TIMES) and isinstance(value, list | tuple):
            raise Bad("not a number" if kind == NUMBER else "not a time", shown(name, value))
        try:
            told = read(name, value)
        except ValueError:
            raise Bad("odd value", shown(name, value)) from None
        return as_name(told) if type(told) is str else told

    def _looked_at(self, name: str, text: str) -> Read:
        """Return what a text looks like, and keep it. Raises Bad."""
        told = self._from_text(name, text)
        if len(text) < _LONG:
            if len(self._known) == _KNOWN:
                self._known.clear()
            self._known[text] = told
        return told

    def _from_text(self, name: str, text: str) -> Read:
        """Return what a text looks like. Raises Bad."""
        plain = text.strip(BLANKS)
        number = self._number_in(plain)
        if number is not None:
            return self._finite(name, plain, number)
        if self.decimal != "." and _POINTS.fullmatch(plain) and any(map(str.isdigit, plain)):
            raise Bad("not a number", shown(name, plain))
        told = from_text(plain)
        # What it is, is known already if it could be a number or missing.
        return plain if type(told) is float and not _boxed(told) else told

    def _number_in(self, plain: str) -> float | None:
        """Return the number that a text without blanks around it is, or NaN if it is missing."""
        number = self._float(plain)
        return self._words.get(plain.lower()) if number is None else number

    def _said(self, name: str, text: str, kind: int) -> Read:
        """Return a text as what the field is said to be. Raises Bad."""
        plain = text.strip(BLANKS)
        number = self._number_in(plain)
        if number is not None and (isnan(number) or self._float(plain) in self.sentinels):
            return nan
        if kind == NAMES:
            return as_name(plain)
        if kind == TEXT:
            words = all_words(plain)
            return words if len(words) > 1 else as_name(words[0]) if words else nan
        if kind == NUMBER:
            if number is None:
                raise Bad("not a number", shown(name, plain))
            return self._finite(name, plain, number)
        time = time_in(plain) if number is None else epoch_time(number)
        if time is None:
            raise Bad("not a time", shown(name, plain))
        return time

    def number(self, name: str, value: float) -> float:
        """Return a number as a finite float, NaN if it is missing. Raises Bad."""
        try:
            result = float(value)
        except OverflowError:
            result = inf
        return self._finite(name, value, result)

    def _finite(self, name: str, value: object, result: float) -> float:
        if result in self.sentinels:
            return nan
        if result in (inf, -inf):
            raise Bad("infinite value", shown(name, value))
        return result if result == result else nan  # noqa: PLR0124  whatever its bits are

    def number_from(self, name: str, text: str) -> float:
        """Return a number, true or false that is written out, NaN if it is missing. Raises Bad."""
        told = self._said(name, text, NUMBER)
        assert isinstance(told, float)
        return told

    def anything(self, name: str, value: object) -> Any:
        """Return a value as it is, None if it is missing. Raises Bad."""
        if isinstance(value, str):
            return None if self.is_missing(value) else value
        if value is None or isinstance(value, bool) or not isinstance(value, float | int):
            return value
        # Infinity is refused; a whole number of any size stays one.
        return value if isinstance(value, int) or not isnan(self.number(name, value)) else None

    def weight_from(self, name: str, value: object) -> float:
        """Return how much a record counts, NaN if that is missing. Raises Bad."""
        try:
            if isinstance(value, str):
                number = self.number_from(name, value)
            elif value is None or isinstance(value, float | int):
                number = nan if value is None else self.number(name, value)
            else:
                raise Bad("not a number", shown(name, value))
        except Bad as bad:
            infinite = bad.reason == "infinite value"
            reason = "weight is infinite" if infinite else "weight is no number"
            raise Bad(reason, bad.detail) from None
        if number < 0 or number > LARGEST_WEIGHT:
            size = "negative" if number < 0 else "too large"
            raise Bad(f"weight is {size}", shown(name, value))
        return number

    def is_missing(self, text: str) -> bool:
        """Tell whether a text stands for a missing value."""
        number = self._number_in(text.strip(BLANKS))
        return number is not None and (isnan(number) or number in self.sentinels)

    def row(
        self, fields: Iterable[tuple[str, Any]], read: Callable[[str, Any], Any]
    ) -> tuple[dict[str, Any], tuple[Unread, ...]]:
        """Return the values of a record, and which of them could not be read. Raises Bad."""
        x: dict[str, Any] = {}
        unread: list[Unread] = []
        for name, value in fields:
            try:
                x[name] = (self.weight_from if name == self.weight else read)(name, value)
            except Bad as bad:
                unread.append(Unread(name, bad.reason, bad.detail))
                x[name] = nan if self.numeric else None
        if unread and (self.rejects or not any(_is_there(x[n]) for n in x if n != self.weight)):
            raise Bad(unread[0].reason, unread[0].detail, tuple(unread))
        return x, tuple(unread)

    def settle(
        self,
        names: Sequence[str],
        values: NDArray[np.float64],
        odd: NDArray[np.uint8] | None = None,
    ) -> bool:
        """Let numbers that stand for a missing value be missing, and those of times be times.

        Marks records as odd in which a number is no time, or no weight; says whether there is none.
        """
        for sentinel in self.sentinels:
            values[values == sentinel] = nan
        good = True
        if self.weight is not None and self.weight in names:
            weights = np.ascontiguousarray(values[:, list(names).index(self.weight)])
            bad = (weights < 0) | (weights > LARGEST_WEIGHT) | (weights.view(np.int64) >= FIRST_BOX)
            good = not bad.any()
            if odd is not None:
                odd[bad] = ODD
        for j, name in enumerate(names) if self.kinds else ():
            if self.kinds.get(name) != TIMES:
                continue
            for i in np.flatnonzero(~np.isnan(values[:, j])).tolist():
                time = epoch_time(values[i, j])
                if time is not None:
                    values[i, j] = time
                    continue
                good = False
                if odd is not None:
                    odd[i] = ODD
        return good


def epoch_time(value: float) -> float | None:
    """Return seconds, or their thousandth parts and so on, since 1970 as a time, boxed."""
    content = epoch_moment(value)
    return None if content < 0 else boxed(TIME, content)


def _boxed(value: float) -> bool:
    return unboxed(value) != (0, 0)


def _written(value: float) -> str:
    """Return a number as the name that it is where numbers are names.

    Examples
    --------
    >>> _written(True), _written(48213), _written(48213.0), _written(0.5)
    ('true', '48213', '48213', '0.5')

    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def _is_there(value: Any) -> bool:
    return not (value is None or (isinstance(value, float) and isnan(value) and not _boxed(value)))


def shown(name: object, value: object) -> str:
    """Write a field and its value on one short line."""
    return f"{show(name)[:40]}: {show(value)[:80]}"
