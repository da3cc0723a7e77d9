"""Which partitions have more and give nothing, although brokers answer: whatever the reason is.

A client may lose sight of a partition: kafka-python 3.0 did for ever, of one that was paused while
another was waited for. Nothing fails then, and a part of the stream is not learned. So a partition
is expected to give something, or to be read past gaps, within a minute in which it is asked for.

Time counts only while the consumer is polled, and only when what was fetched has gone round: where
many partitions have much, a healthy one may have to wait for its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

PATIENCE = 60.0  # seconds
_STEP = 2.0  # seconds at most that count between two looks: the process may have been stopped
_ROUNDS = 2.0
_POLLS = 20  # that hand out all that was fetched of one partition, however small messages are


class _Silence(NamedTuple):
    reached: int
    seconds: float
    rounds: float


class Stalls:
    """How long each partition has given nothing that has more to give.

    Examples
    --------
    >>> stalls = Stalls()
    >>> for second in range(70):
    ...     stalls.polled(rest=False, partitions=1)
    ...     if found := stalls.look({"t/0": 5}, now=float(second)):
    ...         print(second, found)
    60 ['t/0']

    """

    def __init__(self) -> None:
        self._silent: dict[Any, _Silence] = {}
        self._rounds = 0.0
        self._polled = False
        self._looked: float | None = None

    def polled(self, *, rest: bool, partitions: int) -> None:
        """Know that the consumer was polled, and whether there may be a rest of what it fetched."""
        self._polled = True
        self._rounds += 1 / (_POLLS * partitions) if rest else 1.0

    def forget(self) -> None:
        """Begin anew: no broker answers, or there is another consumer."""
        self._silent, self._looked = {}, None

    def look(self, behind: Mapping[Any, int], now: float) -> list[Any]:
        """Return the partitions that have stalled; those not behind wait for nothing.

        Parameters
        ----------
        behind
            How far the partitions were read that have more.
        now
            The time, by a clock that is never set.

        """
        if not self._polled:
            return []
        gone = 0.0 if self._looked is None else min(now - self._looked, _STEP)
        self._looked, self._polled = now, False
        before, self._silent = self._silent, {}
        for one, at in behind.items():
            was = before.get(one)
            if was is None or was.reached != at:
                self._silent[one] = _Silence(at, 0.0, self._rounds)
            else:
                self._silent[one] = _Silence(at, was.seconds + gone, was.rounds)
        stalled = [
            one
            for one, was in self._silent.items()
            if was.seconds >= PATIENCE and self._rounds - was.rounds >= _ROUNDS
        ]
        for one in stalled:
            del self._silent[one]
        return stalled
