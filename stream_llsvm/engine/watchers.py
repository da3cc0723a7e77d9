"""Who watches a run: the base class, and those that every run has."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.connectors.base import Batch, Incidental, Recovering, Rejected, Waits
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.mean_weight import MeanWeight
from stream_llsvm.learners.pipeline import learner_in, shared_in
from stream_llsvm.model.room import BoundedModel

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine

_LOOKED_AT = 100  # records
_LISTED = 12  # fields


class Watcher:
    """What is told how a run goes, by the thread that runs it and may touch the model just then.

    The run waits meanwhile: a watcher copies what it needs and leaves the rest to a thread of its
    own. It overrides what it wants to be told.
    """

    def on_start(self, engine: Engine) -> None:
        """Be told that the run begins."""

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Be told of a batch that was answered, and learned where it had labels, in so long."""

    def on_rejected(self, engine: Engine, rejected: Sequence[Rejected]) -> None:
        """Be told of records that could not be read."""

    def on_turn(self, engine: Engine) -> None:
        """Be told that the loop goes on: after every batch, and some times a second without any."""

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Be told that the run has ended, and of what it died if it did."""


@contextmanager
def watched(engine: Engine) -> Iterator[None]:
    """Tell who watches a run that it begins, and that it has ended, or of what it died."""
    for watcher in engine.watchers:
        watcher.on_start(engine)
    died: BaseException | None = None
    try:
        yield
    except BaseException as error:
        died = error
        raise
    finally:
        for watcher in engine.watchers:
            watcher.on_end(engine, died)


class Recoveries(Watcher):
    """Notes each trouble of the source or of the sink once, and its end."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._source: Recovering | None = None

    def on_start(self, engine: Engine) -> None:
        """Begin without trouble."""
        self._since = None
        # Looked up once: to ask what a protocol asks takes as long as many records.
        self._source = engine.source if isinstance(engine.source, Recovering) else None
        if isinstance(engine.sink, Waits):
            engine.sink.on_wait = partial(self._sink_waits, engine)

    def _sink_waits(self, engine: Engine, trouble: str) -> None:
        """Note what the sink waits for: the run stands still meanwhile, in the middle of a turn."""
        engine.trouble = trouble
        self.on_turn(engine)

    def on_turn(self, engine: Engine) -> None:
        """Ask both."""
        trouble = engine.trouble or ("" if self._source is None else self._source.trouble)
        if trouble and self._since is None:
            self._since = time.monotonic()
            engine.progress.note("recovering", trouble)
        elif self._since is not None and not trouble:
            gone = time.monotonic() - self._since
            self._since = None
            engine.progress.note("reconnected", f"after {gone:,.0f} s")


class Incidents(Watcher):
    """Counts and notes what the sources have met and went on from."""

    def __init__(self) -> None:
        self._sources: list[Incidental] = []

    def on_start(self, engine: Engine) -> None:
        """Find the sources that have any."""
        self._sources = []
        for source in (engine.source, None if engine.late is None else engine.late.source):
            if isinstance(source, Incidental):
                self._sources.append(source)

    def on_turn(self, engine: Engine) -> None:
        """Report what is new."""
        for source in self._sources:
            while source.incidents:
                kind, text, number = source.incidents.popleft()
                engine.progress.counts[kind] += number
                engine.progress.note(kind.replace("_", " "), text)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Report what was the last."""
        self.on_turn(engine)


class Unlabelled(Watcher):
    """Notes, once, that none of the first records has a label."""

    def __init__(self) -> None:
        self._settled = False

    def on_start(self, engine: Engine) -> None:
        """Look no more if labels come later, or if some have come in an earlier run."""
        self._settled |= engine.late is not None or engine.progress.counts["learned"] > 0

    def on_turn(self, engine: Engine) -> None:
        """Look whether there were labels among the first records."""
        if not self._settled and engine.progress.counts["predicted"] >= _LOOKED_AT:
            self._look(engine)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Note it of a stream that was shorter, too."""
        if not self._settled and engine.progress.counts["predicted"]:
            self._look(engine)

    def _look(self, engine: Engine) -> None:
        self._settled = True
        seen = engine.progress.counts
        if seen["learned"] or seen["weightless"]:
            return
        names = list(engine.census.fields(_LISTED))
        more = len(engine.census) - len(names)
        fields = ", ".join(names) + (f" and {more} more" if more > 0 else "")
        engine.progress.note(
            "no labels",
            f"none of the first {seen['predicted']:,} records has one, so that nothing is learned: "
            f"is the label's name right? The features are {fields}",
        )


class Weights(Watcher):
    """Notes, once, that the model takes no weights, or that weights are far above 1."""

    def __init__(self) -> None:
        self._mean = MeanWeight()
        self._told = False

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Look at what the records count."""
        self.look(engine, batch.weights, len(batch))

    def look(self, engine: Engine, weights: NDArray[np.float64] | None, records: int) -> None:
        """Look at what so many records count."""
        self._mean.take(weights, records)
        if self._told or weights is None:
            return
        if not engine.learner.weighs:
            self._told = True
            name = type(learner_in(engine.model)).__name__
            engine.progress.note("no weights", f"a {name} learns each record that counts as one")
        elif doubt := self._mean.doubt():
            self._told = True
            engine.progress.note("large weights", doubt)


class LeftOut(Watcher):
    """Notes, once a model, that it has no room for new features."""

    def __init__(self) -> None:
        self._noted: set[str] = set()

    def on_turn(self, engine: Engine) -> None:
        """Look whether a model has left some out."""
        for name, model in engine.models.items():
            if name not in self._noted and (text := left_out_of(name, model)):
                self._noted.add(name)
                engine.progress.note("features left out", text)


def left_out_of(name: str, whole: base.Estimator) -> str:
    """Say that a model has left out features since ``max_mb`` is reached; empty if it has not."""
    model = shared_in(whole)
    if not isinstance(model, BoundedModel) or not model.left_out:
        return ""
    return (
        f"max_mb={model.max_mb:,} of the model {name} has room for {len(model._features.fields):,} "
        "features: new ones are left out; fold them, or raise max_mb (--option max_mb=...)"
    )


def usual() -> list[Watcher]:
    """Return those that every run of one model has."""
    return [Unlabelled(), Recoveries(), Incidents(), Weights(), LeftOut()]
