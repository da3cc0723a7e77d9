"""The live page of a run, served by a thread beside it."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import threading
from pathlib import Path
from typing import Any, Self

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from stream_llsvm.dashboard.guard import checked_token, is_loopback
from stream_llsvm.dashboard.rights import ADMIN, Rights
from stream_llsvm.dashboard.run_page import RunPage
from stream_llsvm.engine.engine import Engine

log = logging.getLogger("stream_llsvm")

PORT = 8765
MOST = 1_000  # connections
_BEYOND = 50  # more that are told so; the rest are hung up on
_REQUEST_TIMEOUT = 10.0  # seconds for a request to come
_SEND_BUFFER = 128 * 1024  # bytes
_GRACE = 1  # seconds for clients to be sent the last frame


class DashboardError(Exception):
    """The page cannot be served; the text says why, in one line."""


class NoTokenError(DashboardError):
    """Others could look, and nothing keeps them out."""


class Dashboard:
    """Shows a run, as long as it is a context.

    Parameters
    ----------
    engine
        What runs; it gets one watcher more.
    host, port
        Where the page is; port 0 takes any that is free.
    token
        What those who look must know. Without one, only this machine can look.
    past
        The file that keeps the page's points, so that after a restart its charts go on.
    ready_lag
        How many records the run may be behind its source and be ready (`/readyz`); None: any
        number.

    Examples
    --------
    >>> from stream_llsvm import Engine, LLSVMClassifier
    >>> from stream_llsvm.connectors import ListSource
    >>> from stream_llsvm.dashboard.server import Dashboard
    >>> records = [{"x": float(i % 7), "y": i % 7 > 3} for i in range(500)]
    >>> engine = Engine(ListSource(records, label="y"), LLSVMClassifier())
    >>> with Dashboard(engine, port=0) as page:
    ...     report = engine.run()
    >>> page.address
    'http://127.0.0.1:.../'

    """

    def __init__(
        self,
        engine: Engine,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        token: str | None = None,
        past: Path | None = None,
        ready_lag: int | None = None,
    ) -> None:
        check_access(host, token)
        try:
            self._run_page = RunPage(engine, past, ready_lag)
        except ValueError as error:
            raise DashboardError(str(error)) from None
        self._socket = listening(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.address = f"http://{name_of(host)}:{self.port}/"
        self.monitor, self.feed = self._run_page.monitor, self._run_page.feed
        self.builder = self._run_page.builder
        rights = Rights({} if token is None else {token: ADMIN}, f"stream_llsvm_{self.port}")
        self._server = ClosingServer(server_config(self._run_page.page.app(rights)))
        self._server_thread = threading.Thread(target=self._serve, name="page", daemon=True)

    def __enter__(self) -> Self:
        self._run_page.__enter__()
        self._server_thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run_page.__exit__()
        self._server.should_exit = True
        self._server_thread.join()

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:
            log.exception("the live page has ended")


def check_access(host: str, token: str | None) -> None:
    """Raise DashboardError if others could look, and no token, or a bad one, keeps them out."""
    if token is not None:
        try:
            checked_token(token)
        except ValueError as error:
            raise DashboardError(str(error)) from None
    elif not is_loopback(host):
        raise NoTokenError(
            f"{host} can be reached from other machines, so the page needs a token there"
        )


def name_of(host: str) -> str:
    """Return what stands for a host in an address: of all a machine's own, its name."""
    if host in ("", "0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there. Raises DashboardError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=MOST)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise DashboardError(f"{host}:{port} cannot be listened to: {why}") from None
    # What the system keeps for a client that does not read; connections have it from here.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return listening


def server_config(app: Any) -> Config:
    """Return how an application is served: bounded in connections, heads and seconds."""
    allowed = min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    return Config(
        app,
        http=type("LimitedProtocol", (TimedProtocol,), {"most": allowed + _BEYOND}),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=allowed + 1,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=16_384,
    )


class ClosingServer(Server):
    """A server that hangs up at the end on those who have not had their last frame."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0.01)  # for them to be told


class TimedProtocol(H11Protocol):
    """HTTP that hangs up on those who say nothing, and on the many."""

    most = MOST + _BEYOND
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are far too many."""
        # Else an answer waits for the client to acknowledge its head: 40 ms, by Nagle's algorithm.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
            return
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request: it may take no longer than the first."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        if self._waiting is not None:
            self._waiting.cancel()

    def _wait(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(_REQUEST_TIMEOUT, self._hang_up)

    def _hang_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
