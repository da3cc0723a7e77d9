"""All that stands behind the page of one run, whoever serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from stream_llsvm.alerts.delivery import Delivery
from stream_llsvm.alerts.rules import RULES, Rule
from stream_llsvm.dashboard.alert_watch import AlertWatch
from stream_llsvm.dashboard.app import Page
from stream_llsvm.dashboard.builder import Builder
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
    rules, deliveries
        The rules of alerts, and who is told of them.

    """

    def __init__(
        self, engine: Engine, rules: Sequence[Rule] = RULES, deliveries: Sequence[Delivery] = ()
    ) -> None:
        self.monitor, self.feed = Monitor(), Feed()
        self.builder = Builder(self.monitor, self.feed)
        self.page = Page(self.builder)
        engine.watchers.append(self.monitor)
        self._lag_watch = LagWatch(engine.source, self.monitor)
        self._alert_watch = AlertWatch(engine, self.monitor, rules, deliveries)

    def __enter__(self) -> Self:
        self.builder.start()
        self._lag_watch.__enter__()
        self._alert_watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lag_watch.__exit__()
        self._alert_watch.__exit__()
        self.builder.close()
        self.feed.close()
