"""ModelCopies of models that have just learned, with what they predicted of late."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_llsvm.connectors.base import Batch
from stream_llsvm.dashboard.recent_records import Recent, Taken
from stream_llsvm.engine.learner import Answers
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.pipeline import payload_of


class Run:
    """A model that learns rows of numbers, and what a page may see of it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.recent: list[Recent] = []
        self.records = 0

    def learn(self, rows: Any, labels: Sequence[Any], names: Sequence[Any] | None = None) -> None:
        """Predict and learn each row."""
        rows = np.asarray(rows).tolist()
        self.take([dict(zip(names or range(len(r)), r, strict=True)) for r in rows], labels)

    def take(self, records: Sequence[dict[Any, Any]], labels: Sequence[Any]) -> None:
        """Predict and learn each record."""
        for x, label in zip(records, labels, strict=True):
            proba = self.model.predict_proba_one(x)
            told = max(proba, key=proba.__getitem__) if proba else None
            if label is not None:
                self.model.learn_one(x, label)
            self.records += 1
            place, sure = f"rows:{self.records}", proba.get(told, 0.0)
            self.recent.append(Recent(self.records, place, x, label, told, sure))
        del self.recent[:-200]

    def followed(self, rows: Any, labels: Sequence[Any]) -> tuple[LocalClassifier, list[Taken]]:
        """Learn more; return a copy made before, and the records with their answers."""
        copy, before = self.copy, self.records
        names = list(self.recent[-1].x) if self.recent else None
        self.learn(rows, labels, names)
        recent = self.recent[-len(labels) :]
        answers = Answers(
            [one.prediction for one in recent],
            np.array([one.sure for one in recent]),
            np.zeros(len(recent)),
            {},
        )
        places: Any = [one.place for one in recent]
        batch = Batch(list(labels), places, {}, records=[one.x for one in recent])
        return copy, [Taken(batch, answers, before)]

    @property
    def copy(self) -> LocalClassifier:
        """A copy of the model."""
        found: LocalClassifier = from_payload(payload_of(self.model))
        return found


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def quadrants(n: int, seed: int = 0, features: int = 2) -> tuple[Any, list[str]]:
    """Return rows, and labels that no linear machine can tell."""
    rows = np.random.default_rng(seed).normal(size=(n, features))
    return rows, ["same" if a * b > 0 else "other" for a, b in rows[:, :2].tolist()]


def sendable(frame: Any) -> Any:
    """Return what arrives of a frame; it must be JSON without NaN."""
    return json.loads(json.dumps(frame, allow_nan=False))
