"""A source that is let out at a pace: a stored or made up stream then comes like a live one."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream_llsvm.connectors.base import Batch, Position, Source

_TICKS = 20  # batches a second, where the pace allows them
_ROUNDING = 1e-6  # what is due but for so much of a record is due


class PacedSource:
    """Another source, at most so many records a second.

    Parameters
    ----------
    source
        Where the records come from.
    rate
        Records a second. What falls behind by more than a second is not caught up with.
    clock, sleep
        How time passes.

    """

    def __init__(
        self,
        source: Source,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not rate > 0:
            raise ValueError(f"rate must be above 0 records a second; got {rate}")
        self.source, self.rate = source, rate
        self._clock, self._sleep = clock, sleep
        self._tick = max(1.0, rate / _TICKS)
        self._begin: float | None = None
        self._handed = 0

    @property
    def name(self) -> str:
        """What people call the source."""
        return self.source.name

    @property
    def ended(self) -> bool:
        """Whether the source has ended."""
        return self.source.ended

    @property
    def position(self) -> Position:
        """Where the source stands."""
        return self.source.position

    def seek(self, position: Position) -> None:
        """Let the source continue behind this position."""
        self.source.seek(position)
        self._begin, self._handed = None, 0

    def close(self) -> None:
        """Close the source."""
        self.source.close()

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the records that are due, at most so many; None if none are within so long."""
        end = self._clock() + timeout
        wanted = min(self._tick, max_records)
        while (due := self._due()) < wanted - _ROUNDING:
            wait, left = (wanted - due) / self.rate, end - self._clock()
            if wait > left:
                self._sleep(max(0.0, left))
                return None
            self._sleep(wait)
        batch = self.source.poll(
            min(max_records, int(due + _ROUNDING)), max(0.0, end - self._clock())
        )
        if batch is not None:
            self._handed += len(batch) + len(batch.rejected)
        return batch

    def _due(self) -> float:
        """Return how many records should have come and have not."""
        now = self._clock()
        if self._begin is None:
            self._begin = now - self._tick / self.rate
        due = (now - self._begin) * self.rate - self._handed
        if due > max(self.rate, self._tick):
            self._begin += (due - self._tick) / self.rate
            return self._tick
        return due
