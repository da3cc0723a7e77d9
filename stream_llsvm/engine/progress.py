"""What a run knows beside its model: scores, counts, and what happened."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.cohorts import Cohorts
from stream_llsvm.engine.drift import Drift, errors_of
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.number_scores import NumberScores, shares_of
from stream_llsvm.engine.tally import FURTHEST, LEVELS
from stream_llsvm.engine.task import CLASSIFICATION, Task
from stream_llsvm.engine.validation import MOST, counter, hashable, number, part, require
from stream_llsvm.records.labels import Coded, LabelSpace

log = logging.getLogger("stream_llsvm")

_MOST_EVENTS = 1_000


class Scored(NamedTuple):
    """Which records of a batch were scored, and each error: 1 for a wrong class, 0 for a right one.

    Of numbers the absolute error, and beside it what the labels spread by.
    """

    rows: Sequence[int]
    errors: NDArray[np.float64]
    spreads: NDArray[np.float64] | None = None


_NOTHING = Scored((), np.zeros(0))


class Progress:
    """Scores, counts and events of a run.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.
    detector
        What watches the errors for drift, if anything.
    task
        Whether classes or numbers are learned.
    slices
        Fields by whose values answers are scored, too.

    """

    def __init__(
        self,
        window: int,
        detector: base.DriftDetector | None,
        task: Task = CLASSIFICATION,
        slices: Sequence[str] = (),
    ) -> None:
        self.task: Task = task
        self.scores: ClassScores | NumberScores
        if task == CLASSIFICATION:
            self.scores, self._levels = ClassScores(window), 1
        else:
            self.scores, self._levels = NumberScores(window), LEVELS
        self.cohorts = Cohorts(slices, classes=task == CLASSIFICATION)
        self.drift = None if detector is None else Drift(detector, self._levels)
        self.classes = LabelSpace()
        self.counts: Counter[str] = Counter(
            records=0, predicted=0, learned=0, weightless=0, unscored=0, non_finite=0, drifts=0,
            late=0, gave_up=0, lost_records=0, stalled=0,
        )  # fmt: skip
        self.events: list[dict[str, Any]] = []
        self.since: list[int] = []  # at which record each class was first seen
        #: What else is known to have changed, for an event of drift; empty if nothing is.
        self.why: Callable[[], str] = str
        self._number = 0
        self._began, self._before = time.monotonic(), 0.0

    def score(
        self,
        labels: Sequence[Any],
        answers: Answers,
        weights: NDArray[np.float64] | None = None,
    ) -> Scored:
        """Score the answers to records that had a label, each alike.

        What was answered before any label had come is counted apart, as ``unscored``, and what has
        the weight 0, so that it was not learned, as ``weightless``.
        """
        if isinstance(self.scores, ClassScores):
            rows, scored = self._score_classes(self.scores, labels, answers)
        else:
            rows, scored = self._score_numbers(self.scores, labels, answers)
        weightless = 0 if weights is None else int(np.count_nonzero(weights[list(rows)] == 0))
        self.counts["learned"] += len(rows) - weightless
        self.counts["weightless"] += weightless
        return scored

    def begin_anew(self) -> None:
        """Let windows begin with the next record: another model answers from there on."""
        self.scores.begin_anew()
        self.cohorts.begin_anew()

    def foretold(self, answers: Answers) -> None:
        """Count answers by what they promise, before it is known whether they are right."""
        if isinstance(self.scores, ClassScores) and answers.sure is not None:
            self.scores.estimate.update(self._codes(answers.labels), answers.sure)

    def _score_numbers(
        self, scores: NumberScores, labels: Sequence[float | None], answers: Answers
    ) -> tuple[Sequence[int], Scored]:
        pairs = [
            (i, label, answers.labels[i])
            for i, label in enumerate(labels)
            if label is not None and i not in answers.refused
        ]
        told = np.array([np.nan if number is None else number for _, _, number in pairs], float)
        truth = np.array([label for _, label, _ in pairs], float)
        spreads = scores.update(truth, told)
        at = np.flatnonzero(~np.isnan(told))
        self.counts["unscored"] += len(pairs) - len(at)
        rows = [pairs[n][0] for n in at.tolist()]
        with np.errstate(over="ignore"):
            errors = np.minimum(np.abs(truth[at] - told[at]), FURTHEST)
        if self.drift is not None:
            self._watch(self.drift, rows, shares_of(errors, spreads[at]).tolist())
        return [i for i, _, _ in pairs], Scored(rows, errors, spreads[at])

    def _score_classes(
        self, scores: ClassScores, labels: Sequence[Any], answers: Answers
    ) -> tuple[Sequence[int], Scored]:
        rows: Sequence[int] = range(len(labels))
        predicted, p_truth, sure = answers.labels, answers.truth, answers.sure
        assert p_truth is not None
        assert sure is not None
        truth = None if answers.given is None else self._known(answers.given)
        if truth is None:
            rows = [i for i in rows if labels[i] is not None and i not in answers.refused]
            labels, predicted = [labels[i] for i in rows], [predicted[i] for i in rows]
            p_truth, sure = p_truth[rows], sure[rows]
            truth = self._codes(labels)
        if not rows:
            return rows, _NOTHING
        told = self._codes(predicted)
        self._note_new_classes(rows, truth)
        scores.update(truth, told, p_truth, sure)
        labelled, told_any = rows, told >= 0
        if not told_any.all():
            self.counts["unscored"] += int((~told_any).sum())
            rows = [row for row, scored in zip(rows, told_any.tolist(), strict=True) if scored]
            truth, told = truth[told_any], told[told_any]
        errors = (truth != told).astype(float)
        if self.drift is not None:
            self._watch(self.drift, rows, errors.tolist())
        return labelled, Scored(rows, errors)

    def _note_new_classes(self, rows: Sequence[int], truth: NDArray[np.int64]) -> None:
        for code in range(len(self.since), len(self.classes)):
            own = np.flatnonzero(truth == code)  # none if it was only ever predicted
            self.since.append(self.counts["records"] + rows[own[0] if len(own) else -1] + 1)

    def _codes(self, labels: Sequence[Any]) -> NDArray[np.int64]:
        """Return the labels' codes, -1 where there is none."""
        known = self._known(labels)
        if known is not None:
            return known
        codes = [-1 if label is None else self.classes.add(label) for label in labels]
        return np.array(codes, dtype=np.int64)

    def _known(self, labels: Sequence[Any]) -> NDArray[np.int64] | None:
        """Return the labels' codes if all are known; without a look at each, if they are coded."""
        if isinstance(labels, Coded) and labels.known == self.classes.labels:
            return labels.codes
        return self.classes.known(labels)

    def _watch(self, drift: Drift, rows: Sequence[int], wrong: Sequence[float]) -> None:
        """Note what the detector makes of the errors."""
        what = "error rate" if self.task == CLASSIFICATION else "error"
        for n, worse in drift.update(wrong):
            record = self.counts["records"] + rows[n] + 1
            if worse:
                self.counts["drifts"] += 1
                why = self.why()
                also = f"; fields that moved: {why}" if why else ""
                self.note("drift", f"the {what} has risen{also}", record)
            else:
                self.note("better", f"the {what} has fallen", record)

    def note(self, kind: str, text: str, record: int | None = None) -> None:
        """Keep an event, the last thousand, and log it."""
        log.info("%s: %s", kind, text)
        self.events.append(
            {
                "id": self.next_number(),
                "kind": kind,
                "text": text,
                "record": self.counts["records"] if record is None else record,
                "time": time.time(),
            }
        )
        del self.events[:-_MOST_EVENTS]

    def next_number(self) -> int:
        """Return a number above all before it, also above those of a run that was restarted.

        Whoever has seen what has one number wants what has a higher one. They are milliseconds
        where the clock allows it.
        """
        self._number = max(self._number + 1, int(time.time() * 1000))
        return self._number

    def report(self) -> dict[str, Any]:
        """Return counts and scores."""
        return {
            **self.counts,
            "task": self.task,
            "scores": self.scores.report(),
            "slices": self.cohorts.report(),
            "classes": list(self.classes.labels),
            **self._of_classes(),
        }

    def _of_classes(self) -> dict[str, Any]:
        """Return what is only told of classes: the estimated accuracy, and the scores of each."""
        if not isinstance(self.scores, ClassScores):
            return {}
        names = dict(enumerate(self.classes.labels))
        return {
            "estimated": self.scores.estimate.means(),
            "by_class": [
                {
                    "class": names.get(one.code), "support": one.support, "answered": one.answered,
                    "precision": one.precision, "recall": one.recall, "f1": one.f1,
                }
                for one in self.scores.by_class()
            ],
        }  # fmt: skip

    @property
    def seconds(self) -> float:
        """How long the run has been going on, without the time between its processes."""
        return self._before + time.monotonic() - self._began

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            "scores": self.scores.payload(),
            "cohorts": self.cohorts.payload(),
            "classes": self.classes.labels,
            "counts": dict(self.counts),
            "since": list(self.since),
            "seconds": self.seconds,
            "drift": None if self.drift is None else self.drift.payload(),
        }

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""
        scores = type(self.scores).restored(part(payload, "scores", dict))
        labels = part(payload, "classes", tuple)
        require(all(map(hashable, labels)), "classes")
        try:
            classes = LabelSpace(labels)
        except ValueError:  # one of them is missing
            require(False, "classes")
        require(len(classes) == len(labels), "classes")
        most = len(labels)
        if isinstance(scores, ClassScores):
            require(len(scores.confusion) <= most, "classes")
            require(len(scores.estimate.answers()) <= most, "classes")
        else:
            require(most == 0, "classes")
        counts = counter(payload, "counts", self.counts)
        require({"records", "learned", "predicted", "drifts"} <= set(counts), "counts")
        labelled = counts["learned"] + counts.get("weightless", 0)
        require(labelled == scores.seen, "counts")
        require(labelled - counts.get("unscored", 0) == scores.n, "counts")
        since = part({"since": [0] * len(labels), **payload}, "since", list)
        require(all(type(n) is int and 0 <= n <= MOST for n in since), "since")
        require(len(since) <= len(labels), "since")
        seen = payload.get("drift")  # an older version kept none
        if seen is not None:
            errors_of(part(payload, "drift", dict), self._levels)
        self.cohorts.restore(part({"cohorts": {}, **payload}, "cohorts", dict))
        self._before = number({"seconds": 0.0, **payload}, "seconds", high=1e12)
        self.scores, self.classes, self.since = scores, classes, list(since)
        self.counts.update(counts)
        if self.drift is not None and seen is not None:
            self.drift.restore(seen)
