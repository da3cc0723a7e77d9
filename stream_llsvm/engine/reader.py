"""Read ahead: a thread polls and decodes the next batches while the last is being learned."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from typing import Self

from stream_llsvm.connectors.base import Batch, Source

_AHEAD = 2  # batches
_IDLE = 0.2  # seconds between two looks at whether to stop


class _Turn:
    """Stands among the batches where the loop is to turn without one."""


class ReadAhead:
    """The batches of a source, in order; use it as a context, so that its thread ends.

    Parameters
    ----------
    source
        What is read. Only this thread may touch it meanwhile.
    max_batch
        How many records are polled at once.
    most
        How many are polled in all; None for as many as come.

    Attributes
    ----------
    ended
        Whether the source has ended and all of it was handed out.
    left
        How many batches were polled and not handed out. If it is left by an error, the one handed
        out last is among them: nobody asked for the next.

    """

    def __init__(self, source: Source, max_batch: int, most: int | None = None) -> None:
        self._source, self._max_batch = source, max_batch
        self._wanted = sys.maxsize if most is None else most
        # Two simple queues cost a sixth of one that is bounded, whose locks are taken in Python.
        self._ready: queue.SimpleQueue[Batch | Exception | _Turn | None] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_AHEAD):
            self._room.put(None)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, name="reader", daemon=True)
        self._polled = self._handed = self._finished = 0
        self.ended = False
        self.left = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._done.set()
        self._room.put(None)  # it may be waiting for that
        self._thread.join()
        self.left = self._polled - (self._handed if error is None else self._finished)

    def next(self) -> Batch | None:
        """Return the next batch; None if none came within a moment, at a `wake`, or at the end.

        What went wrong in the source is raised here.
        """
        self._finished = self._handed
        try:
            batch = self._ready.get(timeout=_IDLE)
        except queue.Empty:
            return None
        if isinstance(batch, _Turn):
            return None
        self._room.put(None)
        if isinstance(batch, Exception):
            raise batch
        self.ended = batch is None
        self._handed += 1
        return batch

    def wake(self) -> None:
        """Let `next` return without a batch; safe to call from any thread."""
        self._ready.put(_Turn())

    def _read(self) -> None:
        try:
            while self._wanted > 0 and not self._done.is_set():
                batch = self._source.poll(min(self._max_batch, self._wanted), _IDLE)
                if batch is not None:
                    self._wanted -= len(batch) + len(batch.rejected)
                    self._polled += 1
                    self._put(batch)
                elif self._source.ended:
                    self._polled += 1
                    self._put(None)
                    return
        except Exception as error:
            self._put(error)

    def rest(self) -> Iterator[Batch]:
        """Yield what was polled and not handed out, when it has been left without an error."""
        while not self._ready.empty():
            item = self._ready.get()
            if isinstance(item, _Turn):
                continue
            self._handed += 1
            if isinstance(item, Exception):
                raise item
            if item is not None:
                yield item
        self.left = 0

    def _put(self, item: Batch | Exception | None) -> None:
        while not self._done.is_set():
            try:
                self._room.get(timeout=_IDLE)
            except queue.Empty:
                continue
            break
        self._ready.put(item)
