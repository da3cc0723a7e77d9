"""The server-sent events: each who watches has a short queue, and who is slow loses the oldest.

What was missed comes first, then frames as they come, and a sign of life between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import orjson
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from stream_llsvm.dashboard.builder import Builder


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


_ALIVE = 2.0  # seconds without a frame
_STUCK = 60.0  # seconds for which somebody may not read; what was sent waits in the kernel
_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class EventStream:
    """An answer that goes on until the client leaves, or the page is closed.

    Parameters
    ----------
    builder
        Where frames and points come from.
    last
        The id of the last message that the client has had, None if it has had none.

    """

    def __init__(self, builder: Builder, last: int | None) -> None:
        self._builder, self._last = builder, last
        self._framed = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        feed, monitor = self._builder.feed, self._builder.monitor
        subscriber = feed.join()
        monitor.watch(len(feed))
        left = asyncio.create_task(_left(receive, subscriber))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._send(send, self._first())
            while (chunk := await self._next(subscriber)) is not None:
                await self._send(send, chunk)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:  # it does not read any more
            pass
        finally:
            feed.leave(subscriber)
            monitor.watch(len(feed))
            left.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await left

    async def _send(self, send: Send, chunk: bytes) -> None:
        body = {"type": "http.response.body", "body": chunk, "more_body": True}
        await asyncio.wait_for(send(body), _STUCK)

    def _first(self) -> bytes:
        """Return what a client starts with: what it missed, and the newest frame if that is new."""
        with self._builder.order:
            points, latest = self._builder.history.points(-1), self._builder.latest
        newest = points[-1]["id"] if points else -1
        parts = [b"retry: 1000\n\n"]
        if self._last is not None:
            shown = latest is not None and latest.id == newest
            parts.append(self._missed(newest - 1 if shown else newest))
        self._last = newest
        if latest is not None and latest.id == newest:
            parts.append(_message(b"frame", latest.id, orjson.dumps(latest.frame)))
            self._framed = latest.id
        return b"".join(parts)

    def _missed(self, until: int) -> bytes:
        after = -1 if self._last is None else self._last
        points = [one for one in self._builder.history.points(after) if one["id"] <= until]
        missed = {"points": points, "events": self._builder.events(after)}
        return _message(b"missed", max(after, until), orjson.dumps(missed))

    async def _next(self, subscriber: Subscriber) -> bytes | None:
        message = await subscriber.next(_ALIVE)
        if message is None:
            return None if subscriber.closed else b": alive\n\n"
        if message.id <= self._framed:
            return b": alive\n\n"
        dropped, subscriber.dropped = subscriber.dropped, False
        before = self._missed(message.id - 1) if dropped else b""
        self._last = self._framed = message.id
        return before + _message(b"frame", message.id, message.data)


async def _left(receive: Receive, subscriber: Subscriber) -> None:
    """Close the subscriber when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    subscriber.close()


def _message(kind: bytes, number: int, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind, data)
