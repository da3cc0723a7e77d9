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
from stream_llsvm.dashboard.sse import Feed
from stream_llsvm.engine.engine import Engine


class RunPage:
    """Looks at a run, as long as it is a context, and answers what is asked of it.

    Parameters
    ----------
    engine
        What runs; it gets one watcher more.
    past
        The file that keeps the page's points, so that after a restart its charts go on.
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
        past: Path | None = None,
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
        if past is not None:
            goes_on = any(one["kind"] == "continued" for one in engine.progress.events)
            self.builder.remember(past, engine.progress.counts["records"] if goes_on else None)

    def __enter__(self) -> Self:
        self.builder.start()
        self._lag_watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lag_watch.__exit__()
        self.builder.close()
        self.feed.close()
