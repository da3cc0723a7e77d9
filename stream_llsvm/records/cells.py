"""The cells of a frame that are no plain numbers: names, times, texts, and whatever else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.records.boxes import boxed, boxed_name, name_code
from stream_llsvm.records.sparse import SparseRows
from stream_llsvm.records.texts import Read
from stream_llsvm.records.values import is_missing, read

Words = tuple[float, ...]


class Cells:
    """Reads the values of one frame.

    Attributes
    ----------
    texts
        The texts of the names so far, by their codes.

    """

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self._known: dict[str, float | Words] = {}
        #: Of cells that hold a text: the row, the column, and the words' boxes.
        self._words: list[tuple[int, int, Words]] = []

    def column(self, place: int, name: Hashable, values: Sequence[Any]) -> list[float]:
        """Return what the values of a column are in a matrix; a text is noted, and NaN for now.

        Parameters
        ----------
        place
            The column's number.
        name
            The field.
        values
            One a row.

        """
        found: list[float] = []
        for row, value in enumerate(values):
            box = self._known.get(value) if type(value) is str else None
            if box is None:
                box = self._boxed(read(name, value, row))
                if type(value) is str:
                    self._known[value] = box
            if isinstance(box, tuple):
                self._words.append((row, place, box))
                box = nan
            found.append(box)
        return found

    def _boxed(self, told: Read) -> float | Words:
        if isinstance(told, tuple):
            return tuple(map(boxed_name, told))
        return self._name(told) if isinstance(told, str) else told

    def _name(self, text: str) -> float:
        code = name_code(text)
        self.texts[code] = text
        return boxed(NAME, code)

    def names(self, values: Sequence[Any]) -> list[float]:
        """Return the boxes of a column whose values are names, whatever they look like.

        Parameters
        ----------
        values
            One a row.

        """
        known: dict[Any, float] = {}
        for value in values:
            if value not in known:
                known[value] = nan if is_missing(value) else self._name(str(value))
        return [known[value] for value in values]

    def with_words(self, matrix: NDArray[Any]) -> NDArray[Any] | SparseRows:
        """Return a matrix with the words of its texts: sparse, if there are some.

        Parameters
        ----------
        matrix
            The matrix.

        """
        if not self._words:
            return matrix
        n, d = matrix.shape
        lengths = np.ones((n, d), dtype=np.int64)
        for row, column, words in self._words:
            lengths[row, column] = len(words)
        begins = np.concatenate([[0], np.cumsum(lengths)])
        values = np.repeat(matrix.reshape(-1), lengths.reshape(-1))
        for row, column, words in self._words:
            begin = begins[row * d + column]
            values[begin : begin + len(words)] = words
        columns = np.repeat(np.tile(np.arange(d), n), lengths.reshape(-1))
        return SparseRows(values, columns, begins[::d].astype(np.int64), d)
