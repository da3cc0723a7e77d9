"""What a run knows beside its model: scores, counts, and what happened."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.scores import Scores
from stream_llsvm.labels import LabelSpace

log = logging.getLogger("stream_llsvm")

_MOST_EVENTS = 1_000


class Progress:
    """Scores, counts and events of a run.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.
    detector
        What watches the errors for drift, if anything. It starts anew when a run is continued.

    """

    def __init__(self, window: int, detector: base.DriftDetector | None) -> None:
        self.scores, self.detector = Scores(window), detector
        self.classes = LabelSpace()
        self.counts: Counter[str] = Counter(records=0, predicted=0, learned=0, drifts=0)
        self.events: list[dict[str, Any]] = []

    def score(self, labels: Sequence[Any], answers: Answers) -> None:
        """Score the answers to records that had a label, and were learned."""
        rows = [i for i, y in enumerate(labels) if y is not None and i not in answers.refused]
        if not rows:
            return
        truth = np.array([self.classes.add(labels[i]) for i in rows], dtype=np.int64)
        told = np.array([self._code(answers.labels[i]) for i in rows], dtype=np.int64)
        self.scores.update(truth, told, answers.truth[rows])
        self.counts["learned"] += len(rows)
        if self.detector is not None:
            for i, wrong in zip(rows, (truth != told).tolist(), strict=True):
                self._watch(self.detector, self.counts["records"] + i + 1, wrong)

    def _watch(self, detector: base.DriftDetector, record: int, wrong: bool) -> None:
        """Look for drift. That a model which has just begun gets better is none."""
        before = getattr(detector, "estimation", None)
        detector.update(float(wrong))
        if not detector.drift_detected:
            return
        after = getattr(detector, "estimation", None)
        if before is None or after is None or after > before:
            self.counts["drifts"] += 1
            self.note("drift", "the error rate has risen", record)
        else:
            self.note("better", "the error rate has fallen", record)

    def _code(self, label: Any) -> int:
        return -1 if label is None else self.classes.add(label)

    def note(self, kind: str, text: str, record: int | None = None) -> None:
        """Keep an event, the last thousand, and log it."""
        log.info("%s: %s", kind, text)
        at = self.counts["records"] if record is None else record
        self.events.append({"kind": kind, "text": text, "record": at, "time": time.time()})
        del self.events[:-_MOST_EVENTS]

    def report(self) -> dict[str, Any]:
        """Return counts and scores."""
        return {
            **self.counts,
            "scores": self.scores.report(len(self.classes)),
            "classes": list(self.classes.labels),
        }

    def payload(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            "scores": self.scores.payload(),
            "classes": self.classes.labels,
            "counts": dict(self.counts),
        }

    def restore(self, payload: Mapping[str, Any]) -> None:
        """Continue from what `payload` gave."""
        self.scores = Scores.restored(payload["scores"])
        self.classes = LabelSpace(payload["classes"])
        self.counts.update(payload["counts"])
