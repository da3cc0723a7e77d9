"""One look at a run: what the thread that runs it copies for those who watch, and histograms."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.connectors.base import Rejected
from stream_llsvm.dashboard.keys import Keys, Told, keys_of
from stream_llsvm.dashboard.model_copy import Answered
from stream_llsvm.dashboard.recent_records import Recent, Taken
from stream_llsvm.engine.by_class import PerClass
from stream_llsvm.engine.census import Taken as FieldTaken
from stream_llsvm.engine.challengers import ORIGINAL, Rival
from stream_llsvm.engine.checkpoints import Made
from stream_llsvm.engine.class_scores import ClassScores
from stream_llsvm.engine.cohorts import Cohort
from stream_llsvm.engine.input.drift import FieldNow
from stream_llsvm.engine.input.watch import InputWatch
from stream_llsvm.engine.rounds import Rounds
from stream_llsvm.engine.task import Task
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.pipeline import learner_in, shared_in
from stream_llsvm.model.feature_warnings import KnowsFeatures
from stream_llsvm.model.room import BoundedModel
from stream_llsvm.model.state import ModelState

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

_REASONS, _FIELDS = 50, 60
_FEWEST, _MOST, _VALUES = 8, 200, 20_000

Table = NDArray[np.int64]
Counts = list[int]

#: Of histograms of seconds, which count in fine buckets and export coarse ones.
_PER_OCTAVE = 4
_OCTAVES = 26
BOUNDS = [1e-6 * 2 ** (i / _PER_OCTAVE) for i in range(_PER_OCTAVE * _OCTAVES + 1)]


class Histogram:
    """How many records took how long: from a microsecond to a minute, to about a fifth exactly.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.observe(0.003, times=99)
    >>> histogram.observe(0.5)
    >>> f"{quantile(histogram.counts, 0.5):.3f}"
    '0.003'
    >>> histogram.coarse()[-1], round(histogram.sum, 3)
    ((inf, 100), 0.797)

    """

    def __init__(self, counts: Sequence[int] = (), total: float = 0.0) -> None:
        self.counts: Counts = list(counts) or [0] * (len(BOUNDS) + 1)
        self.sum = total

    def observe(self, seconds: float, times: int = 1) -> None:
        """Count something that took so long, so many times."""
        self.counts[bisect_left(BOUNDS, seconds)] += times
        self.sum += seconds * times

    def copy(self) -> Histogram:
        """Return one that does not change any more."""
        return Histogram(self.counts, self.sum)

    def coarse(self) -> list[tuple[float, int]]:
        """Return upper bounds and how many were not above them, as Prometheus wants it."""
        below, found = 0, []
        for i, bound in enumerate(BOUNDS):
            below += self.counts[i]
            if i % _PER_OCTAVE == 0:
                found.append((bound, below))
        return [*found, (float("inf"), below + self.counts[-1])]


def quantile(counts: Sequence[int], share: float) -> float | None:
    """Return the seconds below which this share lies; None of nothing."""
    total = sum(counts)
    if total == 0:
        return None
    wanted, below = share * total, 0
    for i, here in enumerate(counts):
        if here and below + here >= wanted:
            low = BOUNDS[i - 1] if i > 0 else 0.0
            high = BOUNDS[min(i, len(BOUNDS) - 1)]
            return low + (high - low) * (wanted - below) / here
        below += here
    return BOUNDS[-1]


def since(now: Sequence[int], then: Sequence[int]) -> Counts:
    """Return what was counted between two looks."""
    return [a - b for a, b in zip(now, then, strict=True)]


class Status(NamedTuple):
    """How a run is: a word, since when, and more of it if there is more to say."""

    state: str
    since: float
    text: str = ""


@dataclass(frozen=True)
class Labels:
    """How labels that come later are doing."""

    waiting: int
    counts: dict[str, int]
    delays: list[int]
    delayed: float


@dataclass(frozen=True)
class Fields:
    """What the first fields were taken for in so many records, and how many fields there are."""

    taken: dict[str, FieldTaken]
    records: int
    known: int


class Input(NamedTuple):
    """What the fields of the records do: those that matter most, and how many others there are."""

    fields: list[FieldNow]
    known: int
    moved: int
    alarms: int
    records: int
    duplicates: float | None
    against: str


class Sureness(NamedTuple):
    """How sure answers were, by equal bins, in the window and of all: of all, and of labelled ones.

    Of labelled ones there are how many, how likely they were held together, how many were right.
    """

    answers: tuple[Table, Table]
    labelled: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Details:
    """What is only copied when somebody watches."""

    rejected: list[Rejected]
    windowed: Table | None
    cumulative: Table | None
    since: list[int]
    recent: list[Taken]
    answered: Answered | None
    fields: Fields
    key_answers: tuple[Told, ...] = ()
    sureness: Sureness | None = None


@dataclass(frozen=True)
class Look:
    """What was to be seen of a run at one moment; nothing in it changes any more."""

    id: int
    time: float
    status: Status
    task: Task
    model: str
    source: str
    started: float
    counts: dict[str, int]
    rate: float
    rejected: int
    reasons: dict[str, int]
    features: int
    classes: tuple[Any, ...]
    window: int
    scores: dict[str, dict[str, float]]
    members: list[tuple[str, float]]
    steps: list[list[float]]
    moves: int
    predict: Histogram
    learn: Histogram
    lag: dict[str, dict[str, int]]
    checkpoint: Made | None
    failing: bool
    labels: Labels | None
    events: list[dict[str, Any]]
    estimated: dict[str, float] = field(default_factory=dict)
    by_class: tuple[PerClass, ...] = ()
    input: Input | None = None
    cohorts: dict[str, list[Cohort]] = field(default_factory=dict)
    decision: dict[str, Any] | None = None
    waited: float = 0.0
    unlabelled: float = 0.0
    checkpoint_interval: float = 0.0
    keys: Keys | None = None
    rounds: Rounds | None = None
    champion: str = ORIGINAL
    rivals: tuple[Rival, ...] = ()
    dropped: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    details: Details | None = field(default=None, repr=False)


def counted(engine: Engine) -> dict[str, Any]:
    """Return the part of a look that is cheap: counts, scores, what the members are worth."""
    progress, kept = engine.progress, engine.checkpoints
    learner, model = learner_in(engine.model), shared_in(engine.model)
    members, steps = trust_of(model)
    scores = progress.scores
    classes = scores if isinstance(scores, ClassScores) else None
    return {
        "time": time.time(),
        "task": progress.task,
        "model": type(learner).__name__,
        "keys": keys_of(learner, engine.rounds),
        "rounds": engine.rounds,
        "source": engine.source.name,
        "counts": dict(progress.counts),
        "rejected": engine.rejects.counts.total(),
        "reasons": dict(engine.rejects.counts.most_common(_REASONS)),
        "features": features_of(model),
        "left_out": model.left_out if isinstance(model, BoundedModel) else 0,
        "classes": progress.classes.labels,
        "window": scores.window,
        "scores": scores.report(),
        "estimated": {} if classes is None else classes.estimate.means(),
        "input": _input(engine.inputs),
        "decision": engine.decisions.in_force(),
        "cohorts": progress.cohorts.all(),
        "by_class": () if classes is None else tuple(classes.by_class()),
        "members": members,
        "steps": steps,
        "moves": _moves(model),
        "checkpoint": engine.made,
        "failing": kept is not None and kept.failing,
        "checkpoint_interval": engine.checkpoint_interval,
        "labels": _labels(engine),
        "waited": engine.order.waited,
        "events": list(progress.events),
        "champion": engine.challengers.champion,
        "rivals": tuple(engine.challengers.rivals()),
        "dropped": dict(engine.challengers.dropped),
    }


def _input(watch: InputWatch | None) -> Input | None:
    if watch is None or not watch.seen:
        return None
    keys = watch.duplicates.keys
    return Input(
        watch.ranked(most=_FIELDS), len(watch.fields), len(watch.moved), watch.alarms, watch.seen,
        watch.duplicates.count / keys if keys else None, watch.against,
    )  # fmt: skip


def _labels(engine: Engine) -> Labels | None:
    if engine.late is None:
        return None
    waiting = engine.late.waiting
    delays = list(waiting.delays), waiting.delayed
    return Labels(len(waiting.records), dict(waiting.counts), *delays)


def details(
    engine: Engine,
    recent: Sequence[Taken],
    answered: Answered | None,
    key_answers: tuple[Told, ...] = (),
) -> Details:
    """Return the part of a look that costs more."""
    scores = engine.progress.scores
    classes = scores if isinstance(scores, ClassScores) else None
    return Details(
        rejected=list(engine.rejects.first),
        windowed=None if classes is None else classes.windowed_confusion(),
        cumulative=None if classes is None else classes.confusion.copy(),
        sureness=None
        if classes is None
        else Sureness(classes.estimate.confidence(), classes.reliability()),
        since=list(engine.progress.since),
        recent=list(recent),
        answered=answered,
        fields=Fields(engine.census.fields(_FIELDS), engine.census.records, len(engine.census)),
        key_answers=key_answers,
    )


def features_of(model: base.Classifier) -> int:
    """Return how many features a model knows; 0 if it does not say."""
    return len(model._features.fields) if isinstance(model, KnowsFeatures) else 0


def trust_of(model: base.Classifier) -> tuple[list[tuple[str, float]], list[list[float]]]:
    """Return each member's name and share of the mixer's weights, and that of each of its steps.

    A step whose scores the mixer turns round has a share below 0. Both are empty for other models.
    """
    reports = model.mixture if isinstance(model, LocalClassifier) else []
    total = max(sum(abs(w) for one in reports for w in one.weights), 1e-12)
    steps = [[w / total for w in one.weights] for one in reports]
    sizes = (sum(map(abs, each)) for each in steps)
    return list(zip((one.name for one in reports), sizes, strict=True)), steps


def _moves(model: base.Classifier) -> int:
    """Return how often anchors were moved."""
    memory = getattr(model, "_state", None)
    if not isinstance(memory, ModelState):
        return 0
    return sum(one.moves(memory.views(1 + i)) for i, one in enumerate(memory.members))


def recent_of(taken: Sequence[Taken], features: int) -> list[Recent]:
    """Return the latest records one by one, oldest first; of wide ones fewer."""
    most = max(_FEWEST, min(_MOST, _VALUES // max(1, features)))
    found: list[Recent] = []
    for one in reversed(taken):
        for i in reversed(range(len(one.batch))):
            if len(found) == most:
                return found[::-1]
            if i not in one.answers.refused:
                found.append(one.recent(i))
    return found[::-1]
