"""Messages of some partitions -> one batch of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Position
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.flat.spans import Spans
from stream_llsvm.connectors.formats import text_or_bytes
from stream_llsvm.connectors.kafka.messages import MessagePlaces, Messages


class MessageBatches:
    """Makes batches of messages.

    Parameters
    ----------
    codec
        What reads the values. Where it names no key, a record's key is the message's own.
    skip_tombstones
        Whether messages without a value are passed over; otherwise they are rejected.
    key_header
        The header whose value stands for the message's own key.

    Attributes
    ----------
    skipped
        How many tombstones were passed over.

    """

    def __init__(self, codec: Codec, *, skip_tombstones: bool, key_header: str | None) -> None:
        self.codec = codec
        self._skip_tombstones = skip_tombstones
        self._key_header = key_header
        self._last: list[Messages] = []  # behind the last batch
        self.skipped = 0

    def forget(self) -> None:
        """Let go of the last batch."""
        self._last = []

    @property
    def raw(self) -> list[Any]:
        """kafka-python's records behind the last batch's places."""
        return [record for piece in self._last for record in piece.records()]

    def made(self, found: Mapping[Any, Sequence[Messages]], position: Position) -> Batch | None:
        """Return a batch of messages by partition; None if there is nothing to tell of."""
        pieces = [piece for some in found.values() for piece in some]
        if self._skip_tombstones:
            pieces = self._without_tombstones(pieces)
        if not pieces:
            return None
        places = MessagePlaces(pieces)
        raws = Spans.joined([piece.values for piece in pieces])
        batch = self.codec.decode(raws, places, position, blanks=False)
        if len(batch) < len(places):
            taken = set(batch.places)
            kept = np.array([place in taken for place in places])
            pieces = _chosen(pieces, kept)
        if self.codec.key is None:
            keys = [key for piece in pieces for key in self._keys(piece)]
            batch.keys = [None if key is None else text_or_bytes(key) for key in keys]
        self._last = pieces
        return batch

    def _without_tombstones(self, pieces: list[Messages]) -> list[Messages]:
        kept = np.concatenate([piece.values.starts >= 0 for piece in pieces])
        missing = len(kept) - int(np.count_nonzero(kept))
        self.skipped += missing
        return _chosen(pieces, kept) if missing else pieces

    def _keys(self, piece: Messages) -> list[bytes | None]:
        wanted = self._key_header
        if wanted is None:
            return piece.keys()
        return [
            next((v for name, v in piece.headers(i) if name == wanted), None)
            for i in range(len(piece))
        ]


def _chosen(pieces: list[Messages], kept: Any) -> list[Messages]:
    """Return those messages for which it is true."""
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    some = [
        piece.chosen(kept[end - len(piece) : end]) for piece, end in zip(pieces, ends, strict=True)
    ]
    return [piece for piece in some if len(piece)]
