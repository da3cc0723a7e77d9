"""Keys that have come before: a table of those seen lately, of a fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.validation import array, count
from stream_llsvm.kernels.cache import kept

SLOTS = 2**16  # keys that are remembered, about; a new one takes the place of an older one


def note_keys(codes: NDArray[Any], table: NDArray[Any]) -> int:
    """Return how many keys were in the table already, by a compiled loop; all are put into it."""
    again = 0
    for i in range(len(codes)):
        place = codes[i] % SLOTS
        again += table[place] == codes[i]
        table[place] = codes[i]
    return again


_note: Any = kept(note_keys, Path(__file__))


class Duplicates:
    """Counts records whose key came before, among some of the last 65,536 keys.

    Examples
    --------
    >>> duplicates = Duplicates()
    >>> duplicates.take(["a", "b", "a", None, 7, 7])
    >>> duplicates.count, duplicates.keys
    (2, 5)

    """

    def __init__(self) -> None:
        self.count = self.keys = 0
        self._table = np.zeros(0, dtype=np.int64)

    def take(self, keys: Sequence[Any]) -> None:
        """Count the keys of a batch; None is no key."""
        given = [key for key in keys if key is not None]
        if not given:
            return
        if len(self._table) == 0:
            self._table = np.full(SLOTS, -1, dtype=np.int64)
        texts = [key if isinstance(key, str) else str(key) for key in given]
        # Two checksums that begin otherwise: 62 bits.
        raw = (text.encode(errors="backslashreplace") for text in texts)
        codes = np.array([crc32(one) << 30 ^ crc32(one, 1) for one in raw], dtype=np.int64)
        self.count += int(_note(codes, self._table))
        self.keys += len(given)

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        return {"count": self.count, "keys": self.keys, "table": self._table.copy()}

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Duplicates:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit."""
        found = cls()
        found.count, found.keys = count(payload, "count"), count(payload, "keys")
        size = SLOTS if found.keys else 0
        found._table = array(payload, "table", np.int64, (size,))
        return found
