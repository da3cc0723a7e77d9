"""Which ids have come: a record that is sent again is learned once, and gets its answer again.

They are read from the log at a start. A small file beside it says from which entry on, so that
neither gigabytes without ids are read, nor those whose ids are forgotten.
"""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from typing import Any

import orjson

from stream_llsvm.connectors.log.segments import LABEL, entries, segments
from stream_llsvm.connectors.log.writer import LogWriter
from stream_llsvm.serve.bodies import Names, id_of

_NOTE = "ids.json"
_NOTED_EVERY = 100_000  # entries


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
        self._noted = 0  # how many entries were synced when the file was written

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

    def read(self, log: LogWriter, names: Names, before: int) -> None:
        """Remember the ids of a log; of entries before this one no answer will come again."""
        first, count = self._first(log), 0
        quoted = orjson.dumps(names.id)
        newest: list[list[tuple[int, int, Any, bool]]] = []
        for segment in reversed(segments(log.folder) if first < log.end else []):
            found: list[tuple[int, int, Any, bool]] = []
            for _, entry in entries(segment):
                body = entry.body
                if entry.number < first or not (quoted in body or b"\\" in body):
                    continue  # a name may be written with escapes, too
                key, labelled = id_of(body, names)
                if key is not None:
                    found.append((entry.number, entry.kind, key, labelled))
                    count += entry.kind != LABEL
            newest.append(found)
            if count >= self.most or segment.first <= first:
                break
        for part in reversed(newest):
            for number, kind, key, labelled in part:
                if kind != LABEL:
                    self.add(key, number)
                    if number < before:
                        self._waited.discard(number)
                if labelled:
                    self.label(key)
        self.note(log, at_once=True)

    def _first(self, log: LogWriter) -> int:
        """Return the entry from which on the log is to be read."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads((log.folder / _NOTE).read_bytes())
            if self.most <= int(said["ids"]) and int(said["end"]) <= log.end:
                return int(said["first"])
        return 0

    def note(self, log: LogWriter, *, at_once: bool = False) -> None:
        """Write down, now and then, from which entry on the log is to be read at the next start.

        No record before it has an id that is remembered. An older file, or none, costs time only.
        """
        end = log.synced
        if end - self._noted < _NOTED_EVERY and not at_once:
            return
        self._noted = end
        first = min(next(iter(self._numbers.values()), end), end)
        unfinished = log.folder / f".{_NOTE}"
        with contextlib.suppress(OSError):
            unfinished.write_text(json.dumps({"ids": self.most, "first": first, "end": end}))
            unfinished.replace(log.folder / _NOTE)
