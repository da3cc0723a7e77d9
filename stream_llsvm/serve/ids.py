"""Which ids have come: a record that is sent again is learned once, and gets its answer again."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

from stream_llsvm.connectors.log.segments import LABEL, DamagedError, entries, segments
from stream_llsvm.serve.bodies import Names, id_of


class Ids:
    """The last ids, with the entry that each record has in the log, and the answer it was given.

    Parameters
    ----------
    most
        How many are kept: the oldest are forgotten.

    Examples
    --------
    >>> ids = Ids(most=2)
    >>> for number, key in enumerate("abc"):
    ...     ids.add(key, number)
    >>> ids.number("a"), ids.number("c")
    (None, 2)

    """

    def __init__(self, most: int = 100_000) -> None:
        self.most = most
        self._numbers: OrderedDict[Any, int] = OrderedDict()
        self._labelled: OrderedDict[Any, None] = OrderedDict()
        self._answers: dict[int, Any] = {}
        self._waited: set[int] = set()  # entries that an answer is kept of, once it comes

    def number(self, key: Any) -> int | None:
        """Return the entry of the record with this id, None if none is remembered."""
        return self._numbers.get(key)

    def add(self, key: Any, number: int) -> None:
        """Remember a record's entry; of two with one id, the first stays."""
        if key in self._numbers:
            return
        self._numbers[key] = number
        self._waited.add(number)
        if len(self._numbers) > self.most:
            _, old = self._numbers.popitem(last=False)
            self._waited.discard(old)
            self._answers.pop(old, None)

    def forget(self, key: Any) -> None:
        """Forget a record that could not be kept."""
        number = self._numbers.pop(key, None)
        if number is not None:
            self._waited.discard(number)
        self._labelled.pop(key, None)

    def label(self, key: Any) -> bool:
        """Remember that a record's label has come; returns whether it had before."""
        if key in self._labelled:
            return True
        self._labelled[key] = None
        if len(self._labelled) > self.most:
            self._labelled.popitem(last=False)
        return False

    def unlabel(self, key: Any) -> None:
        """Forget that a label has come, which could not be kept."""
        self._labelled.pop(key, None)

    @property
    def waiting(self) -> bool:
        """Whether answers are to be kept that have not come."""
        return bool(self._waited)

    def waits(self, number: int) -> bool:
        """Whether the answer to an entry will be kept, once it comes."""
        return number in self._waited

    def keep(self, number: int, answer: Any) -> None:
        """Keep an answer, if it is to a record with an id."""
        if number in self._waited:
            self._waited.discard(number)
            self._answers[number] = answer

    def answer(self, number: int) -> Any:
        """Return the answer to an entry, None if it is not known."""
        return self._answers.get(number)

    def read(self, folder: Path, names: Names, before: int) -> None:
        """Remember the ids of a log; of entries before this one no answer will come again."""
        newest: list[list[tuple[int, int, Any, bool]]] = []
        count = 0
        for segment in reversed(segments(folder)):
            found: list[tuple[int, int, Any, bool]] = []
            with contextlib.suppress(DamagedError):  # the source says so, if it must read it
                for _, entry in entries(segment):
                    key, labelled = id_of(entry.body, names)
                    if key is not None:
                        found.append((entry.number, entry.kind, key, labelled))
                        count += entry.kind != LABEL
            newest.append(found)
            if count >= self.most:
                break
        for part in reversed(newest):
            for number, kind, key, labelled in part:
                if kind != LABEL:
                    self.add(key, number)
                    if number < before:
                        self._waited.discard(number)
                if labelled:
                    self.label(key)
