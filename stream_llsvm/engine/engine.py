"""The engine: poll, predict, score, learn, write, checkpoint; each record learned exactly once.

One thread owns the model and does all of this in order; another only reads ahead, so that decoding
and learning overlap. What has been learned and where the source stood are written together: after
any crash the engine goes on with the record behind the last one that its model has seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal

from river import base

from stream_llsvm.connectors.base import (
    Batch,
    DeadLetters,
    Position,
    Sink,
    SinkAwayError,
    Source,
    Verbatim,
    Volatile,
    seekable,
)
from stream_llsvm.engine.census import Census
from stream_llsvm.engine.challengers import ORIGINAL, Challengers, checked_name
from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints, Lost, Made
from stream_llsvm.engine.classes import with_few_classes
from stream_llsvm.engine.decisions import Decisions
from stream_llsvm.engine.drift import detector_of
from stream_llsvm.engine.events import Events
from stream_llsvm.engine.input.watch import InputWatch
from stream_llsvm.engine.key_parts import KeyParts
from stream_llsvm.engine.late_labels import LateLabels, Waiting
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.order import Order
from stream_llsvm.engine.outage import go_back
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.reader import ReadAhead
from stream_llsvm.engine.rejects import Rejects, TooManyRejected
from stream_llsvm.engine.report import report_of
from stream_llsvm.engine.requests import Request, RequestError, Requests
from stream_llsvm.engine.results import learned_before, results_of
from stream_llsvm.engine.resume import EngineError, continued, sources_of
from stream_llsvm.engine.rounds import Rounds
from stream_llsvm.engine.save import Saver, occupied
from stream_llsvm.engine.scores import WINDOW
from stream_llsvm.engine.task import CLASSIFICATION
from stream_llsvm.engine.watchers import Watcher, usual, watched
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.committee import CommitteeClassifier
from stream_llsvm.learners.decision import Decision
from stream_llsvm.learners.pipeline import is_pipeline, shared_in
from stream_llsvm.limits import CLASSES
from stream_llsvm.model.feature_warnings import without_warnings

if TYPE_CHECKING:
    from stream_llsvm.connectors.values import Values


class Engine:
    """Learn a stream: from a source, with a model, to a sink.

    Parameters
    ----------
    source
        Where records come from.
    model
        Any of river's classifiers or regressors, also behind transformers in a pipeline of river's;
        a `CommitteeClassifier` if None. Where a run is continued, the model is the one in the
        checkpoint.
    sink
        Where predictions go, if anywhere.
    dead_letters
        Where records go that cannot be read.
    challengers
        Models that learn the same records beside this one, by names, and may take its place
        (`promote`). If None, a run that is continued has those that it had.
    champion
        What the model is called beside them.
    labels
        A second source, of labels that come later: its records name a key and a label.
    waiting
        How many records may wait for such labels, and how long; without ``labels``, for those
        that the source itself hands out between its records.
    checkpoints
        The run continues where the last one with this folder stopped, whatever stopped it.
    every
        Seconds between two checkpoints.
    max_batch
        How many records are taken at once.
    max_rejected_ratio
        The run stops when more than this share of the records cannot be used.
    max_classes
        How many classes are learned: a record with one more is rejected.
    detector
        Which of river's drift detectors watches the errors; ADWIN if "adwin", none if None.
    window
        How many of the last records the windowed scores look at.
    probabilities
        Whether the sink gets the probability of the likeliest label, ``top``, or also those of
        ``all`` labels.
    decision
        By what records are decided: costs, a precision or recall to hold, sets at a promised
        coverage. Predictions stay the likeliest labels; results have what was decided beside them.
    class_weight
        ``"balanced"``, or ``{label: weight}``: how much records count by their class.
    numbers
        How a label that is text is read as a number, if the model learns numbers.
    columns
        What was said of columns, as plain values: ``{"label": "y", "ignore": ["id"]}``. Checkpoints
        keep it. A run does not go on with another label, and notes what else is said otherwise.
    trust_pickle
        Whether checkpoints may hold pickled parts: classes that this package does not know. Reading
        them can run any code, so the folder must be one that nobody else can write to.
    clock
        Tells the time in seconds, for what waits and for what is written.
    watchers
        Who is told how the run goes.
    on_event
        A function that is called with each event (drift, a failed checkpoint), a dict.
    slices
        Fields, such as a country: answers are scored by their values, too. At most five.
    watch_input
        What watches the fields of the records for drift: an `InputWatch`, such as one with a
        reference of its own; or whether that is done at all.

    Examples
    --------
    >>> from stream_llsvm import Engine, LLSVMClassifier
    >>> from stream_llsvm.connectors import ListSource
    >>> records = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(500)]
    >>> engine = Engine(ListSource(records, label="y"), LLSVMClassifier())
    >>> report = engine.run()
    >>> report["learned"], report["scores"]["cumulative"]["accuracy"] > 0.9
    (500, True)

    """

    rounds: Rounds | None = None  # of many learners

    def __init__(
        self,
        source: Source,
        model: base.Estimator | None = None,
        *,
        sink: Sink | None = None,
        dead_letters: DeadLetters | None = None,
        challengers: Mapping[str, base.Estimator] | None = None,
        champion: str = ORIGINAL,
        labels: Source | None = None,
        waiting: Waiting | None = None,
        checkpoints: Checkpoints | None = None,
        every: float = 60.0,
        max_batch: int = 1_000,
        max_rejected_ratio: float = 0.5,
        max_classes: int = CLASSES,
        detector: str | base.DriftDetector | None = "adwin",
        window: int = WINDOW,
        probabilities: str = "top",
        decision: Decision | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        numbers: Values | None = None,
        columns: Mapping[str, Any] | None = None,
        trust_pickle: bool = False,
        clock: Callable[[], float] = time.time,
        watchers: Sequence[Watcher] = (),
        on_event: Callable[[Mapping[str, Any]], object] | None = None,
        slices: Sequence[str] = (),
        watch_input: InputWatch | bool = True,
    ) -> None:
        if not hasattr(source, "poll"):
            raise TypeError(
                f"the source has poll, as FileSource(path, label=...) has; got {source!r}"
            )
        self.source, self.sink = source, sink
        self.trouble = ""  # what the sink is waited for, if it is
        if probabilities not in ("top", "all"):
            raise ValueError(f'probabilities is "top" or "all"; got {probabilities!r}')
        model = CommitteeClassifier() if model is None else model
        self._all_probabilities = probabilities == "all"
        self._clock = clock
        self.max_classes = max_classes

        def begin() -> None:
            """Know nothing yet; a checkpoint may say more, also to a run that goes back to it."""
            self.learner = Learner(
                model, every=probabilities == "all" or decision is not None, values=numbers
            )
            self.decisions = Decisions(decision, class_weight)
            self.decisions.check(self.learner)
            self.progress = Progress(window, detector_of(detector), self.learner.task, slices)
            self.census = Census()
            self.inputs: InputWatch | None = None
            if watch_input:
                self.inputs = InputWatch() if watch_input is True else watch_input
                self.inputs.relevance = self._relevance
                self.progress.why = self.inputs.why
            self.order = Order(self.progress)
            self.rejects = Rejects(dead_letters, max_rejected_ratio)
            self.challengers = Challengers(
                champion, window, given=challengers is not None, decisions=self.decisions
            )
            self.challengers.begin(challengers or {}, self.learner)
            self.late: LateLabels | None = None
            if labels is not None or waiting is not None:
                parts = self.challengers, self.decisions, max_classes
                self.late = LateLabels(labels, waiting or Waiting(), clock, *parts)
            self.position: Position | None = None
            self.key_parts = KeyParts()

        self.begin_anew = begin
        begin()
        self.checkpoints, self.max_batch = checkpoints, max_batch
        self.columns = None if columns is None else dict(columns)
        self.trust_pickle = trust_pickle
        self.watchers: list[Watcher] = [*usual(), *watchers]
        if on_event is not None:
            self.watchers.append(Events(on_event))
        self._again_from: Position | None = None
        self._stop = threading.Event()
        self._saver: Saver | None = None
        self._running = False
        self._batches: ReadAhead | None = None
        self._requests = Requests(None if checkpoints is None else checkpoints.folder)
        self._keep_text()
        if checkpoints is not None:
            continued(self, checkpoints)
            self._keep_text()
            self._saver = Saver(self, checkpoints, every)

    def _relevance(self) -> Mapping[Any, float]:
        """Return how much each feature counts in the model, as far as it says."""
        model = shared_in(self.model)
        return model.feature_relevance if isinstance(model, LocalClassifier) else {}

    def _keep_text(self) -> None:
        """Let transformers in front of the model see records as they are."""
        if is_pipeline(self.model) and isinstance(self.source, Verbatim):
            self.source.keep_text()

    @property
    def model(self) -> Any:
        """The model, as it has learned so far. Only the thread that runs the engine may use it."""
        return self.learner.model

    @property
    def models(self) -> dict[str, Any]:
        """All models by name, the one that answers first."""
        others = {name: one.learner.model for name, one in self.challengers.items()}
        return {self.challengers.champion: self.model} | others

    @property
    def made(self) -> Made | None:
        """The newest checkpoint that is good; None if there is none."""
        return None if self.checkpoints is None else self.checkpoints.newest

    @property
    def checkpoint_interval(self) -> float:
        """Seconds between two checkpoints; 0 if there are none."""
        return 0.0 if self._saver is None else self._saver.every

    @property
    def lost(self) -> Lost | None:
        """What the last run has learned and could not keep, since its last checkpoint failed."""
        return None if self._saver is None else self._saver.lost

    def run(self, max_records: int | None = None) -> dict[str, Any]:
        """Learn until the source ends, `stop` is called, or so many records have been read."""
        if self._saver is not None:
            self._saver.begin()
        if self.inputs is not None:
            self.inputs.begin()
        with occupied(self), without_warnings():  # LeftOut tells of features
            self._running = True
            try:
                with watched(self):
                    self._run(max_records)
            finally:
                self._running = False
                self._requests.close()
        return self.report()

    def _run(self, max_records: int | None) -> None:
        end = None if max_records is None else self.progress.counts["records"] + max_records
        began = [one.position for one in sources_of(self)]
        while True:
            try:
                self._turns(end)
                break
            except SinkAwayError as error:
                go_back(self, error, began, self._stop)
                self._again_from = None
                self._keep_text()
        self._stop.clear()

    def _turns(self, end: int | None) -> None:
        """Learn, and write the last checkpoint."""
        if self._again_from is not None:  # the last run had read further than it learned
            self.source.seek(self._again_from)
            self._again_from = None
        begin = self.source.position
        left = None if end is None else end - self.progress.counts["records"]
        batches = self._batches = ReadAhead(self.source, self.max_batch, left)
        try:
            with batches:
                self._obey(all=True)
                self._take_labels()
                while not (self._stop.is_set() or batches.ended):
                    batch = batches.next()
                    if batch is not None:
                        self._take(batch)
                    # First, so that a model copied by a watcher is the one that answers next.
                    self._take_labels()
                    for watcher in self.watchers:
                        watcher.on_turn(self)
                    self._obey()
                    if end is not None and self.progress.counts["records"] >= end:
                        break
                    if self._saver is not None:
                        self._saver.turn()
            if not seekable(self.source):  # what was read ahead would not come again
                for batch in batches.rest():
                    self._take(batch)
        finally:  # whatever ended it
            if batches.left and seekable(self.source):
                self._again_from = begin if self.position is None else self.position
        if not self._stop.is_set():
            # The records have ended; the labels that are there already still belong to them.
            while self._take_labels():
                pass
        self._obey(all=True)
        if self._saver is None:
            self.flush()
        else:
            self._saver.finish()

    def stop(self) -> None:
        """Stop after this batch, or the next run at once; safe to call from a signal handler."""
        self._stop.set()

    def wake(self) -> None:
        """Let the loop turn at once if it waits for records; safe to call from any thread."""
        if self._batches is not None:
            self._batches.wake()

    def _take(self, batch: Batch) -> None:
        batch = self.learner.readable(batch)
        if self.learner.task == CLASSIFICATION:
            batch = with_few_classes(batch, self.progress.classes, self.max_classes)
        self.rejects.take(batch.rejected, batch.bad_fields)
        if batch.rejected:
            for watcher in self.watchers:
                watcher.on_rejected(self, batch.rejected)
        self.rejects.deletes += batch.deletes
        if len(batch) > 0:
            self.census.take(batch)
            for moved in () if self.inputs is None else self.inputs.take(batch):
                self.progress.note("input drift", moved.text())
            batch = self.decisions.weighted(batch)
            begin = time.perf_counter()
            answers = self.learner.take(batch)
            seconds = time.perf_counter() - begin
            self.progress.counts["non_finite"] += answers.non_finite
            self.rejects.refused(batch.places, answers.refused)
            learned = self.progress.counts["learned"]
            scored = self.progress.score(batch.labels, answers, batch.weights)
            self.progress.cohorts.take(batch, scored)
            answers = self.decisions.take(batch, answers, self.progress)
            if len(self.challengers):
                priced = self.decisions.priced(scored, batch.labels, answers)
                self.challengers.take(batch, priced, self.progress)
            self.progress.foretold(answers)
            if self.late is not None:
                self.late.hold(batch, answers, self.learner, self.progress)
            if self.sink is not None:
                if self.checkpoints is not None:
                    self.checkpoints.check()
                before = learned_before(batch, answers, learned)
                told = answers if self._all_probabilities else answers._replace(probabilities=None)
                self.sink.write(results_of(batch, told, self._clock(), before))
            self.progress.counts["predicted"] += len(batch) - len(answers.refused)
            for watcher in self.watchers:
                watcher.on_batch(self, batch, answers, seconds)
        self.progress.counts["records"] += len(batch) + len(batch.rejected)
        if batch.disorder is not None:
            self.order.take(batch.disorder)
        if self.late is not None and batch.late is not None:
            self.late.learn(batch.late, self.learner, self.progress, self.rejects)
        self.position = batch.position
        try:
            self.rejects.check(self.progress.counts["predicted"])
        except TooManyRejected as error:
            raise EngineError(str(error)) from None

    def _take_labels(self) -> bool:
        """Learn the records whose labels have come; returns whether there were any."""
        if self.late is None:
            return False
        return self.late.take(self.max_batch, self.learner, self.progress, self.rejects)

    def checkpoint(self, *, wait: bool = False) -> None:
        """Write model, position, scores and waiting labels together.

        Nothing is written if nothing has come in since the last one: the few that are kept are
        states to go back to, and not copies of one.
        """
        if self._saver is None:
            raise EngineError("there is no folder for checkpoints: Engine(checkpoints=...)")
        self._saver.write(wait=wait)

    def ask(self, do: str, name: str) -> Future[str]:
        """Ask for something that is done between two batches; safe to call from any thread.

        Parameters
        ----------
        do
            ``promote`` a challenger, or make a ``checkpoint`` that is kept for good.
        name
            Of the challenger, or for the checkpoint.

        The answer is what came of it, in words, or a `RequestError`.

        """
        told = self._requests.ask(do, name)
        if not self._running:
            self._obey()
        return told

    def promote(self, name: str) -> None:
        """Let a challenger answer from the next record on; the champion learns on beside it.

        If there are checkpoints, one is written: a run that is continued knows of it. Only the
        thread that runs the engine may call it; others use `ask`.
        """
        if name not in self.challengers:
            there = ", ".join(one for one, _ in self.challengers.items()) or "none"
            raise RequestError(f"there is no challenger {name}: there are {there}")
        former = self.challengers.champion
        self.learner = self.challengers.promote(name, self.learner)
        self.key_parts = KeyParts()  # those written so far are of the other model
        self._keep_text()
        told = f"{name} answers from here on, and {former} learns beside it"
        self.progress.note("promoted", f"{told}; windowed scores begin anew")
        self.progress.begin_anew()
        if self._saver is not None:
            self._saver.write(wait=True)

    def name_checkpoint(self, name: str) -> int:
        """Write a checkpoint if anything came in since the last, and keep it for good.

        Returns its number. Only the thread that runs the engine may call it; others use `ask`.
        """
        if self._saver is None or self.checkpoints is None:
            raise RequestError("there is no folder for checkpoints: Engine(checkpoints=...)")
        self._saver.write(wait=True)
        made = self.made
        if made is None or self.checkpoints.failing:
            raise RequestError("the checkpoint could not be written")
        self.checkpoints.name(made.number, checked_name(name))
        self.progress.note("checkpoint", f"number {made.number} is kept as {name}")
        return made.number

    def _obey(self, *, all: bool = False) -> None:
        """Do what was asked since the last turn."""
        for request in self._requests.pending(all=all):
            try:
                request.answer(self._done(request), True)
            except (RequestError, CheckpointError, ValueError, SinkAwayError) as error:
                request.answer(str(error), False)
                if isinstance(error, SinkAwayError):
                    raise

    def _done(self, request: Request) -> str:
        """Do what is asked; return what came of it."""
        at = f"at record {self.progress.counts['records']:,}"
        if request.do == "checkpoint":
            number = self.name_checkpoint(request.name)
            return f"checkpoint {number} is kept as {request.name}, {at}"
        if request.name == self.challengers.champion:  # also one that was asked twice
            return f"{request.name} is the champion already"
        former = self.challengers.champion
        self.promote(request.name)
        return f"{request.name} is the champion {at}, and {former} learns beside it"

    def flush(self) -> None:
        """Return when all that was read and written is where it will survive this process."""
        if isinstance(self.source, Volatile):
            self.source.sync()
        for sink in (self.rejects.letters, self.sink):
            if sink is not None:
                sink.flush()

    def report(self) -> dict[str, Any]:
        """Return counts and scores, and what could not be kept."""
        return report_of(self)
