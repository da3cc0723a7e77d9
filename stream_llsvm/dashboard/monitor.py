"""What a run tells the live page: copied by the run's own thread, which waits for nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import replace

from stream_llsvm.connectors.base import Batch, Recovering
from stream_llsvm.dashboard.keys import KeyWindow
from stream_llsvm.dashboard.look import Histogram, Look, Status, counted, details
from stream_llsvm.dashboard.model_copy import Copied, RecordsAfter, copy_of
from stream_llsvm.dashboard.recent_records import Taken
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.learner import Answers, Learner
from stream_llsvm.engine.requests import RequestError
from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.learners.pipeline import is_own, shared_in
from stream_llsvm.model import notices as compiling

log = logging.getLogger("stream_llsvm")

OFTEN = 0.25  # seconds between two looks
BUSY = 0.5  # the same while the run is busy, and between two copies of the model
OVER = ("stopped", "failed")
_COMPILES = "The kernels are being compiled. The first records wait for it."
_IDLE = 2.0  # seconds without a record after which a run is waiting
_PATIENCE = 3.0  # seconds for which a question counts as somebody watching
_SHARE = 100  # looking may cost this part of the thread's time, and copying the model another
_LONGEST = 1.0  # seconds between two looks, even if they cost more than that
_RECENT = 200  # records
_SMOOTH = 0.3
_SELDOM = 10.0  # seconds between two copies of the model while nobody watches


class Monitor(Watcher):
    """Looks at a run some times a second.

    Nothing here waits, and all that is kept is bounded. A look costs at most a hundredth of the
    time: where one takes long, the next comes later. The model is copied if somebody watches; a
    large one is copied less often, which does not make the other numbers any older. While nobody
    watches it is copied now and then, with the records that came next, so that whoever comes finds
    some answers explained.

    Attributes
    ----------
    look
        The newest look, None before the first; replaced, never changed.
    first
        The first look, at what the run goes on from.
    copied
        The newest copy of the model, None if there is none; replaced, never changed.
    watchers
        How many watch; whoever knows sets it.
    lag
        How far behind the source is; whoever asks it sets it.

    Parameters
    ----------
    name
        What the run is called, where there are several; its source's name says it otherwise.

    """

    def __init__(self, *, name: str = "") -> None:
        self.name = name
        self.look: Look | None = None
        self.first: Look | None = None
        self.copied: Copied | None = None
        self.watchers, self.pace = 0, OFTEN
        self.lag: dict[str, dict[str, int]] = {}
        self.turned_at = time.monotonic()
        self.came = threading.Event()
        self._wanted = self._asked = float("-inf")
        self._predict, self._learn = Histogram(), Histogram()
        self._recent: deque[Taken] = deque()
        self._after: RecordsAfter | None = None
        self._keys: KeyWindow | None = None
        self._held = self._learned = 0
        self._next_look = self._next_copy = self._seldom = 0.0
        self._started, self._began = time.time(), time.monotonic()
        self._status = Status("starting", self._started)
        self._last_record, self._came = float("-inf"), 0
        self._labelled = (0, float("inf"))  # how many had been learned when that rose, and when
        self._late = (0, 0.0)
        self._rate, self._rated = 0.0, (time.monotonic(), -1)
        self._worked = 0.0
        self._engine: Engine | None = None
        self._learner: Learner | None = None  # who answers
        self._ours: int | None = None  # the thread that runs the engine

    @property
    def watched(self) -> bool:
        """Whether somebody watches, or has asked something a moment ago."""
        return self.watchers > 0 or time.monotonic() < self._wanted

    def watch(self, watchers: int) -> None:
        """Say how many watch all the time."""
        if not self.watched:
            self._next_look = 0.0
        self.watchers = watchers

    def want(self, *, model: bool = False) -> None:
        """Say that somebody wants to know: the next looks have all the details.

        A model that is none of this package's is copied only for those who ask for the model.
        """
        if not self.watched:
            self._next_look = 0.0
        self._wanted = time.monotonic() + _PATIENCE
        if model:
            self._asked = self._wanted

    @property
    def keyed(self) -> bool:
        """Whether there is a model for each key, of which `copied` is the one for all."""
        return self._keys is not None

    @property
    def silent_for(self) -> float:
        """How many seconds ago the run's loop last turned."""
        return time.monotonic() - self.turned_at

    def on_start(self, engine: Engine) -> None:
        """Look for the first time."""
        self._started = time.time()
        self._began = time.monotonic()
        self._came = engine.progress.counts["records"]
        self._rated = (self._began, self._came)
        self._learned = _learned_at_once(engine)
        self._labelled = engine.progress.counts["learned"], self._began
        self._learner = engine.learner
        self._keys = None if engine.learner.key is None else KeyWindow()
        self._become("starting")
        self.want()  # the first batch may compile for long: there is something to show meanwhile
        self._look(engine)
        self.first = self.first or self.look
        self._engine, self._ours = engine, threading.get_ident()
        compiling.listening.append(self._compiles)

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Count what a batch cost, and keep it for a moment."""
        n, learned = len(batch), _learned_at_once(engine)
        self._predict.observe(seconds, n)
        if learned > self._learned:
            self._learn.observe(seconds / n, learned - self._learned)
        self._learned = learned
        if self._keys is not None and self.watched:
            self._keys.take(engine.learner.key, batch, answers)
        taken = Taken(batch, answers, engine.progress.counts["records"])
        if self._after is not None:
            self._after.take(taken, _learned_late(engine))
        kept = taken.part(n - _RECENT, n)
        self._recent.append(kept)
        self._held += len(kept.batch)
        while self._held - len(self._recent[0].batch) >= _RECENT:
            self._held -= len(self._recent.popleft().batch)
        self._last_record = time.monotonic()
        self._worked += seconds

    def on_turn(self, engine: Engine) -> None:
        """Look, if it is time."""
        if engine.learner is not self._learner:
            self._promoted(engine)
        now = self.turned_at = time.monotonic()
        if self._after is not None:
            self._after.turn(_learned_late(engine))
        records = engine.progress.counts["records"]
        if records != self._came:  # also where nobody is told of batches, as of many learners
            self._came, self._last_record = records, now
        if now >= self._next_look:
            self._judge(engine, now)
            self._look(engine)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Look for the last time, at everything."""
        if self._compiles in compiling.listening:
            compiling.listening.remove(self._compiles)
        if error is None:
            self._become("stopped")
        else:
            self._become("failed", " ".join(str(error).split()) or type(error).__name__)
        self.want()
        self._next_copy = 0.0
        try:
            self._look(engine)
        except Exception:  # the run has died of something; that is what is to be told
            log.exception("the last look at the run")

    def _compiles(self) -> None:
        """Say why nothing will happen for a while; the model is not looked at, it is being made."""
        if self.look is None or self._engine is None or threading.get_ident() != self._ours:
            return
        self._become("compiling", _COMPILES)
        number = self._engine.progress.next_number()
        self.look = replace(self.look, id=number, time=time.time(), status=self._status)
        self.came.set()

    def _promoted(self, engine: Engine) -> None:
        """Forget what was copied of the model that answered before."""
        self._learner = engine.learner
        self.copied = self._after = None
        self._keys = None if engine.learner.key is None else KeyWindow()
        self._recent.clear()
        self._held = 0
        self._next_copy = self._next_look = 0.0

    def ask(self, do: str, name: str) -> Future[str]:
        """Ask the run for something, as `Engine.ask` does; RequestError if there is none."""
        if self._engine is None:
            raise RequestError("the run has not begun yet")
        return self._engine.ask(do, name)

    def _judge(self, engine: Engine, now: float) -> None:
        source = engine.source
        trouble = engine.trouble or (source.trouble if isinstance(source, Recovering) else "")
        if trouble:
            self._become("recovering", trouble)
        elif now - self._last_record < _IDLE:
            self._become("running")
        elif now - self._began > _IDLE:
            self._become("waiting")

    def _become(self, state: str, text: str = "") -> None:
        if (state, text) != (self._status.state, self._status.text):
            self._status = Status(state, time.time(), text)

    def _look(self, engine: Engine) -> None:
        begin = time.monotonic()
        watched = self.watched
        answered = None if self._after is None else self._after.answered()
        if begin >= self._next_copy and (watched or begin >= self._seldom):
            self._copy(engine, begin)
        worked = time.thread_time()
        self._count_late(engine)
        busy = self._worked > 0.5 * (begin - self._rated[0])
        known = counted(engine)
        if self.name:
            known["source"] = self.name
        if engine.progress.counts["learned"] != self._labelled[0]:
            self._labelled = engine.progress.counts["learned"], begin
        told = () if self._keys is None else self._keys.told()
        self.look = Look(
            id=engine.progress.next_number(),
            status=self._status,
            started=self._started,
            rate=self._measured(engine, begin),
            predict=self._predict.copy(),
            learn=self._learn.copy(),
            lag=self.lag,
            unlabelled=max(0.0, self._last_record - self._labelled[1]),
            details=details(engine, self._recent, answered, told) if watched else None,
            **known,
        )
        wait = min(_LONGEST, _SHARE * (time.thread_time() - worked))
        self._next_look = begin + max(self.pace, BUSY if busy else OFTEN, wait)
        self.came.set()

    def _copy(self, engine: Engine, begin: float) -> None:
        learned = engine.progress.counts["learned"]
        ours = is_own(engine.model)
        if not ours and begin > self._asked:
            return
        if self.copied is not None and self.copied.learned == learned:
            return
        worked = time.thread_time()
        try:
            # Of a model for each key the one for all: a million keys take long to copy.
            keyed = ours and self._keys is not None
            model = shared_in(engine.model) if keyed else engine.model
            self.copied = Copied(copy_of(model), learned, time.time())
        except Exception as error:  # a model of river's that cannot be copied
            log.warning("the model cannot be copied for the live page: %s", error)
            self._next_copy = float("inf")
            return
        after = ours and not keyed
        self._after = RecordsAfter(self.copied, _learned_late(engine)) if after else None
        wait = _SHARE * (time.thread_time() - worked)
        self._next_copy = begin + max(BUSY if ours else 1.0, wait)
        self._seldom = begin + _SELDOM

    def _count_late(self, engine: Engine) -> None:
        if engine.late is None:
            return
        learned, seconds = engine.late.learned, engine.late.seconds
        n = learned - self._late[0]
        if n > 0:
            self._learn.observe((seconds - self._late[1]) / n, n)
        self._late = (learned, seconds)

    def _measured(self, engine: Engine, now: float) -> float:
        at, before = self._rated
        records = engine.progress.counts["records"]
        if before >= 0 and now > at:
            fresh = (records - before) / (now - at)
            self._rate = fresh if self._rate == 0 else self._rate + _SMOOTH * (fresh - self._rate)
            if self._rate < 0.01:
                self._rate = 0.0
        self._rated, self._worked = (now, records), 0.0
        return self._rate


def _learned_at_once(engine: Engine) -> int:
    """Return how many records came with their label and were learned; cheaper than counting."""
    return engine.progress.counts["learned"] - _learned_late(engine)


def _learned_late(engine: Engine) -> int:
    """Return how many records were learned when their labels came later."""
    return 0 if engine.late is None else engine.late.learned
