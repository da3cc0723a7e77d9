"""A record that was just predicted, as the page remembers it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.learner import Answers

#: A record keeps its margin if the truth's odds against all other labels are e or more.
_MARGIN = math.e / (1 + math.e)


class Recent(NamedTuple):
    """A record and what was predicted before it was learned.

    ``label`` is the truth, None if it is not known; ``sure`` the probability that was given to
    the prediction.
    """

    record: int
    place: str
    x: dict[str, float]
    label: Any
    prediction: Any
    sure: float

    @property
    def wrong(self) -> bool:
        """Whether another label is known to be the truth."""
        return self.label is not None and bool(self.label != self.prediction)


class Taken(NamedTuple):
    """A batch that was answered, and how many records came before it."""

    batch: Batch
    answers: Answers
    before: int

    def recent(self, i: int) -> Recent:
        """Return one of its records by itself."""
        return Recent(
            self.before + i + 1,
            str(self.batch.places[i]),
            self.batch.record(i),
            self.batch.labels[i],
            self.answers.labels[i],
            float(self.answers.sure[i]),
        )


def violations(recent: Sequence[Recent]) -> float | None:
    """Return the share of the labelled records whose margin was violated, None without any.

    The margin is one, in log odds: it is violated where the true label was given a probability
    below 0.73, and so wherever another one was predicted.

    Examples
    --------
    >>> one = Recent(1, "a:1", {}, "yes", "yes", 0.9)
    >>> violations([one, one._replace(sure=0.6), one._replace(prediction="no"), one])
    0.5

    """
    judged = [one for one in recent if one.label is not None and one.prediction is not None]
    if not judged:
        return None
    kept = sum(bool(one.prediction == one.label) and one.sure >= _MARGIN for one in judged)
    return 1 - kept / len(judged)
