"""The HTTP server: one loop in a thread of its own, over all models."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import uvloop
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stream_llsvm import limits
from stream_llsvm.dashboard.guard import is_loopback
from stream_llsvm.dashboard.rights import Rights
from stream_llsvm.dashboard.server import ClosingServer, DashboardError, listening, name_of
from stream_llsvm.serve.app import App
from stream_llsvm.serve.served import ServedModel

log = logging.getLogger("stream_llsvm")

PORT = 8766
_FAREWELL = 0.5  # seconds in which requests are told that the server ends; then nobody answers
GRACE = 30  # seconds for requests that are being answered when the server ends


class ServerError(Exception):
    """It cannot be served; the text says why, in one line."""


class Server:
    """Serves models from `start` to `stop`.

    Parameters
    ----------
    models
        The models; they begin to learn with the server.
    host, port
        Where it listens; port 0 takes any that is free.
    tokens
        What each token may: ``predict``, ``learn`` (which brings predict), ``look`` or ``admin``.
        Without any only this machine can ask.
    certificate, key
        Files, for TLS; both or none.
    most_bytes
        Of a request's body.

    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        tokens: Mapping[str, str] | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        most_bytes: int = limits.BODY_BYTES,
    ) -> None:
        if not tokens and not is_loopback(host):
            raise ServerError(f"{host} can be reached from other machines, so tokens are needed")
        if (certificate is None) != (key is None):
            raise ServerError("TLS needs a certificate and its key: --tls-cert and --tls-key")
        try:
            self._socket = listening(host, port)
        except DashboardError as error:
            raise ServerError(str(error)) from None
        self.port = int(self._socket.getsockname()[1])
        self.models = list(models)
        scheme = "http" if certificate is None else "https"
        self.address = f"{scheme}://{name_of(host)}:{self.port}/"
        try:
            rights = Rights(tokens or {}, f"stream_llsvm_{self.port}")
        except ValueError as error:
            raise ServerError(str(error)) from None
        self.app = App(self.models, rights, most_bytes)
        most = min(limits.CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        config = _config(self.app, certificate, key, most)
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            raise ServerError(f"TLS: {certificate}, {key}: {error}") from None
        self._server = ClosingServer(config)
        self.app.connections, self.app.most = self._server.server_state.connections, most
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin to serve; return when requests are taken."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Answer what has come, learn all that was acknowledged, write checkpoints, and return."""
        self.app.closing = True
        time.sleep(_FAREWELL)
        self._server.should_exit = True
        self._thread.join()
        for model in self.models:
            model.close()

    def _serve(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._main())
        except Exception:
            log.exception("the server has ended")
        finally:
            self._ready.set()

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        for model in self.models:
            model.start(loop)
        loop.call_soon(self._ready.set)
        sweep = loop.create_task(self._sweep())
        await self._server.serve(sockets=[self._socket])
        sweep.cancel()

    async def _sweep(self) -> None:
        """Hang up on those whose requests do not come, or who do not read their answers."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for one in list(self._server.server_state.connections):
                if isinstance(one, TimedProtocol):
                    one.sweep(now)


def _config(app: Any, certificate: Path | None, key: Path | None, most: int) -> Config:
    return Config(
        app,
        http=type("LimitedProtocol", (TimedProtocol,), {"most": most, "waiting": {}}),
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
    )


class _TooManyError(Exception):
    """More requests were sent ahead than one connection may."""


class TimedProtocol(HttpToolsProtocol):
    """HTTP bounded in connections, heads, requests sent ahead, seconds, and answers not read.

    A connection waits while nobody works for it: its request has not come, or its answer is not
    read. Where there are too many, the one that has waited longest makes way.
    """

    most = limits.CONNECTIONS
    waiting: ClassVar[dict[TimedProtocol, None]] = {}  # of one server, in order
    since = float("inf")
    _head = 0
    _unread, _stuck_since = 0, float("inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        plain = transport.get_extra_info("socket")
        if plain is not None:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = time.monotonic()
        self.waiting[self] = None
        if len(self.connections) > self.most:
            self._make_way()

    def _make_way(self) -> None:
        """Hang up on who has waited longest; on oneself only if nobody else waits, at the last."""
        oldest = next(iter(self.waiting))
        if oldest is not self or len(self.connections) > self.most + limits.SPARE_CONNECTIONS:
            del self.waiting[oldest]
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._head >= 0:
            self._head += len(data)
        super().data_received(data)
        if self._head > limits.HEAD_BYTES and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless the connection is closed for another reason."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self.since = time.monotonic()
        self._head = 0

    def on_headers_complete(self) -> None:
        """Note that a head is whole."""
        if len(self.pipeline) >= limits.PIPELINED:
            self.transport.close()
            raise _TooManyError  # which ends the parsing of what else was sent ahead
        self._head = -1
        self.waiting.pop(self, None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        self.since = float("inf")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it was sent ahead."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self.waiting[self] = None

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting.pop(self, None)

    def sweep(self, now: float) -> None:
        """Hang up if a request is not coming, or its answer not read."""
        if self.since < now - limits.REQUEST_SECONDS:
            self.transport.close()
        unread = self.transport.get_write_buffer_size()
        if unread == 0 or unread != self._unread:
            self._unread, self._stuck_since = unread, now
        elif self._stuck_since < now - limits.UNREAD_SECONDS:
            self.transport.abort()
