"""What an option may be, and the flag that says it: connectors and pipelines declare theirs so."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from stream_llsvm.options import choice, flag, number, whole

#: What the values of a column may be said to be.
FIELD_KINDS = ("name", "number", "time", "text", "ignore")


_DURATION = re.compile(r" *([0-9]+\.?[0-9]*) *(ms|s|min|h|) *")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3_600.0}


class Kind(NamedTuple):
    """A kind of value.

    Attributes
    ----------
    check
        Returns a value that is allowed; raises ValueError for any other. It takes the name, too.
    type
        The type of a flag's value.
    metavar
        What stands for the value in ``--help``.
    choices
        All values, if they are few: what a shell completes.
    parse
        Returns what a flag's value means, where it is written otherwise than in a file.

    """

    check: Callable[[str, Any], Any]
    type: Any = str
    metavar: str | None = "TEXT"
    choices: Callable[[], Iterable[str]] = tuple
    parse: Callable[[Any], Any] = lambda value: value


class Key(NamedTuple):
    """A key of a section: what it may be, and the flag that says the same.

    Attributes
    ----------
    kind
        What it may be.
    flag
        As in ``--max-batch``; empty if only a file says it.
    help
        What it means, in ``--help``.
    needed
        Whether a section is nothing without it.
    only
        The schemes of the connectors that know it; all of them if there are none.

    """

    kind: Kind
    flag: str = ""
    help: str = ""
    needed: bool = False
    only: tuple[str, ...] = ()


def text(name: str, value: Any) -> str:
    """Return value if it is text that says something."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text; got {value!r}")
    return value


def texts(name: str, value: Any) -> list[str]:
    """Return value as a list if it is text, or a list of texts."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(isinstance(one, str) and one for one in several):
        raise ValueError(f"{name} must be text, or a list of texts; got {value!r}")
    return several


def words(name: str, value: Any) -> list[str]:
    """Return value as a list if it is text, or a list of texts, of which there may be none."""
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in several):
        raise ValueError(f"{name} must be text, or a list of texts; got {value!r}")
    return several


def wholes(name: str, value: Any) -> list[int]:
    """Return value as a list if it is a whole number from 0 on, or a list of them."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(type(one) is int and one >= 0 for one in several):
        raise ValueError(f"{name} must be whole numbers, as in {name} = [0, 1]; got {value!r}")
    return several


def names_in(given: Iterable[str]) -> list[str]:
    """Return the names that a flag gives, between commas or by repeating it.

    A name with a comma in it stands in quotes.

    Examples
    --------
    >>> names_in(["a, b", '"height, m"'])
    ['a', 'b', 'height, m']

    """
    parted = (next(csv.reader([one], skipinitialspace=True), [""]) for one in given)
    return [name.strip() for names in parted for name in names]


def _numbers_in(given: Iterable[str]) -> list[Any]:
    return [int(one) if one.isdecimal() else one for one in names_in(given)]


def table(name: str, value: Any) -> dict[str, Any]:
    """Return value if it is a table."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a table, as in {name} = {{ a = 1 }}; got {value!r}")
    return value


def kinds(name: str, value: Any) -> dict[str, str]:
    """Return value if it is a table of what columns are."""
    return {
        column: choice(column, kind, FIELD_KINDS) for column, kind in table(name, value).items()
    }


def pairs_in(given: Iterable[str]) -> dict[str, str]:
    """Return what a flag says of columns, between commas or by repeating it.

    Examples
    --------
    >>> pairs_in(["user=name, note=ignore", "amount=number"])
    {'user': 'name', 'note': 'ignore', 'amount': 'number'}

    """
    parted = (one.rpartition("=") for one in names_in(given))
    return {(name if equals else kind): kind if equals else "" for name, equals, kind in parted}


def seconds(name: str, value: Any) -> float:
    """Return a time in seconds: a number of them, or text with a unit.

    Examples
    --------
    >>> seconds("max_wait", "500 ms"), seconds("max_wait", "2min"), seconds("max_wait", 1.5)
    (0.5, 120.0, 1.5)

    """
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    number = value if found is None else float(found[1]) * _UNITS[found[2] or "s"]
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 86_400:
        raise ValueError(f'{name} is a time of up to a day, as "500 ms" or "5 s"; got {value!r}')
    return float(number)


def one_of(*allowed: str) -> Kind:
    """Return the kind of one of these words."""
    return Kind(partial(choice, allowed=allowed), metavar="NAME", choices=lambda: allowed)


def whole_number(low: int, high: int) -> Kind:
    """Return the kind of a whole number between two."""
    return Kind(partial(whole, low=low, high=high), int, "N")


def any_number(low: float, high: float, metavar: str = "NUMBER") -> Kind:
    """Return the kind of a number between two."""
    return Kind(partial(number, low=low, high=high), float, metavar)


PAIRS = Kind(kinds, list[str], "COLUMN=KIND", parse=pairs_in)
TEXT, TABLE = Kind(text), Kind(table)
SWITCH = Kind(flag, bool, None)
COLUMN = Kind(text, metavar="COLUMN")
COLUMNS = Kind(texts, list[str], "COLUMNS", parse=names_in)
WORDS = Kind(words, list[str], "WORDS", parse=names_in)
NUMBERS = Kind(wholes, list[str], "NUMBERS", parse=_numbers_in)
PLACE, PLACES = Kind(text, metavar="PLACE"), Kind(texts, list[str], "PLACE")
FILE, FOLDER = Kind(text, metavar="FILE"), Kind(text, metavar="FOLDER")
DURATION = Kind(seconds, metavar="TIME")

#: The options of every source that merges several partitions or files by time.
ORDER = {
    "order": Key(
        one_of("time", "arrival"),
        "--order",
        "Of several partitions or files: by time (usual), or arrival.",
    ),
    "time": Key(COLUMN, "--time", "The column that says when a record was, to order them by."),
    "max_wait": Key(
        DURATION,
        "--max-wait",
        'How long a partition is waited for that has more: "500 ms" (5 s).',
    ),
}
