"""Records, and fields, that could not be used: counted, kept as dead letters, and bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stream_llsvm.connectors.base import BadField, DeadLetters, Place, Rejected
from stream_llsvm.engine.classes import REASON

_SHOWN = 3
_KEPT = 20
_JUDGED_FROM = 100
_MOST_NAMES = 1_000
#: What fields with other names are counted as.
OTHERS = "(others)"


class TooManyRejected(Exception):
    """Most of what comes cannot be used; the text shows the first."""


class Rejects:
    """What was rejected so far.

    Parameters
    ----------
    letters
        Where rejected records are kept, if anywhere.
    max_ratio
        The share of all records from which on `check` raises.

    Attributes
    ----------
    counts
        How many records were rejected, by reason.
    bad_fields
        How many values could not be read, by field; their records were taken without them, or
        are among those rejected. Those beyond 1,000 names are counted as ``(others)``.
    first, first_bad
        The first records, and the first value.
    deletes
        How many messages only told that something was deleted; that is nothing bad.

    """

    def __init__(self, letters: DeadLetters | None, max_ratio: float) -> None:
        self.letters, self.max_ratio = letters, max_ratio
        self.counts: Counter[str] = Counter()
        self.bad_fields: Counter[str] = Counter()
        self.first: list[Rejected] = []  # without their bytes, which may be many
        self.first_bad: BadField | None = None
        self.deletes = 0

    def take(self, rejected: Iterable[Rejected], bad_fields: Sequence[BadField] = ()) -> None:
        """Count and keep them."""
        if bad_fields:
            self.count_fields(Counter(one.field for one in bad_fields))
            self.first_bad = self.first_bad or bad_fields[0]
        listed = list(rejected)
        self.counts.update(each.reason for each in listed)
        self._keep(listed)
        if listed and self.letters is not None:
            self.letters.write(listed)

    def add(self, others: Rejects) -> None:
        """Count what was rejected elsewhere, and kept there."""
        self.counts.update(others.counts)
        self.count_fields(others.bad_fields)
        self.first_bad = self.first_bad or others.first_bad
        self.deletes += others.deletes
        self._keep(others.first)

    def count_fields(self, counts: Mapping[str, int]) -> None:
        """Count values that could not be read, by field."""
        known = self.bad_fields
        for name, n in counts.items():
            known[name if name in known or len(known) < _MOST_NAMES else OTHERS] += n

    def _keep(self, rejected: Sequence[Rejected]) -> None:
        """Keep the first ones to show them."""
        for each in rejected[: _KEPT - len(self.first)]:
            self.first.append(each._replace(raw=b""))

    def refused(self, places: Sequence[Place], why: Mapping[int, str]) -> None:
        """Count and keep those of a batch that the model refused."""
        self.take(Rejected(places[i], "refused by the model", text, b"") for i, text in why.items())

    def check(self, used: int) -> None:
        """Raise TooManyRejected if too few of all records could be used.

        A class too many is no reason: anybody who may send labels could end the run.
        """
        bad = self.counts.total() - self.counts[REASON]
        if bad + used >= _JUDGED_FROM and bad > self.max_ratio * (bad + used):
            shown = [f"{one.place}: {one.reason}: {one.detail}" for one in self.first[:_SHOWN]]
            raise TooManyRejected(
                f"{bad:,} of {bad + used:,} records could not be used, more than "
                f"max_rejected_ratio={self.max_ratio:g} allows. The first: {'; '.join(shown)}"
            )
