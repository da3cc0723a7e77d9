"""Messages are built here, by a thread of their own, once each, for all who watch; and kept."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stream_llsvm.dashboard import past
from stream_llsvm.dashboard.explanations import Kept
from stream_llsvm.dashboard.look import Counts, Look, recent_of, since
from stream_llsvm.dashboard.messages import event, frame, point
from stream_llsvm.dashboard.model_copy import Answered, ModelCopies, NothingLearnedError, restored
from stream_llsvm.dashboard.model_view import ModelView
from stream_llsvm.dashboard.monitor import BUSY, OFTEN, OVER, Monitor
from stream_llsvm.dashboard.sse import Feed, Message
from stream_llsvm.model.feature_warnings import without_warnings

Point = Mapping[str, Any]
MOST_POINTS = 2_000


class History:
    """Points of a run, in bounded memory; safe to read while another thread adds.

    Parameters
    ----------
    most
        How many points are kept at most. Half of them are the newest; of those before, every
        second one is dropped whenever they become too many.

    Examples
    --------
    >>> history = History(most=8)
    >>> for i in range(1, 31):
    ...     history.add({"id": i})
    >>> [point["id"] for point in history.points()]
    [1, 9, 17, 25, 27, 28, 29, 30]
    >>> [point["id"] for point in history.points(after=27)]
    [28, 29, 30]

    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._half = most // 2
        self._newest: deque[Point] = deque()
        self._older: list[Point] = []
        self._stride, self._passed = 1, 0
        self._lock = threading.Lock()

    def add(self, point: Point) -> None:
        """Take the next point; its id is above that of all before."""
        with self._lock:
            self._newest.append(point)
            if len(self._newest) > self._half:
                self._let_go(self._newest.popleft())

    def _let_go(self, point: Point) -> None:
        if self._passed % self._stride == 0:
            self._older.append(point)
            if len(self._older) > self._half:
                self._older = self._older[::2]
                self._stride *= 2
        self._passed += 1

    def points(self, after: int = -1) -> list[Point]:
        """Return the points whose ids are above this one, in order."""
        with self._lock:
            kept = [*self._older, *self._newest]
        return [point for point in kept if point["id"] > after]

    def columns(self) -> dict[str, list[Any]]:
        """Return all points, column by column."""
        points = self.points()
        return {
            name: [point.get(name) for point in points] for name in (points[-1] if points else ())
        }


log = logging.getLogger("stream_llsvm")

_LATELY = 10.0  # seconds that quantiles look back
_SHARE = 50  # looking at the model may take this part of the time
_WRITTEN = 10.0  # seconds between two writes of the points
_MOST_SENT = 160  # frames a second, to all who watch together


class Latest(NamedTuple):
    """The newest frame, with the model in it."""

    id: int
    time: float
    frame: dict[str, Any]


class RecentLatency:
    """What a histogram counted in the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Counts, Counts]] = deque()

    def add(self, look: Look) -> tuple[Counts, Counts]:
        """Take a look's histograms; return what was counted lately for predicting, learning."""
        now = (look.time, look.predict.counts, look.learn.counts)
        self._seen.append(now)
        while len(self._seen) > 2 and self._seen[1][0] < look.time - _LATELY:
            self._seen.popleft()
        then = self._seen[0]
        if len(self._seen) == 1:
            return now[1], now[2]
        return since(now[1], then[1]), since(now[2], then[2])


class Builder:
    """A thread that turns looks into points and frames.

    Parameters
    ----------
    monitor
        Where the looks come from.
    feed
        Where the frames go.

    Attributes
    ----------
    history
        All points.
    latest
        The newest frame, None before somebody watched.
    order
        Held while a point and its frame become known, so that who joins misses and doubles
        nothing.

    """

    def __init__(self, monitor: Monitor, feed: Feed) -> None:
        self.monitor, self.feed = monitor, feed
        self._file: Path | None = None
        self._next_write = 0.0
        self.history = History()
        self._past: list[dict[str, Any]] = []
        self.latest: Latest | None = None
        self.order = threading.Lock()
        self.copies = ModelCopies(monitor)
        self._lately, self._view = RecentLatency(), ModelView()
        self._model: dict[str, Any] | None = None
        self._next_view = 0.0
        self._replayed: Answered | None = None
        self._last = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frames", daemon=True)

    def remember(self, file: Path, record: int | None) -> None:
        """Go on from what a file has up to a record, and keep the points there; before `start`."""
        self._file = file
        points, self._past = past.read(file, record)
        for one in points:
            self.history.add(one)

    def _write(self) -> None:
        if self._file is None or self._last == 0:
            return
        self._next_write = time.monotonic() + _WRITTEN
        events = [*self._past, *(self.monitor.look.events if self.monitor.look else ())]
        past.write(self._file, self.history.points(), events)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Build what is left to build, and end."""
        self._done.set()
        self.monitor.came.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.monitor.came.wait()
            self.monitor.came.clear()
            done = self._done.is_set()
            look = self.monitor.look
            if look is not None and look.id != self._last:
                self._last = look.id
                try:
                    self._take(look)
                except Exception:  # a fault here must not end the page
                    log.exception("a frame of the live page could not be built")
            if done or time.monotonic() >= self._next_write:
                self._write()
            if done:
                return

    def _take(self, look: Look) -> None:
        kept = point(look, *self._lately.add(look))
        if look.details is None:
            with self.order:
                self.history.add(kept)
            return
        fresh = self._seen_of_the_model(look)
        built = frame(look, kept, fresh)
        data = orjson.dumps(built)
        with self.order:
            self.history.add(kept)
            self.latest = Latest(look.id, look.time, built | {"model": self._model})
            self.feed.publish(Message(look.id, data))
        self.monitor.pace = max(OFTEN, len(self.feed) / _MOST_SENT)

    def events(self, after: int = -1) -> list[dict[str, Any]]:
        """Return the events whose ids are above this one, in order."""
        look = self.monitor.look
        known = [*self._past, *(look.events if look else ())]
        return [event(one) for one in known if one["id"] > after]

    def record(self, which: int) -> Kept | None:
        """Return one of the records whose answers are explained, None if it is none of them."""
        return self._view.record(which)

    @property
    def drawn(self) -> str | None:
        """The member whose anchors are on the map, None if there is no map."""
        drawn = (self._model or {}).get("map")
        return None if drawn is None else str(drawn["member"])

    def _seen_of_the_model(self, look: Look) -> dict[str, Any] | None:
        """Return what is to be shown of the model, None if it is not time, or there is nothing."""
        begin, worked = time.monotonic(), time.thread_time()
        over = look.status.state in OVER
        if look.details is None or not (over or begin >= self._next_view):
            return None
        recent = recent_of(look.details.recent, look.features)
        self._explain(look.details.answered)
        try:
            with self.copies.newest() as (model, _):
                seen = self._view.look(model, recent)
        except NothingLearnedError:
            return None
        cost = time.thread_time() - worked
        self._next_view = begin + max(BUSY, _SHARE * cost)
        self._model = seen or self._model
        return seen

    def _explain(self, answered: Answered | None) -> None:
        """Explain some of these answers, unless that was done."""
        if answered is None or (
            self._replayed is not None
            and answered.copied is self._replayed.copied
            and answered.number == self._replayed.number
        ):
            return
        with without_warnings():  # the run's own model has said it
            self._view.replay(restored(answered.copied.model), answered.taken)
        self._replayed = answered
