"""How good the predictions are, each made before its record was learned.

Three views of the same records: a window of the last ones, fading, and all. Beside the model's
scores stand those of answering without learning: for classes the majority class so far and the last
label, for numbers the mean of the labels so far and the last label. What there is to score follows
from the task. A record that was answered before any label had come has no prediction, and is in no
score.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from math import isfinite, nan
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.engine import tally as of
from stream_llsvm.engine.ranks import Ranks, pr_auc, roc_auc
from stream_llsvm.engine.task import CLASSIFICATION, REGRESSION, Task
from stream_llsvm.engine.window import Window
from stream_llsvm.learners.decision import Outcome

WINDOW = 1_000
FADE = 0.999
VIEWS = ("windowed", "fading", "cumulative")


class Totals(NamedTuple):
    """What scores are made of in one view: ``means`` of what is counted, and a table.

    The table has (truth, predicted) counts of classes; the fading view and numbers have none.
    ``estimated`` is how likely the latest answers were held, whether their labels have come or not.
    ``ranks`` are records of two classes by what the second was given; the fading view has none.
    ``decided`` are the means of what came of decisions, if there are any.
    """

    means: NDArray[np.float64]
    table: NDArray[np.int64] | None = None
    estimated: float | None = None
    ranks: Ranks | None = None
    decided: NDArray[np.float64] | None = None


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
        How it is on the chart of scores, in the windowed view: a "line", a "baseline", "hidden"
        until somebody asks for it, or "" for not at all. A task's main score has a line for each
        "view".
    main
        Whether short tables have it, too.
    family, labels
        The metric of /metrics; labelled by "view", or, windowed, by the score's "name".
    task
        Whether it scores classes or numbers.
    in_units
        Whether it is in the labels' unit, and so a number of any size.
    less
        Whether less is better.
    optional
        Whether some runs have none: it is then not listed.

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
    task: Task = CLASSIFICATION
    in_units: bool = False
    less: bool = False
    optional: bool = False

    @property
    def metric(self) -> str:
        """The metric of /metrics, without the prefix that all have."""
        return self.family or f"{self.name}_ratio"

    def text(self, value: float | None) -> str:
        """Return a value as tables show it.

        Examples
        --------
        >>> SCORE["accuracy"].text(0.9731), SCORE["log_loss"].text(0.21), SCORES[0].text(None)
        ('97.31%', '0.210', '-')
        >>> SCORE["mae"].text(0.0123456), SCORE["mae"].text(12345.6)
        ('0.012346', '12,346')

        """
        if value is None:
            return "-"
        return format(value, ".2%" if self.percent else ",.5g" if self.in_units else ".3f")


class Scores(abc.ABC):
    """Prequential scores, from blocks of records.

    Parameters
    ----------
    window
        How many of the last records the windowed scores look at.

    """

    task: ClassVar[Task]

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.n = 0
        self._ring = Window(window)

    def begin_anew(self) -> None:
        """Let the window begin with the next record: another model answers from there on."""
        self._ring.begun = self.n

    @abc.abstractmethod
    def _totals(self) -> Mapping[str, Totals]:
        """Return the totals of each view; there was a record, and mostly one in the window."""

    def report(self) -> dict[str, dict[str, float]]:
        """Return the scores of each view; empty before the first record, as a window may be."""
        if self.n == 0:
            return {}
        windowed = self._ring.held(self.n) > 0
        return {
            view: {
                score.name: float(value)
                for score in scores_of(self.task)
                if (windowed or view != VIEWS[0]) and (value := score.of(totals)) is not None
            }
            for view, totals in self._totals().items()
        }

    @property
    @abc.abstractmethod
    def seen(self) -> int:
        """How many records had a label, those that were not scored included."""

    @abc.abstractmethod
    def payload(self) -> dict[str, Any]:
        """Return everything, as plain values; nothing in it changes with further updates."""

    @classmethod
    @abc.abstractmethod
    def restored(cls, payload: Mapping[str, Any]) -> Self:
        """Continue from what `payload` gave; raises ModelFileError if it does not fit together."""


def _gain(totals: Totals, baseline: int) -> float:
    """Return the part of what a baseline gets wrong that is right; 0 where it gets all right."""
    right, other = totals.means[of.MODEL], totals.means[baseline]
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


def _estimated(totals: Totals) -> float:
    """Return how likely the answers were held; those that were scored, if no others are known."""
    return totals.means[of.SURE] if totals.estimated is None else totals.estimated


def _g_mean(totals: Totals) -> float | None:
    """Return the geometric mean of the recalls of the classes that occur."""
    if totals.table is None:
        return None
    support = totals.table.sum(axis=1)
    recalls = np.diag(totals.table)[support > 0] / support[support > 0]
    return float(np.exp(np.log(recalls).mean())) if recalls.all() else 0.0


def _ranked(area: Callable[[Ranks], float | None]) -> Callable[[Totals], float | None]:
    """Return what tells an area, None where there are not two classes."""
    return lambda totals: None if totals.ranks is None else area(totals.ranks)


def _decided(kind: str) -> Callable[[Totals], float | None]:
    """Return what tells a mean of decisions, None where there are none of the kind."""
    at = Outcome._fields.index(kind)

    def mean(totals: Totals) -> float | None:
        found = nan if totals.decided is None else float(totals.decided[at])
        return found if isfinite(found) else None

    return mean


def _r2(totals: Totals) -> float:
    """Return the share of the labels' variance that is told; 0 where they are all the same."""
    spread = totals.means[of.SPREAD]
    return 1 - totals.means[of.SQUARED] / spread if spread > 0 else 0.0


#: All scores, in the order of tables. A score is added here, and counted in `tally` if it must be.
SCORES: list[Score] = [
    Score(
        "accuracy", "accuracy", "share of right answers",
        lambda totals: totals.means[of.MODEL], percent=True, chart="view",
    ),
    Score(
        "majority", "majority baseline", "accuracy of always naming the most frequent class",
        lambda totals: totals.means[of.MAJORITY], percent=True, chart="baseline", main=False,
        family="accuracy_ratio", labels="name",
    ),
    Score(
        "no_change", "no-change baseline", "accuracy of naming the previous label again",
        lambda totals: totals.means[of.LAST], percent=True, chart="baseline", main=False,
        family="accuracy_ratio", labels="name",
    ),
    Score(
        "kappa", "kappa", "Cohen's kappa, agreement beyond chance: 1 is perfect, 0 is chance",
        _kappa, chart="hidden", labels="name",
    ),
    Score(
        "kappa_m", "kappa M", "gain over always naming the majority",
        lambda totals: _gain(totals, of.MAJORITY), main=False, family="kappa_ratio", labels="name",
    ),
    Score(
        "kappa_t", "kappa T", "gain over naming the previous label again",
        lambda totals: _gain(totals, of.LAST), main=False, family="kappa_ratio", labels="name",
    ),
    Score(
        "macro_f1", "macro F1", "mean of the classes' F1: small ones count as much as large ones",
        _macro_f1,
    ),
    Score(
        "log_loss", "log loss", "how surprised the probabilities were: less is better",
        lambda totals: totals.means[of.LOSS], family="log_loss", less=True,
    ),
    Score(
        "estimated", "estimated accuracy", "accuracy that the probabilities of the latest answers "
        "promise, known before their labels", _estimated, percent=True, chart="line", main=False,
        family="accuracy_ratio", labels="name",
    ),
    Score(
        "overconfidence", "overconfidence", "promised less measured accuracy of the same records: "
        "below 0 the model is too modest", lambda totals: totals.means[of.SURE]
        - totals.means[of.MODEL], percent=True, chart="hidden", main=False, less=True,
    ),
    Score(
        "g_mean", "G-mean", "geometric mean of the classes' recalls: 0 if one is never found",
        _g_mean, main=False,
    ),
    Score(
        "roc_auc", "ROC-AUC", "of two classes, how often a record of the one is held likelier to "
        "be of it than one of the other", _ranked(roc_auc), main=False, optional=True,
    ),
    Score(
        "pr_auc", "PR-AUC", "of two classes, the average precision of finding the rarer one",
        _ranked(pr_auc), main=False, optional=True,
    ),
    Score(
        "cost", "cost per record", "what a decision costs on the mean: less is better",
        _decided("cost"), main=False, family="cost", less=True, optional=True,
    ),
    Score(
        "coverage", "coverage", "how often the set of labels holds the truth",
        _decided("covered"), percent=True, main=False, optional=True,
    ),
    Score(
        "set_size", "labels in a set", "how many labels a set has on the mean",
        _decided("size"), main=False, family="set_size", less=True, optional=True,
    ),
    Score(
        "held", "held share", "the precision, or the recall, of the decisions for the label that "
        "it is held of", _decided("held"), percent=True, main=False, optional=True,
    ),
    Score(
        "mae", "MAE", "mean absolute error, in the label's unit: less is better",
        lambda totals: totals.means[of.ABSOLUTE], chart="view", family="mae",
        task=REGRESSION, in_units=True, less=True,
    ),
    Score(
        "mean_label", "mean baseline", "MAE of always naming the mean of the labels so far",
        lambda totals: totals.means[of.BY_MEAN], chart="baseline", main=False, family="mae",
        labels="name", task=REGRESSION, in_units=True, less=True,
    ),
    Score(
        "last_label", "no-change baseline", "MAE of naming the previous label again",
        lambda totals: totals.means[of.BY_LAST], chart="baseline", main=False, family="mae",
        labels="name", task=REGRESSION, in_units=True, less=True,
    ),
    Score(
        "rmse", "RMSE", "root of the mean squared error, in the label's unit: large errors count "
        "most", lambda totals: totals.means[of.SQUARED] ** 0.5, chart="hidden", family="rmse",
        task=REGRESSION, in_units=True, less=True,
    ),
    Score(
        "r2", "R2", "share of the labels' variance that is told: 1 is perfect, 0 is naming the "
        "mean", _r2, task=REGRESSION,
    ),
]  # fmt: skip
SCORE = {one.name: one for one in SCORES}


def scores_of(task: Task) -> list[Score]:
    """Return the scores that a task has."""
    return [one for one in SCORES if one.task == task]


def listed_scores(task: Task, known: Mapping[str, Mapping[str, Any]]) -> list[Score]:
    """Return the scores that a task has, without those optional ones that a run has not."""
    there = {name for values in known.values() for name in values}
    return [one for one in scores_of(task) if not one.optional or one.name in there]


def main_scores(task: Task) -> list[Score]:
    """Return the scores that short tables have."""
    return [one for one in scores_of(task) if one.main]


def headline(task: Task) -> Score:
    """Return the score that is looked at first.

    Examples
    --------
    >>> headline("classification").title, headline("regression").title
    ('accuracy', 'MAE')

    """
    return next(one for one in scores_of(task) if one.chart == "view")


def baselines(task: Task) -> list[Score]:
    """Return what answering without learning would have scored, in place of the headline."""
    return [one for one in scores_of(task) if one.chart == "baseline"]
