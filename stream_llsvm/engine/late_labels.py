"""Labels that come later: records wait for theirs, by key, bounded in number and time.

A record that was predicted waits with its features until its label comes; the two are then learned
together. What has waited too long, or is too many, expires and is counted. A label whose record is
not there waits too, for a while: on two topics it may well come first.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from stream_llsvm.connectors.base import Batch, Position, Source
from stream_llsvm.engine.challengers import Challengers
from stream_llsvm.engine.classes import beyond, is_beyond, with_few_classes
from stream_llsvm.engine.decisions import Decisions
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.rejects import Rejects
from stream_llsvm.engine.task import CLASSIFICATION, Task
from stream_llsvm.engine.validation import MOST, counter, hashable, number, part, require
from stream_llsvm.learners.decision import Decided

DELAYS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0)  # seconds; a longer one is counted too


class Guess(NamedTuple):
    """A record that waits: its features, what was predicted and how surely, and when it came.

    Of a number nobody says how sure it is: 0. The weight is how much the record counts. The others
    are challengers, by name: what each predicted, how surely, and what costs would decide. What was
    decided is kept if anything was, with the probabilities that it was decided from.
    """

    x: dict[str, Any]
    prediction: Any
    sure: float
    at: float
    weight: float = 1.0
    others: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    decided: tuple[Any, tuple[Any, ...] | None, dict[Any, float]] | None = None

    def kept(self) -> tuple[Any, ...]:
        """Return it as plain values; what there is none of is left out at the end."""
        *known, others, decided = self
        if decided is not None:
            return (*known, dict(others), decided)
        return (*known, dict(others)) if others else tuple(known)


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
            "records": [(key, *guess.kept()) for key, guess in self.records.items()],
            "labels": [(key, *label) for key, label in self.labels.items()],
            "counts": dict(self.counts),
            "delays": list(self.delays),
            "delayed": self.delayed,
        }

    def restore(self, payload: Mapping[str, Any], task: Task = CLASSIFICATION) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        records, labels = part(payload, "records", list), part(payload, "labels", list)
        require(all(map(_is_guess, records)), "records")
        require(all(map(_is_label, labels)), "labels")
        if task != CLASSIFICATION:
            told = [one[2] for one in records]
            told += [label for one in records for label, *_ in dict(*one[6:7]).values()]
            require(all(len(one) < 8 for one in records), "records")
            told = [one for one in told if one is not None]
            require(all(map(_is_number, told)), "records")
            require(all(_is_number(label) for _, label, _ in labels), "labels")
        counts = counter(payload, "counts", self.COUNTERS)
        require(len(counts) == len(self.COUNTERS), "counts")
        payload = {"delays": [0] * len(self.delays), "delayed": 0.0} | dict(payload)
        delays = part(payload, "delays", list)
        require(len(delays) == len(self.delays), "delays")
        require(all(type(n) is int and 0 <= n <= MOST for n in delays), "delays")
        delayed = number(payload, "delayed")
        self.records = OrderedDict((key, Guess(*guess)) for key, *guess in records)
        self.labels = OrderedDict((key, tuple(label)) for key, *label in labels)
        require(len(self.records) == len(records) and len(self.labels) == len(labels), "keys")
        self.counts, self.delays, self.delayed = counts, list(delays), delayed
        came = [guess.at for guess in self.records.values()]
        came += [at for _, at in self.labels.values()]
        self._now = max(came, default=-inf)


def _is_guess(value: object) -> bool:
    """Whether this is a record that waits, with its key."""
    # An older version kept no weight, and without challengers there are no others.
    if type(value) is not tuple or len(value) not in (5, 6, 7, 8):
        return False
    key, x, prediction, sure, at, *more = value
    weight, others, decided = more[:1], more[1:2], more[2:]
    return (
        hashable(key)
        and type(x) is dict
        and hashable(prediction)
        and type(sure) is float
        and 0 <= sure <= 1
        and type(at) is float
        and isfinite(at)
        and all(type(w) is float and isfinite(w) and w >= 0 for w in weight)
        and all(map(_are_answers, others))
        and all(map(_is_decided, decided))
    )


def _is_decided(value: object) -> bool:
    """Whether this is what was decided of a record."""
    if type(value) is not tuple or len(value) != 3:
        return False
    told, labels, proba = value
    return (
        hashable(told)
        and (labels is None or (type(labels) is tuple and hashable(labels)))
        and type(proba) is dict
        and all(type(p) is float and 0 <= p <= 1 for p in proba.values())
    )


def _are_answers(value: object) -> bool:
    """Whether these are answers of challengers, by name."""
    return type(value) is dict and all(
        type(name) is str
        and type(told) is tuple
        and len(told) in (2, 3)  # without costs nothing is decided
        and hashable(told)
        and type(told[1]) is float
        and 0 <= told[1] <= 1
        for name, told in value.items()
    )


def _is_number(value: object) -> bool:
    return type(value) is float and isfinite(value)


def _is_label(value: object) -> bool:
    """Whether this is a label that waits, with its key."""
    if type(value) is not tuple or len(value) != 3:
        return False
    key, label, at = value
    return hashable(key) and hashable(label) and type(at) is float and isfinite(at)


class LateLabels:
    """Join labels to the records that wait for them, by key, and learn both together.

    Parameters
    ----------
    source
        Its records name a key and a label; None if labels come between the records themselves.
    waiting
        The records and labels that wait for each other.
    clock
        Tells the time in seconds. Labels and records of one source bring their times with them,
        so that all is the same when they are read again.
    challengers
        Who else learns them.
    decisions
        What is decided of them, and how much they count by class.
    max_classes
        How many classes are learned.

    """

    def __init__(
        self,
        source: Source | None,
        waiting: Waiting,
        clock: Callable[[], float],
        challengers: Challengers,
        decisions: Decisions,
        max_classes: int,
    ) -> None:
        self.source, self.waiting, self.clock = source, waiting, clock
        self._challengers, self._decisions = challengers, decisions
        self._max_classes = max_classes
        self.position: Position | None = None
        self.learned, self.seconds = 0, 0.0  # how many records were learned, and for how long

    def hold(self, batch: Batch, answers: Answers, learner: Learner, progress: Progress) -> None:
        """Let those of a batch wait that were predicted and have no label."""
        times = self._times(batch)
        for i, key in enumerate(batch.keys or []):
            if key is None or batch.labels[i] is not None or i in answers.refused:
                continue
            sure = 0.0 if answers.sure is None else float(answers.sure[i])
            weight = 1.0 if batch.weights is None else float(batch.weights[i])
            guess = Guess(
                learner.record(batch, i), answers.labels[i], sure, times[i], weight,
                self._challengers.guesses(i), self._decisions.waiting(answers, i),
            )  # fmt: skip
            early = self.waiting.record(key, guess)
            if early is not None:
                self._learn(guess, early[0], learner, progress)

    def take(self, most: int, learner: Learner, progress: Progress, rejects: Rejects) -> bool:
        """Take labels that have come, at most so many, and learn the records they are for.

        Returns whether there were any.
        """
        batch = None if self.source is None else self.source.poll(most, 0.0)
        if batch is None:
            return False
        self.learn(batch, learner, progress, rejects)
        self.position = batch.position
        return True

    def learn(self, batch: Batch, learner: Learner, progress: Progress, rejects: Rejects) -> None:
        """Learn the records that these labels are for."""
        batch = learner.readable(batch)
        if learner.task == CLASSIFICATION:
            batch = with_few_classes(batch, progress.classes, self._max_classes)
        rejects.take(batch.rejected, batch.bad_fields)
        times = self._times(batch)
        for key, label, at in zip(batch.keys or [], batch.labels, times, strict=False):
            if key is None or label is None:
                continue
            guess = self.waiting.label(key, label, at)
            if guess is not None:
                self._learn(guess, label, learner, progress)

    def _times(self, batch: Batch) -> list[float]:
        """Return when each came: by its source, if that has labels too, or by the clock."""
        if self.source is None and batch.times is not None:
            times: list[float] = batch.times.tolist()
            return times
        return [self.clock()] * len(batch)

    def _learn(self, guess: Guess, label: Any, learner: Learner, progress: Progress) -> None:
        """Learn a record whose label has come; it is scored by what was predicted then."""
        begin = time.perf_counter()
        weight = guess.weight * self._decisions.late_weight(label)
        if learner.task == CLASSIFICATION and is_beyond(
            label, progress.classes, self._max_classes
        ):  # it had come before its record, when there was room
            why: str | None = beyond(label, self._max_classes)
        else:
            why = learner.teach(guess.x, label, weight)
        self.seconds += time.perf_counter() - begin
        refused = {} if why is None else {0: why}
        self.learned += 1 - len(refused)
        n = len(progress.classes) if learner.task == CLASSIFICATION else None
        then = _answers(guess.prediction, guess.sure, label, n)._replace(refused=refused)
        scored = progress.score([label], then, np.array([weight]))
        if len(scored.rows):
            progress.cohorts.take_one(guess.x, label, float(scored.errors[0]))
        if not refused:
            self._decisions.learn_late(guess.decided, label, progress)
        if len(self._challengers):
            others = {
                name: _decided(_answers(told, sure, label, n), decided)
                for name, (told, sure, *decided) in guess.others.items()
            }
            own = _decided(then, [] if guess.decided is None else guess.decided[:1])
            priced = self._decisions.priced(scored, [label], own)
            self._challengers.learn_late(guess.x, label, weight, others, priced, progress)


def _answers(prediction: Any, sure: float, label: Any, classes: int | None) -> Answers:
    """Return what was answered; of so many classes how likely it and the truth were held, too.

    Of the other labels' probabilities only the sum is known: it is shared evenly. A record that
    came before any label has none.
    """
    if classes is None:
        return Answers([prediction], None, None, {})
    unsure = 0.0 if prediction is None else (1 - sure) / max(1, classes - 1)
    p = sure if prediction == label else unsure
    return Answers([prediction], np.array([sure]), np.array([p]), {})


def _decided(answers: Answers, labels: Sequence[Any]) -> Answers:
    """Return an answer with the label that was decided, if any was."""
    return answers._replace(decided=[Decided(labels[0])]) if labels else answers
