"""A reader behind HTTP: it answers with the newest model that a run publishes, and learns nothing.

Addresses and bodies are those of the page's `/api/predict` and `/api/explain`; `/v1/records` and
`/v1/explain` are the same, as a server that learns has them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from stream_llsvm.dashboard import api
from stream_llsvm.dashboard.model_copy import NothingLearnedError
from stream_llsvm.dashboard.questions import Questions, json_answer, routed
from stream_llsvm.dashboard.rights import (
    ADMIN,
    LEARN,
    NONE,
    PREDICT,
    Address,
    Guard,
    Rights,
    declared,
)
from stream_llsvm.dashboard.server import (
    ClosingServer,
    check_access,
    listening,
    name_of,
    server_config,
)
from stream_llsvm.engine.snapshots import Snapshot

log = logging.getLogger("stream_llsvm")

_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class Lent:
    """A model to ask.

    Parameters
    ----------
    snapshot
        What was published.

    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @contextmanager
    def newest(self) -> Iterator[tuple[Any, int]]:
        """Lend it, and say how many records it has learned."""
        yield self._snapshot.model, self._snapshot.learned or 0


class Reader:
    """Answers questions over HTTP, as long as it is a context.

    Parameters
    ----------
    host, port
        Where it listens; port 0 takes any that is free.
    token
        What those who ask must know. Without one, only this machine can ask.

    Attributes
    ----------
    snapshot
        The model that answers; set it to let another one answer from then on.

    """

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        check_access(host, token)
        self.snapshot: Snapshot | None = None
        self._one = threading.Lock()  # a model answers one question at a time
        self._questions = Questions()
        self._socket = listening(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.address = f"http://{name_of(host)}:{self.port}/"
        self._server = ClosingServer(server_config(self._app(token)))
        self._thread = threading.Thread(target=self._serve, name="reader", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:
            log.exception("the reader has ended")

    def _app(self, token: str | None) -> ASGIApp:
        predict = [f"{begin}/predict" for begin in ("", "/api")] + ["/v1/records"]
        explain = [f"{begin}/explain" for begin in ("", "/api", "/v1")]
        addresses = declared(
            [
                *(Address("POST", path, PREDICT, self._predict) for path in predict),
                *(Address("POST", path, PREDICT, self._explain) for path in explain),
                Address("POST", "/v1/labels", LEARN, self._labels),
                Address("GET", "/healthz", NONE, self._health),
            ]
        )
        rights = Rights({} if token is None else {token: ADMIN}, f"stream_llsvm_{self.port}")
        return Guard(routed(addresses), addresses, rights, _HEADERS)

    async def _predict(self, request: Request) -> Response:
        return await self._questions.answered(request, partial(self._told, api.predict))

    async def _explain(self, request: Request) -> Response:
        explain = partial(api.explain, drawn=None)
        return await self._questions.answered(request, partial(self._told, explain))

    def _told(self, answer: Any, asked: Any) -> dict[str, Any]:
        """Answer, and say which model that was, and how old it is."""
        with self._one:
            snapshot = self.snapshot
            if snapshot is None:
                raise NothingLearnedError("no model has been published yet")
            told: dict[str, Any] = answer(Lent(snapshot), asked)
        return told | _which(snapshot)

    async def _labels(self, request: Request) -> Response:
        raise HTTPException(
            405, "this is a reader, which learns nothing: send labels to who learns", {"Allow": ""}
        )

    async def _health(self, request: Request) -> Response:
        newest = self.snapshot
        state = "waiting for a model" if newest is None else "answering"
        told = {"ok": newest is not None, "state": state}
        return json_answer(told | _which(newest), 503 if newest is None else 200)


def _which(snapshot: Snapshot | None) -> dict[str, Any]:
    """Return what tells models apart, and how old this one is, in seconds."""
    if snapshot is None:
        return {}
    age = round(max(0.0, time.time() - snapshot.time), 3)
    return {"records_learned": snapshot.learned, "model_age": age}
