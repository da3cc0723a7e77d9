"""The scores of classes: a table of them, and what of each record was right.

Classes are numbers, in the order in which they appeared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.by_class import PerClass, by_class
from stream_llsvm.engine.decided_scores import DecidedScores
from stream_llsvm.engine.estimate import Estimate
from stream_llsvm.engine.ranks import Ranks, no_ranks, ranks_of
from stream_llsvm.engine.scores import FADE, WINDOW, Scores, Totals
from stream_llsvm.engine.tally import (
    BINS,
    COUNTED,
    FLOOR,
    HELD,
    LOSS,
    MODEL,
    RELIABILITY,
    SURE,
    tally,
)
from stream_llsvm.engine.task import CLASSIFICATION
from stream_llsvm.engine.validation import MOST, array, count, number, part, require

Codes = NDArray[np.int64]


class ClassScores(Scores):
    """Scores of classes, from blocks of records.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.

    Examples
    --------
    >>> import numpy as np
    >>> scores = ClassScores(window=100)
    >>> truth, told = np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> scores.update(truth, told, np.array([0.9, 0.4, 0.8]), np.array([0.9, 0.6, 0.8]))
    >>> report = scores.report()["cumulative"]
    >>> report["accuracy"], report["overconfidence"]
    (0.666..., 0.1000...)

    """

    task = CLASSIFICATION

    def __init__(self, window: int = WINDOW) -> None:
        super().__init__(window)
        self.confusion = np.zeros((0, 0), dtype=np.int64)
        self._recent = np.zeros((2, window), dtype=np.int64)  # truth, predicted
        self._recent_hits = np.zeros((COUNTED, window))
        self._sums = np.zeros(COUNTED)
        self._fading = np.zeros(COUNTED)
        self._faded = 0.0
        self._counts = np.zeros(0, dtype=np.int64)  # of each class
        self._last = -1
        self._reliability = np.zeros((RELIABILITY, BINS))
        #: What all answers promise, those included whose labels have not come.
        self.estimate = Estimate(window)
        self._ranks: Ranks | None = no_ranks()
        #: What came of decisions, if there are any.
        self.decided: DecidedScores | None = None

    def update(
        self,
        truth: Codes,
        predicted: Codes,
        p_truth: NDArray[np.float64],
        sure: NDArray[np.float64],
    ) -> None:
        """Score a block: true classes, predicted ones (-1: none), and the probabilities of both."""
        if len(truth) == 0:
            return
        self._make_room(int(max(truth.max(), predicted.max())) + 1)
        self._counts = self.class_counts()
        n = tally(
            (truth, predicted, np.ascontiguousarray(p_truth), np.ascontiguousarray(sure)),
            self.n, self._last, FADE,
            (self._counts, self.confusion), (self._sums, self._fading, self._reliability),
            (self._recent, self._recent_hits),
        )  # fmt: skip
        self._rank(truth, predicted, p_truth)
        faded = FADE**n
        self._faded = faded * self._faded + (1 - faded) / (1 - FADE)
        self.n += n
        self._last = int(truth[-1])

    def _rank(self, truth: Codes, predicted: Codes, p_truth: NDArray[np.float64]) -> None:
        """Count where records of the first two classes are ranked; with a third there is none."""
        if len(self.confusion) > 2:
            self._ranks = None
        if self._ranks is not None:
            told = predicted >= 0
            self._ranks += ranks_of(truth[told], -np.log(np.clip(p_truth[told], FLOOR, 1.0)))

    def begin_anew(self) -> None:
        """Let the windows begin with the next record: another model answers from there on."""
        super().begin_anew()
        self.estimate.begin_anew()
        if self.decided is not None:
            self.decided.begin_anew()

    def _recent_ranks(self) -> Ranks | None:
        at = self._ring.latest(self.n)
        if len(self.confusion) != 2 or not self._ring.held(self.n):
            return None
        return ranks_of(self._recent[0, at], self._recent_hits[LOSS, at])

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
        truth, predicted = self._recent[:, self._ring.latest(self.n)]
        table = np.zeros_like(self.confusion)
        np.add.at(table, (truth, predicted), 1)
        return table

    def _totals(self) -> Mapping[str, Totals]:
        hits = self._recent_hits[:, self._ring.latest(self.n)]
        told = self.estimate.means()
        decided = {} if self.decided is None else self.decided.means()
        return {
            "windowed": Totals(
                hits.sum(axis=1) / max(1, hits.shape[1]),
                self.windowed_confusion(),
                told.get("windowed"),
                self._recent_ranks(),
                decided.get("windowed"),
            ),
            "fading": Totals(
                self._fading / self._faded, None, told.get("fading"), None, decided.get("fading")
            ),
            "cumulative": Totals(
                self._sums / self.n, self.confusion, told.get("cumulative"),
                self._ranks if len(self.confusion) == 2 else None, decided.get("cumulative"),
            ),
        }  # fmt: skip

    def by_class(self) -> list[PerClass]:
        """Return the scores of each class over the window, and how often it is answered now."""
        return by_class(self.windowed_confusion(), self.class_counts(), self.estimate.answers())

    def reliability(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, by how sure answers were: how many, how likely together, how many right.

        Of the window, and of all records.
        """
        at = self._ring.latest(self.n)
        held = self._recent_hits[SURE, at]
        bins = np.minimum((held * BINS).astype(np.int64), BINS - 1)
        weights = (np.ones(len(held)), held, self._recent_hits[MODEL, at])
        recent = [np.bincount(bins, weight, minlength=BINS) for weight in weights]
        return np.array(recent), self._reliability.copy()

    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""
        return {
            "window": self.window, "n": self.n, "confusion": self.confusion.copy(),
            "counts": self.class_counts().copy(), "recent": self._recent.copy(),
            "recent_hits": self._recent_hits.copy(), "sums": self._sums.copy(),
            "fading": self._fading.copy(), "faded": self._faded, "last": self._last,
            "reliability": self._reliability.copy(), "estimate": self.estimate.payload(),
            "ranks": None if self._ranks is None else self._ranks.copy(),
            "decided": None if self.decided is None else self.decided.payload(),
            "begun": self._ring.begun,
        }  # fmt: skip

    @classmethod
    def restored(cls, payload: Mapping[str, Any]) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together.

        `tally` writes wherever these say, so that each shape and each class is looked at.
        """
        classes = len(part(payload, "confusion", np.ndarray))
        # Before anything is made of that size: there are as many as the file has brought.
        recent = part(payload, "recent", np.ndarray)
        window = count(payload, "window", 1)
        require(recent.shape == (2, window), "recent")
        scores = cls(window)
        scores.n = n = count(payload, "n")
        scores._ring.begun = count({"begun": 0, **payload}, "begun", high=n)
        scores.confusion = array(payload, "confusion", np.int64, (classes, classes))
        scores._counts = array(payload, "counts", np.int64, (classes,))
        scores._recent = array(payload, "recent", np.int64, (2, window))
        scores._recent_hits = array(payload, "recent_hits", np.float64, (COUNTED, window))
        scores._sums = array(payload, "sums", np.float64, (COUNTED,))
        scores._fading = array(payload, "fading", np.float64, (COUNTED,))
        scores._faded = number(payload, "faded", high=1 / (1 - FADE) + 1)
        scores._last = count(payload, "last", -1, classes - 1)
        scores._reliability = array(payload, "reliability", np.float64, (RELIABILITY, BINS))
        known = part(payload, "estimate", dict)
        # Whoever restores this looks whether all that was answered is a class.
        scores.estimate = Estimate.restored(known, MOST)
        require(scores.estimate.window == window, "estimate")
        scores._ranks = None
        if part({"ranks": None, **payload}, "ranks", np.ndarray, type(None)) is not None:
            scores._ranks = array(payload, "ranks", np.int64, no_ranks().shape)
            require(bool((scores._ranks >= 0).all()), "ranks")
            require(classes <= 2 and int(scores._ranks.sum()) == n, "ranks")
        decided = part({"decided": None, **payload}, "decided", dict, type(None))
        if decided is not None:
            scores.decided = DecidedScores.restored(decided, window)
        for name, values in (
            ("confusion", scores.confusion),
            ("counts", scores._counts),
            ("recent", scores._recent),
            ("recent_hits", scores._recent_hits),
            ("sums", scores._sums),
            ("fading", scores._fading),
            ("reliability", scores._reliability),
        ):
            require(bool((values >= 0).all() and (values <= MOST).all()), name)
        require(bool((scores._recent < max(1, classes)).all()), "recent")
        require(bool((scores._recent_hits[:LOSS] <= 1).all()), "recent_hits")
        require(bool((scores._sums[:LOSS] <= n).all()), "sums")
        require(bool((scores._fading[:LOSS] <= scores._faded * (1 + 1e-9)).all()), "fading")
        require(int(scores.confusion.sum()) == n, "confusion")
        held = scores._reliability
        require(bool((held[HELD:] <= held[0] * (1 + 1e-9)).all()), "reliability")
        require(int(held[0].sum()) == n, "reliability")
        require(bool((scores.confusion.sum(axis=1) <= scores._counts).all()), "counts")
        require((scores._faded > 0) == (n > 0), "faded")
        require((scores._last >= 0) == (int(scores._counts.sum()) > 0), "last")
        return scores

    @property
    def seen(self) -> int:
        """How many records had a label, those that were not scored included."""
        return int(self._counts.sum())
