"""The copy of the model that those who ask are answered by, never the model that learns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from river import base

from stream_llsvm.dashboard.monitor import Monitor
from stream_llsvm.dashboard.sequel import Copied
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.saving import from_payload


class NothingLearnedError(Exception):
    """There is no model to ask yet."""


class Copies:
    """Makes a model of what the monitor copied, once for all who use it, one at a time.

    Parameters
    ----------
    monitor
        Who copies.

    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._lock = threading.Lock()
        self._made: tuple[Copied, base.Classifier] | None = None

    @contextmanager
    def newest(self) -> Iterator[tuple[base.Classifier, int]]:
        """Lend the newest copy, and say how many records it has learned."""
        with self._lock:
            copied = self._monitor.copied
            if copied is None:
                raise NothingLearnedError("nothing has been learned yet")
            if self._made is None or self._made[0] is not copied:
                self._made = copied, restored(copied.model)
            model = self._made[1]
            # One that came with what it knows has learned nothing in this run.
            knows = model._memory is not None if isinstance(model, LocalClassifier) else True
            if not knows or (copied.learned == 0 and not isinstance(model, LocalClassifier)):
                raise NothingLearnedError("nothing has been learned yet")
            yield model, copied.learned


def restored(copied: Any) -> Any:
    """Return the model that was copied."""
    return from_payload(copied) if isinstance(copied, dict) else copied
