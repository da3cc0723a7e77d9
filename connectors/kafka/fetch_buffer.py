"""Messages that were fetched, and not handed out yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from stream_llsvm.connectors.kafka.messages import Messages, Objects


class FetchBuffer:
    """Messages of some partitions, handed out in the order in which they were fetched.

    Every poll of kafka-python's asks its network thread, and waits for it: all that has come is
    taken at once, and the next fetch is under way while this is handed out.
    """

    def __init__(self) -> None:
        self._pieces: deque[tuple[Any, Messages]] = deque()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def put(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Take what a poll found: records by partition, or `Messages` with several each."""
        for partition, some in found.items():
            pieces = some if isinstance(some[0], Messages) else [Objects(some)]
            self._pieces.extend((partition, piece) for piece in pieces)

    def take(self, most: int) -> dict[Any, list[Messages]]:
        """Return the next messages of each partition, at most so many in all."""
        taken: dict[Any, list[Messages]] = {}
        while self._pieces and most > 0:
            partition, piece = self._pieces.popleft()
            if len(piece) > most:
                self._pieces.appendleft((partition, piece.chosen(slice(most, None))))
                piece = piece.chosen(slice(most))
            taken.setdefault(partition, []).append(piece)
            most -= len(piece)
        return taken

    def clear(self) -> None:
        """Forget them: they will be fetched again, or are not wanted."""
        self._pieces.clear()
