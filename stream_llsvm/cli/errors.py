"""What a command ends with when it cannot do what was asked, and how names are looked up."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TextIO

_LISTED = 7


class MistakeError(Exception):
    """The user can put it right: the text says how, a line for each mistake. Exit code 2."""


class RunFailedError(Exception):
    """The run could not go on; the text says why. Exit code 1."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like this one, None if none is.

    Examples
    --------
    >>> nearest("lable", ["key", "label"])
    'label'

    """
    by_small = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_small, n=1, cutoff=0.6)
    return by_small[found[0]] if found else None


def printable(told: str) -> str:
    r"""Return a text without what would steer the terminal: it comes from elsewhere.

    Examples
    --------
    >>> printable("a\x1b[31m")
    'a?[31m'

    """
    return "".join(c if c.isprintable() else "?" for c in told)


def put(text: str, file: TextIO | None = None, end: str = "\n") -> None:
    """Print lines, to standard output unless told otherwise: all that a command prints as text.

    Names and labels in them come from elsewhere, and may hold what steers a terminal.
    """
    print("\n".join(map(printable, text.split("\n"))), file=file, end=end, flush=True)


def listed(names: Iterable[object]) -> str:
    """Return a few of the names, and how many more there are.

    Examples
    --------
    >>> listed("abcdefgh")
    'a, b, c, d, e, f, g and 1 more'

    """
    every = [str(name) for name in names]
    more = len(every) - _LISTED
    return ", ".join(every[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return a line about a name that is none of those known.

    Examples
    --------
    >>> unknown("key", "lable", ["key", "label"])
    'unknown key "lable": did you mean "label"? There are key, label'

    """
    names = list(known)
    like = nearest(name, names)
    hint = f'did you mean "{like}"? ' if like else ""
    return f'unknown {what} "{name}": {hint}There are {listed(names) or "none"}'


def one_line(error: BaseException) -> str:
    """Return an exception's text on one line, its type's name if it has none.

    Of a module that is missing, how to install it.
    """
    if isinstance(error, ModuleNotFoundError):
        from stream_llsvm.extras import install_hint

        return install_hint(error) or str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
