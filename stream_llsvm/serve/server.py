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
from typing import Any

import uvloop
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stream_llsvm.dashboard.guard import is_loopback
from stream_llsvm.dashboard.server import ClosingServer, DashboardError, listening, name_of
from stream_llsvm.serve.app import BODY, App
from stream_llsvm.serve.rights import Rights
from stream_llsvm.serve.served import ServedModel

log = logging.getLogger("stream_llsvm")

PORT = 8766
MOST = 2_000  # connections
HEAD = 65_536  # bytes of a request before its body
_SLOW = 30.0  # seconds for a request to come whole
_IDLE = 75  # seconds that a connection may say nothing
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
        What each token may: ``predict``, ``learn`` (which brings predict) or ``admin`` (all).
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
        most_bytes: int = BODY,
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
        config = _config(self.app, certificate, key)
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            raise ServerError(f"TLS: {certificate}, {key}: {error}") from None
        self._server = ClosingServer(config)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin to serve; return when requests are taken."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Answer what has come, learn all that was acknowledged, write checkpoints, and return."""
        self.app.closing = True
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
        """Hang up on those whose requests do not come."""
        while True:
            await asyncio.sleep(1.0)
            late = time.monotonic() - _SLOW
            for one in list(self._server.server_state.connections):
                if isinstance(one, TimedProtocol) and one.since < late:
                    one.transport.close()


def _config(app: Any, certificate: Path | None, key: Path | None) -> Config:
    allowed = min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    return Config(
        app,
        http=TimedProtocol,
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
        limit_concurrency=allowed,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
    )


class TimedProtocol(HttpToolsProtocol):
    """HTTP that notes since when a request is coming, and takes no endless heads."""

    since = float("inf")
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        plain = transport.get_extra_info("socket")
        if plain is not None:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._head >= 0:
            self._head += len(data)
        super().data_received(data)
        if self._head > HEAD and not self.transport.is_closing():
            self.transport.close()

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self.since = time.monotonic()
        self._head = 0

    def on_headers_complete(self) -> None:
        """Note that a head is whole."""
        self._head = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        self.since = float("inf")
        super().on_message_complete()
