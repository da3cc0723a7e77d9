"""What a request is refused with: a status, and a sentence that says what to do."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping

log = logging.getLogger("stream_llsvm")

_QUIET = 60.0  # seconds without a refusal of a kind, after which the next is logged again


class RefusedError(Exception):
    """A request that is not answered; the text says why, in one line.

    Parameters
    ----------
    status
        Of HTTP.
    why
        What is wrong, where, and what to do.
    headers
        What goes with it.

    """

    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.headers = status, dict(headers or {})


class Refusals:
    """The requests to a model that were refused: counted by status, and the first ones logged.

    A client that sends the same again and again costs one line, and one more after a quiet minute.

    Parameters
    ----------
    name
        The model's.
    clock
        Tells the time in seconds.

    Attributes
    ----------
    counts
        How many requests were refused, by status.
    records
        How many records and labels were refused by themselves, before the log.

    Examples
    --------
    >>> refusals = Refusals("default")
    >>> refusals.add(429, "too fast")
    >>> refusals.add(429, "too fast")
    >>> refusals.counts
    Counter({429: 2})

    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[int] = Counter()
        self.records = 0
        self._name, self._clock = name, clock
        self._last: dict[int, float] = {}

    def add(self, status: int, why: str = "") -> None:
        """Count a request, and log why it was refused if none of its kind was a moment ago."""
        self.counts[status] += 1
        now, before = self._clock(), self._last.get(status)
        self._last[status] = now
        if why and (before is None or now - before > _QUIET):
            text = "".join(c if c.isprintable() else "?" for c in why[:300])
            log.warning("model %s: requests are refused with %d: %s", self._name, status, text)

    def over(self, status: int) -> None:
        """Note that what was refused with this status works again: the next refusal is logged."""
        self._last.pop(status, None)
