"""Looks at a run's metrics for alerts, by a thread beside it, and hands on what fires."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Self

from stream_llsvm.alerts.alert import Alert, Alerts
from stream_llsvm.alerts.delivery import Delivery
from stream_llsvm.alerts.rules import RULES, Rule
from stream_llsvm.dashboard.metrics import samples
from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.watchers import Watcher

log = logging.getLogger("stream_llsvm")

EVERY = 2.0  # seconds between two looks
_MOST_NEWS = 100


class AlertWatch(Watcher):
    """Evaluates rules over a run's metrics as long as it is a context.

    The thread that learns only notes as events what has fired meanwhile.

    Parameters
    ----------
    engine
        The run; it gets one watcher more.
    monitor
        Who looks at the run; it is told what fires.
    rules
        The rules.
    deliveries
        Who is told.

    """

    def __init__(
        self,
        engine: Engine,
        monitor: Monitor,
        rules: Sequence[Rule] = RULES,
        deliveries: Sequence[Delivery] = (),
    ) -> None:
        self._monitor, self._deliveries = monitor, deliveries
        self._alerts = Alerts(rules)
        # Steady: a clock that is set would make times of what was seen.
        self._offset = time.time() - time.monotonic()
        self._noted: dict[str, Alert] = {}
        self._news: deque[Alert] = deque(maxlen=_MOST_NEWS)
        monitor.alerts = dict.fromkeys(rule.name for rule in self._alerts.rules)
        engine.watchers.append(self)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="alerts", daemon=True)

    def __enter__(self) -> Self:
        for one in self._deliveries:
            one.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._take()  # of what the run has ended
        for one in self._deliveries:
            one.leave()
        for one in self._deliveries:
            one.close()

    def on_turn(self, engine: Engine) -> None:
        """Note what is new."""
        while self._news:
            alert = self._news.popleft()
            name = alert.rule.name
            if alert.until is None:
                engine.progress.note("alert", f"{name}: {alert.rule.text(alert.value)}")
            else:
                seconds = alert.until - alert.since
                engine.progress.note("alert resolved", f"{name}, after {seconds:,.0f} s")

    def _work(self) -> None:
        while not self._done.wait(EVERY):
            try:
                self._take()
            except Exception:  # a fault here must not end the watch
                log.exception("alerts could not be looked for")

    def _take(self) -> None:
        look = self._monitor.look
        if look is None:
            return
        now = samples(look, self._monitor.silent_for)
        moment = time.monotonic() + self._offset
        self._alerts.take(moment, now)
        last = self._alerts.last
        self._monitor.alerts = {rule.name: last.get(rule.name) for rule in self._alerts.rules}
        for name, one in last.items():
            before = self._noted.get(name)
            if before is None or (before.since, before.until) != (one.since, one.until):
                self._noted[name] = one
                self._news.append(one)
        for delivery in self._deliveries:
            delivery.update(last.values())
