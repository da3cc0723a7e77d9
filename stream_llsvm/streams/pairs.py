"""Records that come as pairs of features and label, as river's streams have them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stream_llsvm.connectors.base import Batch, Place, Position
from stream_llsvm.records.values import read

Pair = tuple[dict[Any, Any], Any]


class PairSource:
    """A source over pairs ``(features, label)``.

    Parameters
    ----------
    name
        What people call it.
    make
        Makes the pairs, the same each time.
    loop
        Whether to begin anew at the end.

    Examples
    --------
    >>> source = PairSource("two", lambda: [({"a": 1.0}, True), ({"a": 2.0}, False)], loop=True)
    >>> source.poll(3, 0.0).labels
    [True, False, True]

    """

    def __init__(self, name: str, make: Callable[[], Iterable[Pair]], *, loop: bool) -> None:
        self.name, self._make, self._loop = name, make, loop
        self._pairs = self._begun()
        self._next = 0
        self.ended = False

    def _begun(self) -> Iterator[Pair]:
        while True:
            empty = True
            for pair in self._make():
                empty = False
                yield pair
            if empty or not self._loop:
                return

    @property
    def position(self) -> Position:
        """How many records have been handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Continue behind this position; what is before it is made again and passed over."""
        self._pairs, self._next, self.ended = self._begun(), position["records"], False
        next(itertools.islice(self._pairs, self._next, self._next), None)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None at the end."""
        taken = list(itertools.islice(self._pairs, max_records))
        if not taken:
            self.ended = True
            return None
        first = self._next
        self._next += len(taken)
        return Batch(
            labels=[label for _, label in taken],
            places=[Place(self.name, None, first + i + 1) for i in range(len(taken))],
            position=self.position,
            records=[{str(name): read(name, value) for name, value in x.items()} for x, _ in taken],
        )

    def close(self) -> None:
        """Nothing is open."""
