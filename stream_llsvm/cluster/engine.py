"""The engine over many learners: rounds, one commit each; every record is learned exactly once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

from river import base

from stream_llsvm.cluster.auditor import Auditor
from stream_llsvm.cluster.checks import check_model, check_watchers, check_workers, shared_only
from stream_llsvm.cluster.coordinator import Coordinator, Outcome
from stream_llsvm.cluster.host import Host, InlineHost
from stream_llsvm.cluster.manifest import (
    COUNTS,
    Named,
    begin_round,
    continued,
    end_rounds,
    needed_for_good,
    write,
)
from stream_llsvm.cluster.outbox import encode_of
from stream_llsvm.cluster.outbox import write as write_results
from stream_llsvm.cluster.plan import FIRST, Load, Plan, Slice, slices
from stream_llsvm.cluster.rounds import Done, Setup, Worker, in_order, refusal, sliced
from stream_llsvm.cluster.shards import Files, remove_unneeded, whole
from stream_llsvm.connectors.base import (
    AwayError,
    DeadLetters,
    Described,
    Position,
    Prefetching,
    Sink,
    Sliced,
)
from stream_llsvm.engine.census import Census
from stream_llsvm.engine.challengers import ORIGINAL, Challengers
from stream_llsvm.engine.checkpoints import Checkpoints, Lost, Made
from stream_llsvm.engine.decisions import Decisions
from stream_llsvm.engine.drift import detector_of
from stream_llsvm.engine.learner import Learner
from stream_llsvm.engine.order import Order
from stream_llsvm.engine.progress import Progress
from stream_llsvm.engine.rejects import Rejects, TooManyRejected
from stream_llsvm.engine.requests import RequestError
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.rounds import Rounds, ShardSize
from stream_llsvm.engine.save import Saver, occupied
from stream_llsvm.engine.scores import WINDOW
from stream_llsvm.engine.task import task_of
from stream_llsvm.engine.watchers import (
    Incidents,
    Recoveries,
    Unlabelled,
    Watcher,
    Weights,
    watched,
)
from stream_llsvm.learners.committee import CommitteeClassifier
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.options import whole as whole_number

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine
_PAUSE = 0.1  # seconds between two looks whether more has come
_SECONDS = ("read", "learn", "carry", "cpu")


class ClusterEngine:
    """Learn a stream with several learners: slices side by side, then a merge, then a commit.

    Parameters
    ----------
    source
        Where records come from: a `Sliced` source that says how it is opened elsewhere, such as a
        file or a topic, or a pipeline's ``[source]``.
    model
        One of this package's models; a `CommitteeClassifier` if None. Where a run is continued, the
        model is the one in the manifest.
    workers
        How many learners at most. ``"auto"`` takes more only while the backlog grows, and one
        again when it is gone.
    cluster
        Where learners live: ``"auto"`` is a cluster of Ray on this machine that starts by itself,
        ``"host:6379"`` one that is there, and ``"local"`` this process,
        one after the other.
    checkpoints
        The run continues where the last one with this folder stopped, whatever stopped it.
    every
        Seconds between two manifests. The usual 0 writes one after each round, unless the last one
        is still being written; what comes after the newest is learned again after a crash.
    slice
        About how many records each learner gets in a round. Where records come in an order, long
        slices cost less accuracy; where nothing changes, short ones.
    newest
        How much more a learner counts in a merge than the one with the slice before (2). Not of a
        model for each key, whose learners have the same slice.
    audit
        For which share of the rounds one more learner learns all of them in order, to measure what
        several learners cost: see `Auditor` (0.02). Not done of a model for each key.
    sink, dead_letters, probabilities
        As of `Engine`. They are written in the order of the slices, with each round.
    max_rejected_ratio, detector, window, numbers, columns, champion, watchers
        As of `Engine`. Watchers are told of each round by ``on_turn``, and of no batch.
    force
        Whether more than 16 learners may share one model.
    host
        Where learners live, instead of ``cluster``.

    Attributes
    ----------
    model, progress, rejects, position
        As of `Engine`.
    epoch
        How many rounds were learned.
    counts
        ``rounds``, ``repeated`` rounds that something died in, and ``restarts`` of learners.
    fallbacks
        How often a merge took a member of the newest learner, by the member's name.
    shards
        Of a model for each key how many keys each learner of the last round had, and their bytes.
    seconds
        How long the last round took: ``learn`` and ``merge``, and of the slowest learner ``read``,
        ``learned``, ``carry`` and ``cpu``.

    Examples
    --------
    >>> from stream_llsvm import SAPLClassifier
    >>> from stream_llsvm.cluster import ClusterEngine
    >>> from stream_llsvm.connectors import ListSource
    >>> records = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(6_000)]
    >>> source = ListSource(records, label="y")
    >>> engine = ClusterEngine(source, SAPLClassifier(), workers=2, cluster="local", slice=1_000)
    >>> report = engine.run()
    >>> report["learned"], report["cluster"]["rounds"]
    (6000, 4)

    """

    def __init__(
        self,
        source: Sliced | Mapping[str, Any],
        model: base.Estimator | None = None,
        *,
        workers: int | str = "auto",
        cluster: str = "auto",
        checkpoints: Checkpoints | None = None,
        every: float = 0.0,
        slice: int = 5_000,
        newest: float | None = None,
        audit: float | None = None,
        sink: Sink | None = None,
        dead_letters: DeadLetters | None = None,
        probabilities: str = "top",
        max_rejected_ratio: float = 0.5,
        detector: str | base.DriftDetector | None = "adwin",
        window: int = WINDOW,
        numbers: Mapping[str, Any] | None = None,
        columns: Mapping[str, Any] | None = None,
        watchers: Sequence[Watcher] = (),
        champion: str = ORIGINAL,
        force: bool = False,
        host: Host | None = None,
    ) -> None:
        self.model: Any = CommitteeClassifier() if model is None else model
        by_key = isinstance(self.model, KeyedClassifier)
        most = check_workers(workers, force=force or by_key)
        folder = None if checkpoints is None else checkpoints.folder
        check_model(self.model, most, folder)
        newest, audit = shared_only(self.model, newest=newest, audit=audit)
        self.files = Files()
        self.source, description = _described(source)
        self.plan = Plan(most, whole_number("slice", slice, 1, 10**9), grows=workers == "auto")
        self.progress = Progress(window, detector_of(detector), task_of(self.model))
        self.census, self.order = Census(), Order(self.progress)
        self.inputs = None  # learners see the records, and do not watch their fields
        self.rejects = Rejects(dead_letters, max_rejected_ratio)
        self.columns = None if columns is None else dict(columns)
        self.checkpoints = checkpoints
        self._weights = Weights()
        self.watchers: list[Watcher] = [Unlabelled(), Recoveries(), Incidents(), *watchers]
        self.late, self.sink = None, sink  # labels that come later are not joined here
        self.challengers = Challengers(champion, window)  # there are none
        self.decisions = Decisions()  # nor are there
        self.position: Position | None = None
        self.trouble = ""
        self.epoch, self.load = 0, Load()
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
        self.fallbacks: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.shards: list[ShardSize] = []
        self._parts: dict[str, float] = {}  # of the last round, one after the other
        # Who watches asks it what keys are called; who learns has its own.
        self.learner = Learner(self.model)
        # By manifests that are being written, by their numbers, and by those that are.
        self.named, self._needed = dict[int, Named](), list[Named]()
        self._stop = threading.Event()
        if probabilities not in ("top", "all"):
            raise ValueError(f'probabilities is "top" or "all"; got {probabilities!r}')
        setup = Setup(
            description,
            None if numbers is None else dict(numbers),
            encode_of(sink),
            probabilities == "all",
            dead_letters is not None,
        )
        self.auditor = Auditor(audit, most, self.progress.task)
        spare = audit > 0 and most > 1 and not by_key
        self.host = host or _host(cluster, setup, most + spare)
        self._coordinator = Coordinator(self.host, newest, folder, self.auditor, self.progress.note)
        self._saver: Saver | None = None
        if checkpoints is not None:
            continued(self, checkpoints)
            self._saver = Saver(cast("Engine", self), checkpoints, every, write=write)

    @property
    def lost(self) -> Lost | None:
        """What the last run has learned and could not keep, since its last manifest failed."""
        return None if self._saver is None else self._saver.lost

    @property
    def made(self) -> Made | None:
        """The newest manifest that is good; None if there is none."""
        return None if self.checkpoints is None else self.checkpoints.newest

    @property
    def learners(self) -> int:
        """How many learners the last round had."""
        return self.load.learners

    @property
    def backlog(self) -> int:
        """About how many records were there, and not learned, before the last round."""
        return self.load.backlog

    def run(self, max_records: int | None = None) -> dict[str, Any]:
        """Learn until the source ends, `stop` is called, or at least so many records have come.

        A round is learned whole.
        """
        check_watchers(self.model, self.watchers)
        if self._saver is not None:
            self._saver.begin()
        with occupied(cast("Engine", self)):
            try:
                with watched(cast("Engine", self)):
                    self._run(max_records)
            finally:
                self._coordinator.close()
        return self.report()

    def _run(self, max_records: int | None) -> None:
        begin = self.progress.counts["records"]
        start = self.source.start()  # which connects, also to be asked how far behind it is
        self.position = start if self.position is None else self.position
        while not self._stop.is_set():
            came = self.progress.counts["records"]
            if max_records is not None and came - begin >= max_records:
                break
            left = None if max_records is None else begin + max_records - came
            try:
                learned = self._round(left)
            except AwayError:  # nothing of the round was taken over; the watchers tell of it
                learned = False
            if not learned:
                if not self.source.endless:
                    break
                self._stop.wait(_PAUSE)
            for watcher in self.watchers:
                watcher.on_turn(cast("Engine", self))
            if self._saver is not None:
                begun = time.perf_counter()
                self._saver.turn()
                self._parts["save"] = time.perf_counter() - begun
                self._remove_unneeded()
        self.auditor.look(wait=True)
        if self._saver is None:
            self.flush()
        elif self.checkpoints is not None:
            self._saver.finish()
            if self._saver.lost is None:
                end_rounds(self.checkpoints.folder)
            if isinstance(self.model, KeyedClassifier):
                self.model = whole(self.model, self.checkpoints.folder, self.files)
        self._stop.clear()

    def stop(self) -> None:
        """Stop after the round that is being learned; safe to call from a signal handler."""
        self._stop.set()

    def _round(self, left: int | None) -> bool:
        """Learn the next round; returns whether there was one."""
        assert self.position is not None
        came, ends = self.progress.counts["records"], self.source.ends()
        load = self.plan.load(self.load, self.source.backlog(self.position, ends), came)
        size = self.plan.slice_size(came)
        if left is not None:
            size = min(size, left)
            load = load._replace(learners=min(load.learners, max(1, left // size)))
        parts = slices(self.source.cut(self.position, ends, size, load.learners))
        if not parts:
            return False
        self.load = load._replace(learners=len(parts))
        if self.checkpoints is not None:
            self.checkpoints.check()
            begin_round(self.checkpoints.folder, self.epoch)
        learned = self.progress.counts["learned"]
        then = self._following(parts, ends)
        self._take(
            self._coordinator.round(self.epoch, self.model, parts, self.files, learned, then)
        )
        self.position = parts[-1].end
        self.epoch += 1
        self.counts["rounds"] += 1
        try:
            self.rejects.check(self.progress.counts["predicted"])
        except TooManyRejected as error:
            raise EngineError(str(error)) from None
        return True

    def _following(self, parts: Sequence[Slice], ends: Position) -> list[Slice]:
        """Return the slices of the next round as far as they are known, if they can be fetched.

        What is there now makes no more of them than this round has; another number of learners
        has other slices, and fetches those when it learns them.
        """
        if not isinstance(self.source, Prefetching):
            return []
        size = self.plan.slice_size(max(FIRST, self.progress.counts["records"]))
        return slices(self.source.cut(parts[-1].end, ends, size, len(parts)))

    def _take(self, outcome: Outcome) -> None:
        """Take over what came of a round."""
        self.model, self.files = outcome.model, outcome.files
        self.shards = [one.written.has for one in outcome.done if one.written is not None]
        self.fallbacks.update(outcome.fallbacks)
        self.counts["restarts"] += outcome.restarts
        self.counts["repeated"] += outcome.restarts > 0
        of_learners = {
            {"learn": "learned"}.get(name, name): max(one.seconds[name] for one in outcome.done)
            for name in _SECONDS
        }
        self.seconds = {**outcome.seconds, **of_learners}
        self._parts |= _parts(outcome)
        self._score(outcome.done)

    def _score(self, done: Sequence[Done]) -> None:
        """Score what learners answered, and count what they could not use."""
        progress = self.progress
        for one in in_order(done):
            if one.taken:
                progress.score(one.labels, one.answers, one.weights)
                self._weights.look(cast("Engine", self), one.weights, one.taken)
                progress.foretold(one.answers)
                progress.counts["non_finite"] += one.answers.non_finite
                progress.counts["predicted"] += one.taken - len(one.answers.refused)
            progress.counts["records"] += one.records
        for each in done:
            self.rejects.add(each.rejects)
            self.census.add(each.census)
            for disorder in each.disorder:
                self.order.take(disorder)
            if each.outbox.rejected and self.rejects.letters is not None:
                self.rejects.letters.write(each.outbox.rejected)
        if self.sink is not None:
            write_results(self.sink, [each.outbox for each in done])

    def _remove_unneeded(self) -> None:
        """Remove files of keys that none of the manifests which are kept needs."""
        kept = self.checkpoints
        if kept is None or not isinstance(self.model, KeyedClassifier):
            return
        made = kept.newest
        newest = None if made is None else self.named.pop(made.number, None)
        if made is None or newest is None:
            return
        for failed in [number for number in self.named if number < made.number]:
            del self.named[failed]
        self._needed.append(newest)
        if len(self._needed) > kept.keep:
            del self._needed[: -kept.keep]
            needed = needed_for_good(kept).union(*(one.files for one in self._needed))
            remove_unneeded(kept.folder, needed, self._needed[0].epoch)

    def flush(self) -> None:
        """Return when all that was written is where it will survive this process."""
        for sink in (self.rejects.letters, self.sink):
            if sink is not None:
                sink.flush()

    @property
    def checkpoint_interval(self) -> float:
        """Seconds between two manifests: 0 if there is one after each round."""
        return 0.0 if self._saver is None else self._saver.every

    @property
    def rounds(self) -> Rounds:
        """What there is to see of the rounds."""
        audit = self.auditor.report()
        return Rounds(
            self.learners,
            self.plan.most,
            self.counts["rounds"],
            self.counts["repeated"],
            self.counts["restarts"],
            self.backlog,
            dict(self.fallbacks),
            dict(self._parts),
            audit["price"],
            audit["rounds"],
            list(self.shards),
        )

    def ask(self, do: str, name: str) -> Future[str]:
        """Refuse: what `Engine.ask` does between two batches is done by one learner."""
        raise RequestError("several learners take no requests: go on with one to do that")

    def report(self) -> dict[str, Any]:
        """Return counts and scores, and how the rounds went."""
        bad = {
            "rejected": dict(self.rejects.counts),
            "bad_fields": dict(self.rejects.bad_fields),
            "deletes": self.rejects.deletes,
            "columns": self.census.report(),
        }
        of_rounds = {
            **self.counts,
            "learners": self.learners,
            "backlog": self.backlog,
            "fallbacks": dict(self.fallbacks),
            "keys": self.files.keys,
            "shards": [one._asdict() for one in self.shards],
            "audit": self.auditor.report(),
            "seconds": dict(self.seconds),
        }
        lost = None if self.lost is None else self.lost._asdict()
        return self.progress.report() | bad | {"cluster": of_rounds, "lost": lost}


def _parts(outcome: Outcome) -> dict[str, float]:
    """Return how long the parts of a round took: what learners do on the mean, and the waiting."""
    mean = {
        name: sum(one.seconds[name] for one in outcome.done) / len(outcome.done)
        for name in ("carry", "read", "learn")
    }
    wait = outcome.seconds["learn"] - sum(mean.values())
    return {**mean, "wait": max(0.0, wait), "merge": outcome.seconds["merge"]}


def _described(source: Sliced | Mapping[str, Any]) -> tuple[Sliced, dict[str, Any]]:
    """Return a source, and what learners open the same one by."""
    if isinstance(source, Mapping):
        return sliced(source), dict(source)
    if not isinstance(source, Described):
        raise TypeError(
            "learners open the source for themselves: give a source that says how, such as a "
            f'FileSource, or {{"from": [addresses], "label": ...}}; got {source!r}'
        )
    if not isinstance(source, Sliced):
        raise TypeError(refusal(source.name))
    return source, source.description


def _host(cluster: str, setup: Setup, most: int) -> Host:
    """Return where learners live."""
    if cluster == "local":
        return InlineHost(lambda: Worker(setup))
    from stream_llsvm.cluster.ray_host import RayHost

    return RayHost(setup, cluster, most)
