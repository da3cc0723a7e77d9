"""Frames for those who watch: each has a short queue, and who is slow loses the oldest."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_QUEUE = 4


class Message(NamedTuple):
    """A frame: its id, and the bytes that all who watch are sent."""

    id: int
    data: bytes


class Subscriber:
    """One who watches. Only the server's loop touches it."""

    def __init__(self) -> None:
        self._queue: deque[Message] = deque(maxlen=_QUEUE)
        self._came = asyncio.Event()
        self.closed = self.dropped = False

    def give(self, message: Message) -> None:
        """Queue a frame; the oldest makes room."""
        self.dropped = self.dropped or len(self._queue) == _QUEUE
        self._queue.append(message)
        self._came.set()

    def close(self) -> None:
        """Let `next` return None once the queue is empty."""
        self.closed = True
        self._came.set()

    async def next(self, timeout: float) -> Message | None:
        """Return the next frame; None if none came in time, or none will."""
        if not self._queue and not self.closed:
            try:
                await asyncio.wait_for(self._came.wait(), timeout)
            except TimeoutError:
                return None
        if not self._queue:
            return None
        message = self._queue.popleft()
        if not self._queue and not self.closed:
            self._came.clear()
        return message


class Feed:
    """All who watch. Frames may be published from any thread."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._subscribers)

    def join(self) -> Subscriber:
        """Add one who watches; called in the server's loop."""
        self._loop = asyncio.get_running_loop()
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        if self._closed:
            subscriber.close()
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Forget one who watched."""
        self._subscribers.discard(subscriber)

    def publish(self, message: Message) -> None:
        """Give a frame to all; returns at once."""

        def give() -> None:
            for one in self._subscribers:
                one.give(message)

        self._call(give)

    def close(self) -> None:
        """Let all finish what they have queued, and leave."""
        self._closed = True

        def close() -> None:
            for one in self._subscribers:
                one.close()

        self._call(close)

    def _call(self, what: Callable[[], object]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(what)
