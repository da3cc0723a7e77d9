"""The texts of the names of a stream, by their codes: rows hold codes, people want to see names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.flat.gather import READ, gather
from stream_llsvm.connectors.flat.note import Notes, roomier
from stream_llsvm.records.boxes import boxed_name, unboxed

# More names, or more characters of them, than this are forgotten before the next batch.
_MOST_NAMES = 2**17
_MOST_CHARACTERS = 2**23
_FIRST_ROOM = 2**12


class Dictionary:
    """The texts of names that grow in number with a stream, up to a bound.

    When it is full, a new one is begun: a batch keeps the texts that were known when it was read.

    Attributes
    ----------
    texts
        The texts, by their codes.
    cells
        Texts as values of a row, for who reads many: numbers, names and times.

    Examples
    --------
    >>> names = Dictionary()
    >>> box = names.box("DE")
    >>> names.texts[unboxed(box)[1]]
    'DE'

    """

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.texts: dict[int, str] = {}
        self._boxes: dict[str, float] = {}
        self.cells: dict[str, float] = {}
        self._characters = 0
        self._notes = roomier(None, _FIRST_ROOM)

    def make_room(self) -> None:
        """Begin anew if it is full; called before a batch is read."""
        many = max(len(self.texts), len(self.cells)) > _MOST_NAMES
        if many or self._characters > _MOST_CHARACTERS:
            self._begin_anew()

    def box(self, text: str) -> float:
        """Return a name as a value of a row, and keep its text."""
        box = self._boxes.get(text)
        if box is None:
            box = self._boxes[text] = boxed_name(text)
            self._keep([unboxed(box)[1]], [str(text)])  # and no longer marked as a name
        return box

    def _keep(self, codes: list[int], texts: list[str]) -> None:
        self.texts.update(zip(codes, texts, strict=True))
        self._characters += sum(map(len, texts))

    def noting(
        self, data: NDArray[np.uint8], records: int, read: Callable[[int, Notes], int]
    ) -> None:
        """Let a loop read records, and keep the texts of the names that are new.

        Parameters
        ----------
        data
            The bytes that it reads.
        records
            How many there are.
        read
            Reads from a record on, and returns up to which there was room for new names.

        """
        done = 0
        while done < records:
            done = read(done, self._notes)
            _, fresh, counts = self._notes
            new = fresh[: int(counts[1])]
            if len(new):
                known = np.full(len(new), READ, dtype=np.uint8)
                found = gather(data, known, new[:, 1:], b"", b"\n").decode(errors="replace")
                self._keep(new[:, 0].tolist(), found.split("\n"))
                counts[1] = 0
            if done < records:
                self._notes = roomier(self._notes, 2 * len(self._notes.seen))
