"""Asks a source how far behind it is, by a thread beside the run."""

from __future__ import annotations

import logging
import threading
from typing import Self

from stream_llsvm.connectors.base import Lagging, Source
from stream_llsvm.dashboard.monitor import Monitor

log = logging.getLogger("stream_llsvm")

_EVERY = 1.0


class LagWatch:
    """Tells a monitor how far behind a source is, as long as it is a context.

    Parameters
    ----------
    source
        Who is asked, if it can say.
    monitor
        Who is told.

    """

    def __init__(self, source: Source, monitor: Monitor) -> None:
        self._source, self._monitor = source, monitor
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="lag", daemon=True)

    def __enter__(self) -> Self:
        if isinstance(self._source, Lagging):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()  # a source may take long to answer: nobody waits for it

    def _work(self) -> None:
        assert isinstance(self._source, Lagging)
        told = False
        while not self._done.wait(_EVERY):
            try:
                self._monitor.lag = self._source.lag()
            except Exception as error:  # the source may be closed any moment
                if not (told or self._done.is_set()):
                    log.warning("the source does not say how far behind it is: %s", error)
                    told = True
