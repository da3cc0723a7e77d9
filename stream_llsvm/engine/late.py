"""Labels that come from a source of their own, and find the records they belong to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch, Position, Source
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.engine.waiting import Guess, Waiting


class LateLabels:
    """Join labels to the records that wait for them, by key, and learn both together.

    Parameters
    ----------
    source
        Its records name a key and a label.
    waiting
        The records and labels that wait for each other.
    clock
        Tells the time in seconds.

    """

    def __init__(self, source: Source, waiting: Waiting, clock: Callable[[], float]) -> None:
        self.source, self.waiting, self.clock = source, waiting, clock
        self.position: Position | None = None
        self.learned, self.seconds = 0, 0.0  # how many records were learned, and for how long

    def hold(self, batch: Batch, answers: Answers, learner: Learner, progress: Progress) -> None:
        """Let those of a batch wait that were predicted and have no label."""
        for i, key in enumerate(batch.keys or []):
            if key is None or batch.labels[i] is not None or i in answers.refused:
                continue
            guess = Guess(batch.record(i), answers.labels[i], float(answers.sure[i]), self.clock())
            early = self.waiting.record(key, guess)
            if early is not None:
                self._learn(guess, early[0], learner, progress)

    def take(self, most: int, learner: Learner, progress: Progress, rejects: Rejects) -> bool:
        """Take labels that have come, at most so many, and learn the records they are for.

        Returns whether there were any.
        """
        batch = self.source.poll(most, 0.0)
        if batch is None:
            return False
        rejects.take(batch.rejected, batch.bad_fields)
        for key, label in zip(batch.keys or [], batch.labels, strict=True):
            if key is None or label is None:
                continue
            guess = self.waiting.label(key, label, self.clock())
            if guess is not None:
                self._learn(guess, label, learner, progress)
        self.position = batch.position
        return True

    def _learn(self, guess: Guess, label: Any, learner: Learner, progress: Progress) -> None:
        """Learn a record whose label has come; it is scored by what was predicted then."""
        begin = time.perf_counter()
        why = learner.teach(guess.x, label)
        self.seconds += time.perf_counter() - begin
        refused = {} if why is None else {0: why}
        self.learned += 1 - len(refused)
        # Of the other labels' probabilities only the sum is known: it is shared evenly. A record
        # that came before any label has none.
        others = max(1, len(progress.classes) - 1)
        unsure = 0.0 if guess.prediction is None else (1 - guess.sure) / others
        p = guess.sure if guess.prediction == label else unsure
        then = Answers([guess.prediction], np.array([guess.sure]), np.array([p]), refused)
        progress.score([label], then)
