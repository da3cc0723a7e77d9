"""One pass over a stream, every record predicted before it is learned, and its scores."""

from __future__ import annotations

import gc
import math
from collections import Counter, deque
from collections.abc import Hashable
from time import process_time
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from streams import Stream

BINS = 15
# A learner that answers exactly 0 for what then happens would lose infinitely much.
FLOOR = 1e-6
CHUNK = 1_000


Record = dict[Hashable, Any]


class RecordLearner(Protocol):
    """What river's classifiers and pipelines have in common."""

    def predict_one(self, x: Record) -> Any:
        """Return the label."""

    def predict_proba_one(self, x: Record) -> dict[Any, float]:
        """Return the probability of each label."""

    def learn_one(self, x: Record, y: Any) -> None:
        """Learn the record."""


class BlockLearner(Protocol):
    """A learner that predicts and learns the rows of a block in order, each row once."""

    def test_then_learn(self, X: Any, y: Any, w: Any = 1.0) -> Any:
        """Return the labels predicted before each row was learned; of weight 0, it is not."""


class Pass(NamedTuple):
    """What one pass gave: hits, seconds, and probabilities if they were asked for."""

    hits: NDArray[np.bool_]
    seconds: float
    top: NDArray[np.float64] | None = None
    truth: NDArray[np.float64] | None = None

    def accuracy(self, tail: int | None = None) -> float:
        """Return the percentage of hits, over all records or the last ones."""
        return 100 * float(np.mean(self.hits if tail is None else self.hits[-tail:]))

    def log_loss(self) -> float | None:
        """Return the mean negative log of the probability given to the true label."""
        if self.truth is None:
            return None
        return float(-np.mean(np.log(np.maximum(self.truth, FLOOR))))

    def calibration_error(self) -> float | None:
        """Return the expected calibration error over equal-width bins of the top probability."""
        if self.top is None:
            return None
        place = np.clip((self.top * BINS).astype(np.int64), 0, BINS - 1)
        gaps = np.bincount(place, weights=self.top - self.hits, minlength=BINS)
        return float(np.abs(gaps).sum() / len(self.hits))

    def micros(self) -> float:
        """Return the microseconds per record."""
        return 1e6 * self.seconds / len(self.hits)


class Baselines(NamedTuple):
    """Percentages of hits of who never looks at a record."""

    majority: float
    no_change: float


def baselines(labels: NDArray[Any], delay: int = 0) -> Baselines:
    """Score who tells the most frequent label so far, and who tells the last one.

    Both know a label `delay` records late, as the learners do. Before they know any they miss; of
    labels that are equally frequent the one that led before counts.
    """
    told: list[Any] = labels.tolist()
    counts: Counter[Any] = Counter()
    leader: Any = None
    majority = no_change = 0
    for i, label in enumerate(told):
        known = i - delay - 1
        if known >= 0:
            last = told[known]
            counts[last] += 1
            if leader is None or counts[last] > counts[leader]:
                leader = last
            majority += label == leader
            no_change += label == last
    return Baselines(100 * majority / len(told), 100 * no_change / len(told))


def kappa_temporal(accuracy: float, no_change: float) -> float | None:
    """Return how much of the errors of who tells the last label is avoided; both in percent.

    1 is no error, 0 is no better than the last label, below 0 is worse. It is not defined where the
    last label is always right.
    """
    return None if no_change == 100 else (accuracy - no_change) / (100 - no_change)


def run_blocks(model: BlockLearner, stream: Stream, block: int, delay: int = 0) -> Pass:
    """Predict and learn block by block with `test_then_learn`, labels held back by `delay`."""
    n = len(stream.y)
    hits = np.zeros(n, dtype=np.bool_)
    seconds = 0.0
    weights: float | NDArray[np.float64]
    gc.collect()
    for start in range(0, n + delay, block):
        rows = np.arange(start, min(start + block, n + delay))
        predicted, weights = np.ones(len(rows), dtype=np.bool_), 1.0
        if delay > 0:
            rows, predicted = _in_turn(rows, n, delay)
            # What counts nothing is only predicted: a block can do both, in the order wanted.
            weights = np.where(predicted, 0.0, 1.0)
        X, y = stream.X[rows], stream.y[rows]
        begin = process_time()
        labels = model.test_then_learn(X, y, weights)
        seconds += process_time() - begin
        # Before anything has been learned there may be no label to give: that is a miss.
        right = [label == true for label, true in zip(labels, y, strict=True)]
        hits[rows[predicted]] = np.array(right)[predicted]
    return Pass(hits, seconds)


def run_records(model: RecordLearner, stream: Stream, delay: int = 0) -> Pass:
    """Predict and learn record by record; the label is the likeliest, as river has it."""
    n = len(stream.y)
    hits, top, truth = np.zeros(n, dtype=np.bool_), np.zeros(n), np.zeros(n)
    seconds = 0.0
    waiting: deque[tuple[Record, Any]] = deque()
    # Else the tenth of a second that this takes might fall into a short stream's time.
    gc.collect()
    for start in range(0, n, CHUNK):
        chunk = as_records(stream.X[start : start + CHUNK])
        labels = stream.y[start : start + CHUNK].tolist()
        answers = []
        # The clock runs only over predicting and learning: scoring is done between chunks.
        begin = process_time()
        for x, y in zip(chunk, labels, strict=True):
            answers.append(model.predict_proba_one(x))
            waiting.append((x, y))
            if len(waiting) > delay:
                model.learn_one(*waiting.popleft())
        seconds += process_time() - begin
        for i, (answer, y) in enumerate(zip(answers, labels, strict=True), start):
            if answer:
                label = max(answer, key=answer.__getitem__)
                hits[i], top[i], truth[i] = label == y, answer[label], answer.get(y, 0.0)
    begin = process_time()
    for x, y in waiting:
        model.learn_one(x, y)
    return Pass(hits, seconds + process_time() - begin, top, truth)


def predict_and_learn(model: RecordLearner, records: list[Record], labels: list[Any]) -> None:
    """Predict and learn the records one by one, for nothing but the time it takes."""
    for x, y in zip(records, labels, strict=True):
        model.predict_one(x)
        model.learn_one(x, y)


def as_records(X: NDArray[Any]) -> list[Record]:
    """Return the rows as dicts named 0..D-1, as an array's columns are; a NaN is left unnamed."""
    rows = X.tolist()
    if np.issubdtype(X.dtype, np.floating) and np.isnan(X).any():
        return [{i: v for i, v in enumerate(row) if not math.isnan(v)} for row in rows]
    return [dict(enumerate(row)) for row in rows]


def _in_turn(moments: NDArray[Any], n: int, delay: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the rows that have their turn at these moments, and which of them are predicted.

    At each moment a row is predicted, while there are any, and then the one `delay` before learned.
    """
    rows = np.stack([moments, moments - delay], axis=1).reshape(-1)
    predicted = np.tile([True, False], len(moments))
    there = (rows >= 0) & (rows < n)
    return rows[there], predicted[there]
