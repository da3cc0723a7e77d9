"""What the engine's thread says of records, handed over to the thread that answers requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, NamedTuple

from stream_llsvm.connectors.base import Batch, Rejected
from stream_llsvm.connectors.columns import Places
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.watchers import Watcher


class Told(NamedTuple):
    """What became of some entries of the log; ``errors`` are by their numbers."""

    numbers: Sequence[int] = ()
    labels: Sequence[Any] = ()
    sure: Sequence[float] | None = None
    probabilities: Sequence[dict[Any, float] | None] | None = None
    errors: Mapping[int, str] = MappingProxyType({})

    def answers(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each number with its answer, as a request gets it."""
        sure, every = self.sure, self.probabilities
        for i, number in enumerate(self.numbers):
            if number in self.errors:
                continue
            label = self.labels[i]
            answer: dict[str, Any] = {"prediction": label}
            if sure is not None:
                answer["probability"] = None if label is None else sure[i]
            if every is not None:
                answer["probabilities"] = _by_text(every[i])
            yield number, answer
        for number, why in self.errors.items():
            yield number, {"error": why}


def told_of(batch: Batch, answers: Answers) -> Told:
    """Return what became of the records of a batch, by their numbers in it."""
    places = batch.places
    numbers = places.numbers if type(places) is Places else [one.number for one in places]
    refused = {numbers[i]: f"refused by the model: {why}" for i, why in answers.refused.items()}
    sure = None if answers.sure is None else answers.sure.tolist()
    return Told(numbers, list(answers.labels), sure, answers.probabilities, refused)


def _by_text(probabilities: dict[Any, float] | None) -> dict[str, float] | None:
    """Return probabilities by names that JSON can have."""
    if probabilities is None:
        return None
    return {str(label): share for label, share in probabilities.items()}


class Ticket:
    """A request that waits: for an answer to each of its records, and for the log to be synced.

    Attributes
    ----------
    answers
        One a record, None as long as there is none.
    left
        How many are missing.
    upto
        The log must be synced up to this entry before it is answered; 0 if it need not be.
    done
        Is set when all is there, or raises what went wrong.
    labelled
        Which of its records have a label.
    learned, duplicates, rejected
        How many of its records are taken to be learned, had come before, or could not be used.

    """

    __slots__ = (
        "answers", "done", "duplicates", "labelled", "learned", "left", "rejected", "upto"
    )  # fmt: skip

    def __init__(self, labelled: list[bool], done: asyncio.Future[None]) -> None:
        self.labelled = labelled
        self.answers: list[Any] = [None] * len(labelled)
        self.left = self.upto = self.learned = self.duplicates = self.rejected = 0
        self.done = done

    def settle(self, synced: int) -> None:
        """Let the request be answered if nothing is missing."""
        if self.left == 0 and self.upto <= synced and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Let the request fail."""
        if not self.done.done():
            self.done.set_exception(error)


class Teller(Watcher):
    """Tells what became of each record, and does what only the engine's thread may do.

    Parameters
    ----------
    tell
        Is called with it, by the engine's thread.

    """

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell
        self._saves: list[Future[dict[str, Any]]] = []

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Tell of records that were predicted."""
        self._tell(told_of(batch, answers))

    def on_rejected(self, engine: Engine, rejected: Sequence[Rejected]) -> None:
        """Tell of records that could not be read."""
        errors = {one.place.number: f"{one.reason}: {one.detail}" for one in rejected}
        self._tell(Told(errors=errors))

    def save(self) -> Future[dict[str, Any]]:
        """Ask for a checkpoint; several that are asked for at once are one."""
        asked: Future[dict[str, Any]] = Future()
        self._saves.append(asked)
        return asked

    def on_turn(self, engine: Engine) -> None:
        """Write the checkpoint that was asked for."""
        if not self._saves:
            return
        asked, self._saves = self._saves, []
        try:
            engine.checkpoint(wait=True)
        except Exception as error:
            for one in asked:
                one.set_exception(error)
            raise
        made, kept = engine.made, engine.checkpoints
        told: dict[str, Any] = {"checkpoint": None}
        if made is not None and kept is not None:
            told = {
                "checkpoint": made.number,
                "file": kept.path(made.number).name,
                "records": made.record,
                "lost": None if engine.lost is None else engine.lost.why,
            }
        for one in asked:
            one.set_result(told)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Let nobody wait for a checkpoint any more."""
        asked, self._saves = self._saves, []
        for one in asked:
            one.set_exception(RuntimeError("the model has stopped"))
