"""How far the records of several partitions were not in the order of their times."""

from __future__ import annotations

import time

from stream_llsvm.connectors.base import Disorder
from stream_llsvm.engine.progress import Progress

_PAUSE = 60.0  # seconds between two events that say the same


class Order:
    """Counts records that came too late to be put in order, and waits that ran out.

    Parameters
    ----------
    progress
        Where they are counted, as ``late`` and ``gave_up``, and noted as events.

    Attributes
    ----------
    waited
        Seconds in which records were held back for others, in this process.

    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.waited = 0.0
        self._late = 0  # since the last event
        self._due = 0.0

    def take(self, new: Disorder) -> None:
        """Count what is new."""
        self.waited += new.waited
        counts = self._progress.counts
        for name in new.gave_up:
            counts["gave_up"] += 1
            self._progress.note(
                "out of order",
                f"{name} has more and did not give it in time: it is waited for no longer, and "
                "what it gives now comes behind others that are later",
            )
        counts["late"] += new.late
        self._late += new.late
        if self._late and time.monotonic() >= self._due:
            self._due = time.monotonic() + _PAUSE
            self._progress.note(
                "too late",
                f"{self._late:,} records came when later ones had been learned: the order is no "
                "longer that of their times alone",
            )
            self._late = 0
