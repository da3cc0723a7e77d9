"""Records in which a field holds words -> rows of a block, so that a model takes them at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.records.boxes import unboxed
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.text_boxes import TextBoxes

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
        self._boxes = TextBoxes()

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
            return self._boxes.of_words(value)
        if not isinstance(value, str):
            return None
        try:
            box = self._boxes.of(name, value)
        except ValueError:
            return None
        if isinstance(box, tuple):
            return box
        texts[unboxed(box)[1]] = str(value)
        return (box,)
