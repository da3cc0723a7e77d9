"""What a text is: nothing, a number, a time, a bag of words, or a name.

This one function reads the values of dicts, of frames and of all that connectors decode; compiled
loops that read bytes agree with it to the bit.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import islice
from math import nan

from stream_llsvm.records.times import time_in

#: What people write where there is no value, in lower case.
MISSING = frozenset({"", "?", "-", "na", "n/a", "nan", "null", "none"})
#: What a file of text can write no other way, in lower case.
TRUTH = {"true": 1.0, "false": 0.0}
#: Only these are blanks: a reader of bytes must find them, too.
BLANKS = " \t\n\r\v\f"
#: So many blank-separated parts, and so many distinct words, make a text.
FEWEST_WORDS = 3
#: A bag has at most so many words; what comes behind them is left out.
MOST_WORDS = 1_000
#: In a number's text there is none of these: Python's way to group digits is not a stream's.
_GROUPS = "_"
_SEVERAL = re.compile(rf"(?:[^{BLANKS}]+[{BLANKS}]+){{{FEWEST_WORDS - 1}}}[^{BLANKS}]")
_WORD = re.compile(r"\w+")
_KEPT = 10_000  # names whose reading is remembered
#: A number or a time is a float, a bag a tuple of words, and a name a text.
Read = float | str | tuple[str, ...]


def from_text(text: str, missing: Collection[str] = MISSING) -> Read:
    """Return what a text is: a float, a tuple of words, or a name.

    In this order: missing (NaN), a number (an infinite one is returned as it is; true and false
    are 1 and 0), a time (a NaN that holds it, see ``boxes.py``), a bag of distinct words in lower
    case, or else a name: the text without blanks around it, every character of it.

    Parameters
    ----------
    text
        The text.
    missing
        What stands for a missing value, in lower case.

    Examples
    --------
    >>> from_text(" 12.5 "), from_text("N/A"), from_text("DE"), from_text("ice cream")
    (12.5, nan, 'DE', 'ice cream')
    >>> from_text("Call me, call ME now")
    ('call', 'me', 'now')
    >>> from stream_llsvm.records.boxes import unboxed
    >>> unboxed(from_text("2026-11-19 13:00"))[0]  # TIME
    2

    """
    text = text.strip(BLANKS)
    if not text:
        return nan
    number = number_in(text)
    if number is not None:
        return number
    small = text.lower()
    if small in missing:
        return nan
    if small in TRUTH:
        return TRUTH[small]
    if "0" <= text[0] <= "9":
        time = time_in(text)
        if time is not None:
            return time
    return words_in(text) or text


def number_in(text: str) -> float | None:
    """Return the number that a text is, None if it is none.

    Parameters
    ----------
    text
        The text, without blanks around it.

    Examples
    --------
    >>> number_in("-1e3"), number_in("1_000"), number_in("12 kg")
    (-1000.0, None, None)

    """
    if _GROUPS in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def words_in(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text, in lower case, as they come; none if they are too few.

    Parameters
    ----------
    text
        The text, without blanks around it.

    Examples
    --------
    >>> words_in("to be, or not to be"), words_in("New York"), words_in("a, a, a")
    (('to', 'be', 'or', 'not'), (), ())

    """
    if _SEVERAL.match(text) is None:
        return ()
    words = all_words(text)
    return words if len(words) >= FEWEST_WORDS else ()


def all_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text, in lower case, as they come, however few.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> all_words("Go, go!")
    ('go',)

    """
    return tuple(islice(dict.fromkeys(_WORD.findall(text.lower())), MOST_WORDS))


class Name(str):
    """A text that is a name, although it looks like something else: the code ``"007"``."""

    __slots__ = ()

    def __hash__(self) -> int:
        """Return another hash than the text's, which is known as something else."""
        return ~super().__hash__()


@lru_cache(_KEPT)
def as_name(text: str) -> str:
    """Return a text that is to be a name: marked, if it would not be taken for one.

    Parameters
    ----------
    text
        The name.

    Examples
    --------
    >>> type(as_name("DE")).__name__, type(as_name("007")).__name__
    ('str', 'Name')

    """
    return text if from_text(text) == text else Name(text)
