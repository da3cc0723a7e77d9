"""Server-sent events: what was missed, then frames as they come, and a sign of life between."""

from __future__ import annotations

import asyncio
import contextlib

import orjson
from starlette.types import Receive, Scope, Send

from stream_llsvm.dashboard.building import Builder
from stream_llsvm.dashboard.feed import Subscriber

_ALIVE = 2.0  # seconds without a frame
_STUCK = 60.0  # seconds for which somebody may not read; what was sent waits in the kernel
_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class Events:
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
