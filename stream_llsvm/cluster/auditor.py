"""What several learners cost in accuracy, measured on the stream itself.

For a share of the rounds one more learner learns all slices of the round, one after the other, from
the same model. Its answers beside those of the learners who had a slice each are the price of
learning side by side: what each of them did not know of the slices before its own. Nobody waits for
it, and nothing of what it learns is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from stream_llsvm.cluster.host import Host
from stream_llsvm.cluster.plan import Slice
from stream_llsvm.cluster.rounds import Answered, Done, Lesson
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.scores import headline
from stream_llsvm.engine.task import Task

#: Seconds in which an audit may end when the run has.
_PATIENCE = 60.0


class Auditor:
    """Lets some rounds be learned again by one, and compares.

    Parameters
    ----------
    share
        Of how many rounds this is done; 0 for none.
    rank
        Which learner does it: one that has no slices.
    task
        Whether classes or numbers are learned.

    Attributes
    ----------
    rounds
        How many were compared.
    failed
        How many could not be learned by one.

    """

    def __init__(self, share: float, rank: int, task: Task) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"audit is a share of the rounds, from 0 to 1; got {share!r}")
        self._share, self._rank = share, rank
        self._due = 0.0
        self._headline = headline(task)
        self._alone, self._together = Progress(1, None, task), Progress(1, None, task)
        self._pending: tuple[Future[Done], list[Answered]] | None = None
        self.rounds = self.failed = 0

    def begin(self, host: Host, model: Any, epoch: int, slices: Sequence[Slice]) -> bool:
        """Let a round be learned by one, if it is its turn; returns whether it is."""
        if len(slices) < 2 or not self._share:
            return False
        self._due = min(self._due + self._share, 1.0)
        if self._pending is not None or self._due < 1.0 - 1e-9:
            return False
        self._due = 0.0
        host.start(self._rank + 1)
        lesson = Lesson(epoch, tuple(slices))
        self._pending = host.call(self._rank, "learn", model, lesson), []
        return True

    def end(self, answered: Sequence[Answered]) -> None:
        """Keep what the learners of the round that was begun have answered."""
        if self._pending is not None:
            self._pending[1].extend(answered)

    def look(self, *, wait: bool = False) -> None:
        """Compare, if the one who learns a round by itself has done so."""
        if self._pending is None or not (wait or self._pending[0].done()):
            return
        (answer, together), self._pending = self._pending, None
        try:
            alone = answer.result(_PATIENCE)
        except (Exception, CancelledError, TooLate):  # the run itself goes on
            self.failed += 1
            return
        self.rounds += 1
        for progress, told in ((self._alone, alone.answered), (self._together, together)):
            for one in told:
                if one.taken:
                    progress.score(one.labels, one.answers, one.weights)

    def report(self) -> dict[str, Any]:
        """Return how one learner and several did in the same rounds, and the difference.

        ``price`` is above 0 where one is better: a share of right answers, or of numbers a mean
        absolute error.
        """
        name = self._headline.name
        alone, together = (
            one.scores.report().get("cumulative", {}).get(name)
            for one in (self._alone, self._together)
        )
        price = None
        if alone is not None and together is not None:
            price = together - alone if self._headline.less else alone - together
        return {
            "rounds": self.rounds,
            "failed": self.failed,
            "records": self._alone.scores.n,
            "score": name,
            "alone": alone,
            "together": together,
            "price": price,
        }
