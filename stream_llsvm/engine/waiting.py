"""Labels that come later: records wait for theirs, by key, bounded in number and time.

A record that was predicted waits with its features until its label comes; the two are then learned
together. What has waited too long, or is too many, expires and is counted. A label whose record is
not there waits too, for a while: on two topics it may well come first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from math import inf
from typing import Any, NamedTuple

DELAYS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0)  # seconds; a longer one is counted too


class Guess(NamedTuple):
    """A record that waits: its features, what was predicted and how surely, and when it came."""

    x: dict[str, Any]
    prediction: Any
    sure: float
    at: float


class Waiting:
    """Records that wait for their labels, and labels that wait for their records.

    Parameters
    ----------
    most
        How many of each may wait; the oldest expire.
    longest
        How many seconds they may wait, by the clock of the records.

    Examples
    --------
    >>> waiting = Waiting(most=2, longest=60.0)
    >>> waiting.record("a", Guess({"x": 1.0}, "yes", 0.8, at=0.0))
    >>> waiting.label("a", "no", at=5.0).x
    {'x': 1.0}
    >>> waiting.label("b", "no", at=6.0)  # its record has not come yet
    >>> waiting.delays  # how many labels came within 0.01, 0.1, 1, 10, ... seconds
    [0, 0, 0, 1, 0, 0, 0, 0]

    """

    COUNTERS = ("matched", "expired", "orphaned", "duplicated")

    def __init__(self, most: int = 100_000, longest: float = 86_400.0) -> None:
        self.most, self.longest = most, longest
        self.records: OrderedDict[Hashable, Guess] = OrderedDict()
        self.labels: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()
        self.counts = dict.fromkeys(self.COUNTERS, 0)
        self._now = -inf
        self.delays = [0] * (len(DELAYS) + 1)
        self.delayed = 0.0  # all delays together

    def record(self, key: Hashable, guess: Guess) -> tuple[Any] | None:
        """Let a record wait; returns its label, in a tuple, if that has come already."""
        early = self.labels.pop(key, None)
        if early is not None:
            self._match(0.0)
            return (early[0],)
        if key in self.records:
            self.counts["duplicated"] += 1
            del self.records[key]
        self.records[key] = guess
        self._expire(guess.at)
        return None

    def label(self, key: Hashable, label: Any, at: float) -> Guess | None:
        """Return the record that the label is for; if it has not come yet, the label waits."""
        guess = self.records.pop(key, None)
        if guess is not None:
            self._match(at - guess.at)
            return guess
        if key in self.labels:
            self.counts["duplicated"] += 1
            del self.labels[key]
        self.labels[key] = (label, at)
        self._expire(at)
        return None

    def _match(self, delay: float) -> None:
        self.counts["matched"] += 1
        self.delays[bisect_left(DELAYS, delay)] += 1
        self.delayed += max(0.0, delay)

    def _expire(self, now: float) -> None:
        if now < self._now:
            self._set_back(now)
        self._now = now
        while self.records:
            oldest = next(iter(self.records.values()))
            if len(self.records) <= self.most and now - oldest.at <= self.longest:
                break
            self.records.popitem(last=False)
            self.counts["expired"] += 1
        while self.labels:
            _, at = next(iter(self.labels.values()))
            if len(self.labels) <= self.most and now - at <= self.longest:
                break
            self.labels.popitem(last=False)
            self.counts["orphaned"] += 1

    def _set_back(self, now: float) -> None:
        """After the clock was set back, let what came later by it have come just now.

        Otherwise one moment with a wrong clock would keep all that waits for as long as it erred.
        """
        for key, guess in self.records.items():
            if guess.at > now:
                self.records[key] = guess._replace(at=now)
        for key, (label, at) in self.labels.items():
            if at > now:
                self.labels[key] = (label, now)

    def report(self) -> dict[str, int]:
        """Return the counters, and how many wait now."""
        return {**self.counts, "records": len(self.records), "labels": len(self.labels)}

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        return {
            "records": [(key, *guess) for key, guess in self.records.items()],
            "labels": [(key, *label) for key, label in self.labels.items()],
            "counts": dict(self.counts),
            "delays": list(self.delays),
            "delayed": self.delayed,
        }

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave."""
        self.records = OrderedDict((key, Guess(*guess)) for key, *guess in payload["records"])
        self.labels = OrderedDict((key, tuple(label)) for key, *label in payload["labels"])
        self.counts = dict(payload["counts"])
        came = [guess.at for guess in self.records.values()]
        came += [at for _, at in self.labels.values()]
        self._now = max(came, default=-inf)
        self.delays = list(payload.get("delays", self.delays))
        self.delayed = payload.get("delayed", 0.0)
