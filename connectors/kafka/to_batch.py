"""Messages of some partitions -> one batch of records, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Position, Rejected
from stream_llsvm.connectors.codec import Codec
from stream_llsvm.connectors.field_times import NO_TIME, FieldTimes
from stream_llsvm.connectors.formats import text_or_bytes
from stream_llsvm.connectors.kafka.messages import MessagePlaces, Portion


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
    times
        What reads the field that says when messages were, if one does.

    Attributes
    ----------
    skipped
        How many tombstones were passed over.

    """

    def __init__(
        self,
        codec: Codec,
        *,
        skip_tombstones: bool,
        key_header: str | None,
        times: FieldTimes | None = None,
    ) -> None:
        self.codec, self.times = codec, times
        self._skip_tombstones = skip_tombstones
        self._key_header = key_header
        self._last: Portion | None = None  # behind the last batch
        self.skipped = 0

    def forget(self) -> None:
        """Let go of the last batch."""
        self._last = None

    @property
    def raw(self) -> list[Any]:
        """kafka-python's records behind the last batch's places."""
        return [] if self._last is None else self._last.records()

    def made(self, portion: Portion, position: Position) -> Batch | None:
        """Return a batch of messages; None if there is nothing to tell of."""
        if self._skip_tombstones:
            kept = portion.values.starts >= 0
            self.skipped += len(kept) - int(np.count_nonzero(kept))
            portion = portion if kept.all() else portion.chosen(kept)
        if not len(portion):
            return None
        untimed = portion.untimed
        refused = None if untimed is None or not untimed.any() else portion.chosen(untimed)
        if refused is not None and untimed is not None:
            portion = portion.chosen(~untimed)
        places = MessagePlaces(portion)
        batch = self.codec.decode(portion.values, places, position, blanks=False)
        if refused is not None:
            self._refuse(batch, refused)
        if len(batch) < len(places):
            taken = set(batch.places)
            portion = portion.chosen(np.array([place in taken for place in places]))
        if self.codec.key is None:
            keys = self._keys(portion)
            batch.keys = [None if key is None else text_or_bytes(key) for key in keys]
        self._last = portion
        return batch

    def _refuse(self, batch: Batch, portion: Portion) -> None:
        """Reject messages that do not say when they were, or for what else is wrong with them."""
        read = self.codec.decode(portion.values, MessagePlaces(portion), {}, blanks=False)
        raws = dict(zip(MessagePlaces(portion), portion.values, strict=True))
        batch.rejected += read.rejected
        batch.bad_fields += read.bad_fields
        batch.deletes += read.deletes
        for place in read.places:
            raw = raws[place] or b""
            why = "" if self.times is None else self.times.missing(raw)
            batch.rejected.append(Rejected(place, NO_TIME, why, raw))

    def _keys(self, portion: Portion) -> list[bytes | None]:
        wanted = self._key_header
        if wanted is None:
            return portion.keys()
        return [
            next((v for name, v in headers if name == wanted), None)
            for headers in portion.headers()
        ]
