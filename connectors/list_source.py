"""A source that is a list: for examples and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import BadField, Batch, Place, Position, SourceError
from stream_llsvm.connectors.values import Bad, Values

#: So many records are handed out at once of a slice.
_BLOCK = 1_000


class ListSource:
    """Records that are in memory already.

    Parameters
    ----------
    records
        ``{feature: value}`` each, with the label among them.
    label
        Which field is the label; a record that does not have it has no label.
    key
        Which field is the key, if any.
    weight
        Which field says how much a record counts, if any.

    """

    name = "a list"
    endless = False

    def __init__(
        self,
        records: Sequence[Mapping[str, Any]],
        label: str,
        key: str | None = None,
        weight: str | None = None,
    ) -> None:
        self.records, self.label, self.key, self.weight = records, label, key, weight
        self._values = Values()
        self._next = 0

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, at most so many; None at the end."""
        first = self._next
        self._next = min(first + max_records, len(self.records))
        return self._batch(first, self._next) if first < self._next else None

    def _batch(self, first: int, end: int) -> Batch:
        rows = self.records[first:end]
        left_out = (self.label, self.key)
        batch = Batch(
            labels=[row.get(self.label) for row in rows],
            places=[Place(self.name, None, first + i + 1) for i in range(len(rows))],
            position={"records": end},
            records=[{k: v for k, v in row.items() if k not in left_out} for row in rows],
            keys=None if self.key is None else [row.get(self.key) for row in rows],
        )
        if self.weight is not None:
            self._weigh(batch, self.weight)
        return batch

    def _weigh(self, batch: Batch, weight: str) -> None:
        """Take the weights out of the records; those that cannot be used are bad fields."""
        batch.weights = np.ones(len(batch))
        for i, x in enumerate(batch.records or []):
            try:
                found = self._values.weight_from(weight, x.pop(weight, None))
                batch.weights[i] = 1.0 if isnan(found) else found
            except Bad as bad:
                batch.bad_fields.append(BadField(batch.places[i], weight, bad.reason, bad.detail))

    @property
    def ended(self) -> bool:
        """Whether all records have been handed out."""
        return self._next >= len(self.records)

    @property
    def position(self) -> Position:
        """How many records have been handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Continue behind this position."""
        self._next = self._number(position)

    def _number(self, position: Position) -> int:
        records = position.get("records")
        if type(records) is not int or not 0 <= records <= len(self.records):
            raise SourceError(f"{self.name}: not a position in {len(self.records)}: {position}")
        return records

    def start(self) -> Position:
        """Return where the first record is."""
        return {"records": 0}

    def ends(self) -> Position:
        """Return where the records end."""
        return {"records": len(self.records)}

    def cut(self, begin: Position, ends: Position, size: int, count: int) -> list[Position]:
        """Return the borders of slices of so many records."""
        first, last = self._number(begin), self._number(ends)
        borders = [*range(first, last, size), last] if first < last else [first]
        return [{"records": border} for border in borders[: count + 1]]

    def backlog(self, begin: Position, ends: Position) -> int:
        """Return how many records lie between two positions."""
        return max(0, self._number(ends) - self._number(begin))

    def between(self, begin: Position, end: Position) -> Iterator[Batch]:
        """Yield the records between two borders."""
        first, last = self._number(begin), self._number(end)
        for at in range(first, last, _BLOCK):
            yield self._batch(at, min(at + _BLOCK, last))

    @property
    def description(self) -> dict[str, Any]:
        """What another process makes the same list of: all of it."""
        options = {"label": self.label, "key": self.key, "weight": self.weight}
        return {"list": {"records": [dict(one) for one in self.records], **options}}

    def close(self) -> None:
        """Nothing is open."""
