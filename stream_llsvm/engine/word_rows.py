"""Records in which a field holds words -> rows of a block, so that a model takes them at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.records.boxes import boxed_name, unboxed
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.values import read

_KEPT = 2**16  # texts and words whose boxes are kept
_LONG = 100  # longer ones are not
_FEW = 4  # records that are learned one by one as fast


class Rows(NamedTuple):
    """Rows in which a column may come several times, and the texts of the names in them."""

    names: tuple[str, ...]
    values: SparseRows
    texts: dict[int, str]


class WordRows:
    """Makes rows of records, and keeps what it knows of texts.

    Examples
    --------
    >>> rows = WordRows().of([{"a": 1.0, "said": ("go", "home")}] * 4)
    >>> rows.names, rows.values.columns[:3].tolist(), rows.values.starts.tolist()
    (('a', 'said'), [0, 1, 1], [0, 3, 6, 9, 12])

    """

    def __init__(self) -> None:
        self._boxes: dict[str, tuple[float, ...]] = {}

    def of(self, records: Sequence[dict[Any, Any]]) -> Rows | None:
        """Return rows of records; None unless they have the same fields, and some hold words.

        Nor are there any if a value is infinite: the model says which.
        """
        if len(records) < _FEW:
            return None
        names, several = tuple(records[0]), False
        values: list[float] = []
        columns: list[int] = []
        starts = [0]
        texts: dict[int, str] = {}
        for record in records:
            if record.keys() != records[0].keys():
                return None
            for place, name in enumerate(names):
                value = record[name]
                if type(value) is float:
                    values.append(value)
                    columns.append(place)
                    continue
                boxes = self._boxes_of(name, value, texts)
                if boxes is None:
                    return None
                several |= len(boxes) > 1
                values += boxes
                columns += [place] * len(boxes)
            starts.append(len(values))
        if not several or inf in map(abs, values):
            return None
        rows = SparseRows(np.array(values), np.array(columns), np.array(starts), len(names))
        return Rows(names, rows, texts)

    def _boxes_of(
        self, name: str, value: object, texts: dict[int, str]
    ) -> tuple[float, ...] | None:
        """Return what a value is in a row, in the order of the words; None if it is unusual."""
        if type(value) is tuple:
            return tuple([self._box(word) for word in value])
        if not isinstance(value, str):
            return None
        known = self._boxes.get(value)
        if known is None:
            known = self._read(name, value)
        if known is not None and len(known) == 1:
            content = unboxed(known[0])[1]
            texts[content] = str(value)
        return known

    def _read(self, name: str, text: str) -> tuple[float, ...] | None:
        try:
            told = read(name, text)
        except ValueError:
            return None
        if isinstance(told, tuple):
            boxes = tuple([self._box(word) for word in told])
        else:
            boxes = (boxed_name(told) if isinstance(told, str) else told,)
        return self._keep(text, boxes)

    def _box(self, word: str) -> float:
        """Return the box of a word, which may look like a number."""
        key = f"\0{word}"
        known = self._boxes.get(key)
        return (self._keep(key, (boxed_name(word),)) if known is None else known)[0]

    def _keep(self, text: str, boxes: tuple[float, ...]) -> tuple[float, ...]:
        if len(text) < _LONG:
            if len(self._boxes) >= _KEPT:
                self._boxes.clear()
            self._boxes[text] = boxes
        return boxes
