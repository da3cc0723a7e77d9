"""How a stream is dealt out: which slices a round has, and how many learners. Nothing is read here.

Every learner of a round gets one slice, a stretch of time, since most of what there is to know of a
stream in order is what came just before. Every learner more costs some accuracy, so there are no
more of them than there are whole slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from stream_llsvm.connectors.base import Position

#: So many records one learner learns by itself before there are several: they would have little in
#: common.
FIRST = 2_000
#: A slice that lacks so much counts as whole: sources know only about how many records there are.
_NEARLY = 0.1


class Slice(NamedTuple):
    """What one learner learns in a round: all records between two positions."""

    begin: Position
    end: Position


class Load(NamedTuple):
    """What the last round was planned by; kept, so that a run which is continued plans alike."""

    learners: int = 1
    backlog: int = 0


class Plan(NamedTuple):
    """How rounds are planned.

    Attributes
    ----------
    most
        How many learners there may be.
    size
        About how many records a slice has.
    grows
        Whether there are more learners only while the backlog grows, and else one.

    """

    most: int
    size: int
    grows: bool = False

    def slice_size(self, records: int) -> int:
        """Return how many records a slice has when so many were learned before."""
        return self.size if records >= FIRST else min(self.size, FIRST - records)

    def load(self, before: Load, backlog: int, records: int) -> Load:
        """Return how many learners the next round has.

        Parameters
        ----------
        before
            The last round's.
        backlog
            About how many records are there and are not learned yet.
        records
            How many were learned.

        Examples
        --------
        >>> plan = Plan(8, 1_000, grows=True)
        >>> load = plan.load(Load(1, 4_000), backlog=9_500, records=50_000)
        >>> load, plan.load(load, backlog=9_000, records=52_000).learners
        (Load(learners=2, backlog=9500), 2)
        >>> plan.load(load, backlog=900, records=52_000).learners
        1

        """
        whole = max(1, int(backlog / self.size + _NEARLY))
        if records < FIRST or whole == 1:
            return Load(1, backlog)
        learners = self.most
        if self.grows:
            learners = before.learners * (2 if backlog > before.backlog > 0 else 1)
        return Load(min(learners, self.most, whole), backlog)


def slices(borders: Sequence[Position]) -> list[Slice]:
    """Return what lies between borders.

    Examples
    --------
    >>> slices([{"records": 0}, {"records": 5}, {"records": 9}])[1]
    Slice(begin={'records': 5}, end={'records': 9})

    """
    return [Slice(begin, end) for begin, end in pairwise(borders)]


def weights(n: int, newest: float) -> list[float]:
    """Return how much each learner of a round counts in the merge, oldest slice first.

    Parameters
    ----------
    n
        How many learners there are.
    newest
        How much more each counts than the one with the slice before.

    Examples
    --------
    >>> weights(3, 2.0)
    [1.0, 2.0, 4.0]

    """
    return [newest**i for i in range(n)]
