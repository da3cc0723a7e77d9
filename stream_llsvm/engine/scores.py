"""How good the predictions are, each made before its record was learned.

Three views of the same hits: over a window of the last records, fading, and over all. Beside them
what answering without learning would have scored: the majority class so far, and the last label.
Classes are numbers, in the order in which they appeared. A record that was answered before any
label had come has no prediction, and is in no score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stream_llsvm.kernels.cache import kept

Codes = NDArray[np.int64]

WINDOW = 1_000
FADE = 0.999
#: What is counted of a record: whether the model was right, whether the majority class and the last
#: label would have been, and the log loss.
MODEL, MAJORITY, LAST, LOSS, KINDS = 0, 1, 2, 3, 4

_FLOOR = 1e-15


class Scores:
    """Prequential scores, from blocks of records.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Scores(window=100)
    >>> scores.update(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.9, 0.4, 0.8]))
    >>> scores.report(classes=2)["cumulative"]["accuracy"]
    0.666...

    """

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.n = 0
        self.confusion = np.zeros((0, 0), dtype=np.int64)
        self._recent = np.zeros((2, window), dtype=np.int64)  # truth, predicted
        self._recent_hits = np.zeros((KINDS, window))
        self._sums = np.zeros(KINDS)
        self._fading = np.zeros(KINDS)
        self._faded = 0.0
        self._counts = np.zeros(0, dtype=np.int64)  # of each class
        self._last = -1

    def update(self, truth: Codes, predicted: Codes, p_truth: NDArray[np.float64]) -> None:
        """Score a block: true classes, predicted ones (-1: none), and the truth's probability."""
        if len(truth) == 0:
            return
        self._make_room(int(max(truth.max(), predicted.max())) + 1)
        self._counts = self.class_counts()
        n = tally(
            truth, predicted, np.ascontiguousarray(p_truth), self.n, self._last, FADE,
            self._counts, self.confusion, self._sums, self._fading,
            self._recent, self._recent_hits,
        )  # fmt: skip
        faded = FADE**n
        self._faded = faded * self._faded + (1 - faded) / (1 - FADE)
        self.n += n
        self._last = int(truth[-1])

    def _make_room(self, classes: int) -> None:
        more = classes - len(self.confusion)
        if more > 0:
            self.confusion = np.pad(self.confusion, (0, more))

    def class_counts(self) -> Codes:
        """Return how many records of each class there were."""
        more = len(self.confusion) - len(self._counts)
        return np.pad(self._counts, (0, more)) if more else self._counts

    def windowed_confusion(self) -> Codes:
        """Return (truth, predicted) counts over the window."""
        n = min(self.n, self.window)
        truth, predicted = self._recent[:, :n]
        table = np.zeros_like(self.confusion)
        np.add.at(table, (truth, predicted), 1)
        return table

    def report(self, classes: int | None = None) -> dict[str, dict[str, float]]:
        """Return the scores of each view; empty before the first record."""
        if self.n == 0:
            return {}
        if classes is not None:
            self._make_room(classes)
        n = min(self.n, self.window)
        views = {
            "windowed": self._recent_hits[:, :n].mean(axis=1),
            "fading": self._fading / self._faded,
            "cumulative": self._sums / self.n,
        }
        tables = {"windowed": self.windowed_confusion(), "cumulative": self.confusion}
        return {
            name: _scores_of(means) | (_table_scores(tables[name]) if name in tables else {})
            for name, means in views.items()
        }

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""
        return {
            "window": self.window, "n": self.n, "confusion": self.confusion.copy(),
            "counts": self.class_counts().copy(), "recent": self._recent.copy(),
            "recent_hits": self._recent_hits.copy(), "sums": self._sums.copy(),
            "fading": self._fading.copy(), "faded": self._faded, "last": self._last,
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Scores:
        """Continue from what `payload` gave."""
        scores = cls(payload["window"])
        scores.n, scores.confusion = payload["n"], payload["confusion"].copy()
        scores._counts = payload["counts"].copy()
        scores._recent, scores._recent_hits = (
            payload[part].copy() for part in ("recent", "recent_hits")
        )
        scores._sums, scores._fading = payload["sums"].copy(), payload["fading"].copy()
        scores._faded, scores._last = payload["faded"], payload["last"]
        return scores


def _scores_of(means: NDArray[np.float64]) -> dict[str, float]:
    """Return accuracy against what needs no learning; kappas are 0 where nothing can be gained."""
    accuracy, majority, last, loss = (float(v) for v in means)
    return {
        "accuracy": accuracy,
        "majority": majority,
        "no_change": last,
        "kappa_m": (accuracy - majority) / (1 - majority) if majority < 1 else 0.0,
        "kappa_t": (accuracy - last) / (1 - last) if last < 1 else 0.0,
        "log_loss": loss,
    }


def _table_scores(table: Codes) -> dict[str, float]:
    """Return Cohen's kappa and the mean F1 of the classes that occur."""
    total = int(table.sum())
    hits, truth, told = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    chance = float(truth @ told) / total**2
    agreed = float(hits.sum()) / total
    occur = (truth + told) > 0
    f1 = 2 * hits[occur] / (truth + told)[occur]
    kappa = (agreed - chance) / (1 - chance) if chance < 1 else 0.0
    return {"kappa": kappa, "macro_f1": float(f1.mean())}


def _compiled(function: Callable[..., Any]) -> Any:
    return kept(njit(nogil=True, error_model="numpy")(function), Path(__file__))


@_compiled
def tally(
    truth: NDArray[Any],
    predicted: NDArray[Any],
    p_truth: NDArray[Any],
    begun: int,
    last: int,
    fade: float,
    counts: NDArray[Any],
    confusion: NDArray[Any],
    sums: NDArray[Any],
    fading: NDArray[Any],
    recent: NDArray[Any],
    recent_hits: NDArray[Any],
) -> int:
    """Count a block of records, by a compiled loop; return how many of them were scored.

    One without an answer is not: all that counts then is that its class came once more.

    Parameters
    ----------
    truth, predicted, p_truth
        Each record's class, the predicted one (-1: none), and the probability of the truth.
    begun, last
        How many records were scored before, and the class of the last one.
    fade
        What a record still counts when another has come.
    counts, confusion
        How many of each class there were, and of each pair of class and answer; updated.
    sums, fading
        Of each kind, over all records and fading; updated.
    recent, recent_hits
        Rings of the last records: class and answer, and each kind; updated.

    """
    window = recent.shape[1]
    majority = counts.argmax() if last >= 0 else -1
    scored = 0
    for i in range(len(truth)):
        is_, told = truth[i], predicted[i]
        if told >= 0:
            at = (begun + scored) % window
            recent[0, at], recent[1, at] = is_, told
            recent_hits[MODEL, at] = is_ == told
            recent_hits[MAJORITY, at] = is_ == majority
            recent_hits[LAST, at] = is_ == last
            recent_hits[LOSS, at] = -log(max(p_truth[i], _FLOOR))
            for kind in range(KINDS):
                sums[kind] += recent_hits[kind, at]
                fading[kind] = fade * fading[kind] + recent_hits[kind, at]
            confusion[is_, told] += 1
            scored += 1
        counts[is_] += 1
        # Of classes that are equally frequent, the first counts as the majority.
        ahead = -1 if majority < 0 else counts[is_] - counts[majority]
        if majority < 0 or ahead > 0 or (ahead == 0 and is_ < majority):
            majority = is_
        last = is_
    return scored
