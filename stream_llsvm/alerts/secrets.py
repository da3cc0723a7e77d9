"""Secrets that a file only names: in an environment variable, or in a file of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Secrets:
    """Reads secrets, and takes them out of what is said.

    Examples
    --------
    >>> secrets = Secrets()
    >>> secrets.read("password", "hunter2")
    'hunter2'
    >>> secrets.scrub("535 hunter2 is wrong")
    '535 *** is wrong'

    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def read(self, name: str, value: Any) -> str:
        """Return what ``{"env": "NAME"}`` or ``{"file": "path"}`` stands for, or text as it is.

        Raises ValueError if it is none of them, or what it names is not there.
        """
        if isinstance(value, str):
            found = value
        elif isinstance(value, Mapping) and len(value) == 1 and set(value) <= {"env", "file"}:
            ((where, at),) = value.items()
            found = _looked_up(name, where, str(at))
        else:
            raise ValueError(f'{name} is text, or {{ env = "NAME" }}, or {{ file = "path" }}')
        if found:
            self._known.add(found)
        return found

    def scrub(self, text: object) -> str:
        """Return a text on one line, without secrets in it."""
        line = " ".join(str(text).split())
        for secret in sorted(self._known, key=len, reverse=True):
            line = line.replace(secret, "***")
        return line


def _looked_up(name: str, where: str, at: str) -> str:
    if where == "env":
        if at not in os.environ:
            raise ValueError(f"the environment variable {at} ({name}) is not set")
        return os.environ[at]
    try:
        return Path(at).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ValueError(f"the file {at} ({name}) cannot be read: {why}") from None
