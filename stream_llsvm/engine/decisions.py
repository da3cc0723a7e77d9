"""What a run decides from the probabilities of its answers, and how much records count by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.decided_scores import DecidedScores
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.scores import FADE
from stream_llsvm.engine.task import CLASSIFICATION
from stream_llsvm.engine.validation import part, plain, require
from stream_llsvm.learners.class_weights import ClassWeights
from stream_llsvm.learners.decision import Decided, Decision
from stream_llsvm.model.file import ModelFileError

if TYPE_CHECKING:
    from stream_llsvm.engine.progress import Progress, Scored

#: What a waiting record keeps of its decision: the label, the set, and each label's probability.
Waiting = tuple[Any, tuple[Any, ...] | None, dict[Any, float]]


class Decisions:
    """Decides each record of a run, and weighs it.

    Parameters
    ----------
    decision
        By what; None if answers stay what they are.
    class_weight
        ``"balanced"``, or weights by label; None if all classes count the same.

    """

    def __init__(
        self,
        decision: Decision | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
    ) -> None:
        self.decision = decision
        self.weights = None if class_weight is None else ClassWeights(class_weight)

    def check(self, learner: Learner) -> None:
        """Raise ValueError if this model cannot be decided from, or weighed."""
        asked = self.decision is not None or self.weights is not None
        if asked and learner.task != CLASSIFICATION:
            raise ValueError("costs, sets and class_weight are of classes: the model tells numbers")
        if self.weights is not None and not learner.weighs:
            raise ValueError("class_weight: the model learns each record that counts as one")

    def weighted(self, batch: Batch) -> Batch:
        """Return a batch whose records count by their classes, too."""
        if self.weights is None:
            return batch
        own = [1.0 if label is None else self.weights.take(label) for label in batch.labels]
        weights = np.array(own) if batch.weights is None else batch.weights * np.array(own)
        return replace(batch, weights=weights)

    def late_weight(self, label: Any) -> float:
        """Return how much a record counts whose label has come later."""
        return 1.0 if self.weights is None else self.weights.take(label)

    def take(self, batch: Batch, answers: Answers, progress: Progress) -> Answers:
        """Return answers with what was decided; what has a label is scored, and learned from."""
        if self.decision is None or answers.probabilities is None:
            return answers
        decided, outcomes = [], []
        for i, (proba, label) in enumerate(zip(answers.probabilities, batch.labels, strict=True)):
            one = self.decision.decide(proba or {})
            decided.append(one)
            if proba and label is not None and i not in answers.refused:
                outcomes.append(self.decision.learn(proba, one, label))
        self._scores(progress).update(outcomes)
        return answers._replace(decided=decided)

    @property
    def costs(self) -> dict[str, dict[str, float]] | None:
        """What decisions cost; None if nobody said."""
        return None if self.decision is None else self.decision.costs

    @property
    def apart(self) -> float:
        """How far costs lie apart; what is not named costs 0 or 1."""
        low, high = self._bounds()
        return high - low

    def _bounds(self) -> tuple[float, float]:
        told = [0.0, 1.0, *(v for row in (self.costs or {}).values() for v in row.values())]
        return min(told), max(told)

    def beside(self, answers: Answers) -> Answers:
        """Return a challenger's answers with what costs would decide; nothing is learned of it."""
        if self.decision is None or self.costs is None or answers.probabilities is None:
            return answers
        decide = self.decision.decide
        return answers._replace(decided=[decide(one or {}) for one in answers.probabilities])

    def priced(self, scored: Scored, labels: Sequence[Any], answers: Answers) -> Scored:
        """Return what was scored with its costs for errors, from 0, the least, to 1, the most."""
        if self.decision is None or self.costs is None or answers.decided is None:
            return scored
        decided, (low, high) = answers.decided, self._bounds()
        costs = [self.decision.cost(labels[row], decided[row].label) for row in scored.rows]
        return scored._replace(errors=(np.array(costs, float) - low) / (high - low))

    def waiting(self, answers: Answers, i: int) -> Waiting | None:
        """Return what a record keeps of its decision while it waits for its label."""
        if answers.decided is None or answers.probabilities is None:
            return None
        one = answers.decided[i]
        return one.label, one.labels, dict(answers.probabilities[i] or {})

    def learn_late(self, waited: Waiting | None, label: Any, progress: Progress) -> None:
        """Score a decision whose record's label has come, and learn from it."""
        if self.decision is None or waited is None or not waited[2]:
            return
        told, labels, proba = waited
        outcome = self.decision.learn(proba, Decided(told, labels), label)
        self._scores(progress).update([outcome])

    def _scores(self, progress: Progress) -> DecidedScores:
        scores = progress.scores
        assert isinstance(scores, ClassScores)
        if scores.decided is None:
            scores.decided = DecidedScores(scores.window, FADE)
        return scores.decided

    def _options(self) -> dict[str, Any]:
        one = self.decision
        return {
            "costs": None if one is None else one.costs,
            "hold": None if one is None or one.hold is None else {
                name: value if plain(value) else str(value) for name, value in one.hold.items()
            },
            "coverage": None if one is None else one.coverage,
            "class_weight": None if self.weights is None else self.weights.table or "balanced",
        }  # fmt: skip

    def in_force(self) -> dict[str, Any] | None:
        """Return what is decided by, with the threshold and level of now; None if nothing."""
        one = self.decision
        if one is None and self.weights is None:
            return None
        now = {
            "threshold": None if one is None else one.threshold,
            "level": None if one is None else one.level,
        }
        return self._options() | now

    def payload(self) -> dict[str, Any] | None:
        """Return what a checkpoint keeps; nothing in it changes any more."""
        if self.decision is None and self.weights is None:
            return None
        return {
            "options": self._options(),
            "decision": None if self.decision is None else self.decision.payload(),
            "weights": None if self.weights is None else self.weights.payload(),
        }

    def resume(self, kept: Mapping[str, Any] | None, progress: Progress) -> None:
        """Continue from what a checkpoint kept, or anew where other things are asked for."""
        mine = self.payload()
        if mine is None:
            if isinstance(progress.scores, ClassScores):
                progress.scores.decided = None
            return
        if kept is None or kept["options"] != mine["options"]:
            if kept is not None:
                progress.note("decisions changed", "thresholds, sets and their scores begin anew")
            if isinstance(progress.scores, ClassScores):
                progress.scores.decided = None
            return
        if self.decision is not None:
            self.decision.restore(kept["decision"])
        if self.weights is not None:
            self.weights.restore(kept["weights"])


def checked_payload(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a checkpoint's payload says of decisions; ModelFileError if it does not fit."""
    kept = part({"decision": None, **payload}, "decision", dict, type(None))
    if kept is None:
        return None
    found: dict[str, Any] = kept
    require(plain(part(found, "options", dict)), "decision")
    decision = part(found, "decision", dict, type(None))
    weights = part(found, "weights", dict, type(None))
    try:
        if decision is not None:
            Decision(coverage=0.9).restore(decision)
        if weights is not None:
            ClassWeights("balanced").restore(weights)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"the checkpoint's decision does not fit: {error}") from None
    options = found["options"]
    asked = [options.get(name) for name in ("costs", "hold", "coverage")]
    require(any(one is not None for one in asked) == (decision is not None), "decision")
    require((options.get("class_weight") is not None) == (weights is not None), "weights")
    return found
