"""How good the predictions are, each made before its record was learned.

Three views of the same hits: over a window of the last records, fading, and over all. Beside them
what answering without learning would have scored: the majority class so far, and the last label.
Classes are numbers, in the order in which they appeared. A record that was answered before any
label had come has no prediction, and is in no score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine.tally import KINDS, LAST, LOSS, MAJORITY, MODEL, tally
from stream_llsvm.engine.validation import MOST, array, count, number, part, require

Codes = NDArray[np.int64]

WINDOW = 1_000
FADE = 0.999
VIEWS = ("windowed", "fading", "cumulative")


class Totals(NamedTuple):
    """What scores are made of in one view: ``means`` of what is counted, and a table.

    The table has (truth, predicted) counts; the fading view has none.
    """

    means: NDArray[np.float64]
    table: Codes | None


class Score(NamedTuple):
    """A score: listed in `SCORES` it is on the page, in /metrics, in tables and in reports.

    Attributes
    ----------
    name, title, help
        What programs call it, what people do, and what it is, in a line.
    of
        Its value of the totals of a view, None where that has none.
    percent
        Whether people read it as a percentage, and not as a number.
    chart
        How it is on the chart of accuracy, in the windowed view: a "line", a "baseline", "hidden"
        until somebody asks for it, or "" for not at all. Accuracy has a line for each "view".
    main
        Whether short tables have it, too.
    family, labels
        The metric of /metrics; labelled by "view", or, windowed, by the score's "name".

    """

    name: str
    title: str
    help: str
    of: Callable[[Totals], float | None]
    percent: bool = False
    chart: Literal["view", "line", "baseline", "hidden", ""] = ""
    main: bool = True
    family: str = ""
    labels: Literal["view", "name"] = "view"

    @property
    def metric(self) -> str:
        """The metric of /metrics, without the prefix that all have."""
        return self.family or f"{self.name}_ratio"

    def text(self, value: float | None) -> str:
        """Return a value as tables show it.

        Examples
        --------
        >>> SCORES[0].text(0.9731), SCORE["log_loss"].text(0.21), SCORES[0].text(None)
        ('97.31%', '0.210', '-')

        """
        if value is None:
            return "-"
        return f"{value:.2%}" if self.percent else f"{value:.3f}"


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
            (truth, predicted, np.ascontiguousarray(p_truth)), self.n, self._last, FADE,
            (self._counts, self.confusion), (self._sums, self._fading),
            (self._recent, self._recent_hits),
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
            view: {
                score.name: float(value)
                for score in SCORES
                if (value := score.of(Totals(means, tables.get(view)))) is not None
            }
            for view, means in views.items()
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
        scores.confusion = array(payload, "confusion", np.int64, (classes, classes))
        scores._counts = array(payload, "counts", np.int64, (classes,))
        scores._recent = array(payload, "recent", np.int64, (2, window))
        scores._recent_hits = array(payload, "recent_hits", np.float64, (KINDS, window))
        scores._sums = array(payload, "sums", np.float64, (KINDS,))
        scores._fading = array(payload, "fading", np.float64, (KINDS,))
        scores._faded = number(payload, "faded", high=1 / (1 - FADE) + 1)
        scores._last = count(payload, "last", -1, classes - 1)
        for name, values in (
            ("confusion", scores.confusion),
            ("counts", scores._counts),
            ("recent", scores._recent),
            ("recent_hits", scores._recent_hits),
            ("sums", scores._sums),
            ("fading", scores._fading),
        ):
            require(bool((values >= 0).all() and (values <= MOST).all()), name)
        require(bool((scores._recent < max(1, classes)).all()), "recent")
        require(bool((scores._recent_hits[:LOSS] <= 1).all()), "recent_hits")
        require(bool((scores._sums[:LOSS] <= n).all()), "sums")
        require(bool((scores._fading[:LOSS] <= scores._faded * (1 + 1e-9)).all()), "fading")
        require(int(scores.confusion.sum()) == n, "confusion")
        require(bool((scores.confusion.sum(axis=1) <= scores._counts).all()), "counts")
        require((scores._faded > 0) == (n > 0), "faded")
        require((scores._last >= 0) == (int(scores._counts.sum()) > 0), "last")
        return scores

    @property
    def seen(self) -> int:
        """How many records had a label, those that were not scored included."""
        return int(self._counts.sum())


def _gain(totals: Totals, baseline: int) -> float:
    """Return the part of what a baseline gets wrong that is right; 0 where it gets all right."""
    right, other = totals.means[MODEL], totals.means[baseline]
    return (right - other) / (1 - other) if other < 1 else 0.0


def _kappa(totals: Totals) -> float | None:
    """Return Cohen's kappa."""
    if totals.table is None:
        return None
    n, told = int(totals.table.sum()), totals.table.sum(axis=0)
    # As whole numbers the products would overflow after three billion records.
    chance = float(totals.table.sum(axis=1).astype(float) @ told) / n**2
    agreed = float(np.trace(totals.table)) / n
    return (agreed - chance) / (1 - chance) if chance < 1 else 0.0


def _macro_f1(totals: Totals) -> float | None:
    """Return the mean F1 of the classes that occur."""
    if totals.table is None:
        return None
    both = totals.table.sum(axis=0) + totals.table.sum(axis=1)
    return float((2 * np.diag(totals.table)[both > 0] / both[both > 0]).mean())


#: All scores, in the order of tables. A score is added here, and counted in `tally` if it must be.
SCORES: list[Score] = [
    Score(
        "accuracy", "accuracy", "share of right answers",
        lambda totals: totals.means[MODEL], percent=True, chart="view",
    ),
    Score(
        "majority", "majority baseline", "accuracy of always naming the most frequent class",
        lambda totals: totals.means[MAJORITY], percent=True, chart="baseline", main=False,
        family="accuracy_ratio", labels="name",
    ),
    Score(
        "no_change", "no-change baseline", "accuracy of naming the previous label again",
        lambda totals: totals.means[LAST], percent=True, chart="baseline", main=False,
        family="accuracy_ratio", labels="name",
    ),
    Score(
        "kappa", "kappa", "Cohen's kappa, agreement beyond chance: 1 is perfect, 0 is chance",
        _kappa, chart="hidden", labels="name",
    ),
    Score(
        "kappa_m", "kappa M", "gain over always naming the majority",
        lambda totals: _gain(totals, MAJORITY), main=False, family="kappa_ratio", labels="name",
    ),
    Score(
        "kappa_t", "kappa T", "gain over naming the previous label again",
        lambda totals: _gain(totals, LAST), main=False, family="kappa_ratio", labels="name",
    ),
    Score(
        "macro_f1", "macro F1", "mean of the classes' F1: small ones count as much as large ones",
        _macro_f1,
    ),
    Score(
        "log_loss", "log loss", "how surprised the probabilities were: less is better",
        lambda totals: totals.means[LOSS], family="log_loss",
    ),
]  # fmt: skip
SCORE = {one.name: one for one in SCORES}


def main_scores() -> list[Score]:
    """Return the scores that short tables have."""
    return [one for one in SCORES if one.main]
