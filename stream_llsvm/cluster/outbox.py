"""What a learner would write: predictions, and records that it could not use.

It writes nothing itself. Its results go with its answer to the one that commits, who writes those
of all learners in the order of their slices, and takes back what no manifest names: so there is one
file of predictions, or one transaction, as in a run of one process, whatever dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.base import Batch, Encoded, Rejected, Result, Sink
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.results import learned_before, results_of

Encode = Callable[[Sequence[Result]], Sequence[Any]]
Indices = NDArray[np.int64]


class Outbox:
    """Keeps what is to be written of a round.

    Parameters
    ----------
    encode
        What makes results ready to be written; None if nobody wants them.
    letters
        Whether records are kept that could not be used.
    learned
        How many records the model had learned before.

    Attributes
    ----------
    results
        Ready to be written, in order.
    places
        Which of the round's records these are of; empty if the learner had all between them.
    rejected
        What could not be used, in order.

    """

    def __init__(self, encode: Encode | None, letters: bool, learned: int) -> None:
        self._encode, self._letters, self._learned = encode, letters, learned
        self.results: list[Any] = []
        self.places: list[int] = []
        self.rejected: list[Rejected] = []

    def take(self, batch: Batch, answers: Answers, places: Indices | None = None) -> None:
        """Keep the predictions of a batch."""
        if self._encode is None:
            return
        before = list(learned_before(batch, answers, self._learned))
        self.results += self._encode(results_of(batch, answers, time.time(), before))
        all_learned = answers.given is not None
        self._learned = self._learned + len(batch) if all_learned else before[-1]
        if places is not None:
            taken = enumerate(places.tolist())
            self.places += [place for i, place in taken if i not in answers.refused]

    def write(self, rejected: Sequence[Rejected]) -> None:
        """Keep records that could not be used."""
        if self._letters:
            self.rejected += rejected

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def encode_of(sink: Sink | None) -> Encode | None:
    """Return what makes results ready for a sink, None without one."""
    if sink is None:
        return None
    return sink.encode if isinstance(sink, Encoded) else list


def write(sink: Sink, outboxes: Sequence[Outbox]) -> None:
    """Write the results of a round's learners, in the order of the records."""
    results = [one for outbox in outboxes for one in outbox.results]
    places = [place for outbox in outboxes for place in outbox.places]
    if len(places) == len(results):
        results = [results[i] for i in np.argsort(places, kind="stable").tolist()]
    if isinstance(sink, Encoded):
        sink.write_encoded(results)
    else:
        sink.write(results)
