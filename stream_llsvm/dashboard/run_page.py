"""All that stands behind the page of one run, whoever serves it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from stream_llsvm.connectors.base import Lagging
from stream_llsvm.dashboard.app import Page
from stream_llsvm.dashboard.builder import Builder
from stream_llsvm.dashboard.health import Readiness
from stream_llsvm.dashboard.lag import LagWatch
from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.dashboard.recorder import past, recorder
from stream_llsvm.dashboard.sse import Feed
from stream_llsvm.engine.engine import Engine
from stream_llsvm.history.writer import HistoryWriter


class RunPage:
    """Looks at a run, as long as it is a context, and answers what is asked of it.

    Parameters
    ----------
    engine
        What runs; it gets one watcher more.
    history
        The file that keeps the run's history, if any does; the page begins with what is in it.
    ready_lag
        How many records the run may be behind its source and be ready; None: any number.
    name
        What the run is called, where there are several.

    Raises
    ------
    ValueError
        If the source cannot say how far behind it is, and must.

    """

    def __init__(
        self,
        engine: Engine,
        history: Path | None = None,
        ready_lag: int | None = None,
        name: str = "",
    ) -> None:
        if ready_lag is not None and not isinstance(engine.source, Lagging):
            raise ValueError(
                f"ready_lag: {engine.source.name} does not say how far behind it is: leave it out"
            )
        self.monitor, self.feed = Monitor(name=name), Feed()
        self.builder = Builder(self.monitor, self.feed)
        self.readiness = Readiness(self.monitor, ready_lag)
        self.page = Page(self.builder, self.readiness)
        engine.watchers.append(self.monitor)
        self._lag_watch = LagWatch(engine.source, self.monitor)
        self._recorder: HistoryWriter | None = None
        if history is not None:
            self.builder.remember(*past(history, engine))
            self._recorder = recorder(engine, self.monitor, history)

    def __enter__(self) -> Self:
        self.builder.start()
        self._lag_watch.__enter__()
        if self._recorder is not None:
            self._recorder.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lag_watch.__exit__()
        if self._recorder is not None:
            self._recorder.__exit__()
        self.builder.close()
        self.feed.close()
