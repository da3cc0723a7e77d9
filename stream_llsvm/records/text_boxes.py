"""What values are in rows: numbers, boxes, or the boxes of a text's words."""

from __future__ import annotations

from collections.abc import Hashable
from math import nan
from typing import Any

from stream_llsvm.records.boxes import boxed_name
from stream_llsvm.records.values import read

#: What a value is in a row: a number or a box, or the boxes of a text's words.
Boxed = float | tuple[float, ...]

# So many texts are kept with their boxes, each at most so long; then it begins anew.
_MOST_TEXTS, _LONGEST_TEXT = 2**15, 100


class TextBoxes:
    """Reads values into boxes, and keeps those of texts, which mostly come again.

    Attributes
    ----------
    known
        Texts that are one number or box, and that; and None, which is missing.

    Examples
    --------
    >>> boxes = TextBoxes()
    >>> boxes.of("price", "12.5"), len(boxes.of("said", "go home now")), "12.5" in boxes.known
    (12.5, 3, True)

    """

    __slots__ = ("_words", "known")

    def __init__(self) -> None:
        self.known: dict[str | None, float] = {None: nan}
        self._words: dict[str, float] = {}

    def of(self, name: Hashable, value: object) -> Boxed:
        """Return what a value is in a row.

        Parameters
        ----------
        name
            The field, for the message if it cannot be read.
        value
            Its value.

        """
        is_text = type(value) is str
        if is_text and (known := self.known.get(value)) is not None:  # type: ignore[call-overload]
            return known  # type: ignore[no-any-return]
        told = read(name, value)
        if isinstance(told, tuple):
            return self.of_words(told)
        box = boxed_name(told) if isinstance(told, str) else told
        if is_text:
            _keep(self.known, value, box)  # type: ignore[arg-type]
            self.known[None] = nan
        return box

    def of_words(self, words: tuple[str, ...]) -> tuple[float, ...]:
        """Return the boxes of words, which are names whatever they look like.

        Parameters
        ----------
        words
            The words.

        """
        return tuple(map(self._word, words))

    def _word(self, word: str) -> float:
        box = self._words.get(word)
        if box is None:
            box = boxed_name(word)
            _keep(self._words, word, box)
        return box


def _keep(boxes: dict[Any, float], text: str, box: float) -> None:
    """Keep the box of a text, within bounds."""
    if len(text) <= _LONGEST_TEXT:
        if len(boxes) >= _MOST_TEXTS:
            boxes.clear()
        boxes[text] = box
