"""The page's addresses, what each answers, and the files of the page."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterable, Mapping
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from stream_llsvm.dashboard import api
from stream_llsvm.dashboard.builder import Builder
from stream_llsvm.dashboard.guard import check_origin, policy
from stream_llsvm.dashboard.health import Readiness, alive, state_of
from stream_llsvm.dashboard.metrics import CONTENT_TYPE, Counters, Family, metrics, written
from stream_llsvm.dashboard.model_copy import ModelCopies
from stream_llsvm.dashboard.monitor import OVER
from stream_llsvm.dashboard.questions import Questions, json_answer, routed
from stream_llsvm.dashboard.rights import ADMIN, LOOK, NONE, Address, Guard, Rights, declared
from stream_llsvm.dashboard.sse import EventStream
from stream_llsvm.engine.requests import RequestError
from stream_llsvm.model.file import dumps

_FRESH = 2.0  # seconds; looks are up to 1 s apart
_WAIT = 2.0  # seconds for the run to look
_AGAIN = 0.05
PATIENCE = 60.0  # seconds for the run to do what it is asked: a batch may take long
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


class File(NamedTuple):
    """A file of the page."""

    content: bytes
    type: str
    tag: str


def static_files() -> dict[str, File]:
    """Return the page's files by name."""
    folder = resources.files("stream_llsvm.dashboard") / "static"
    found = {}
    for one in folder.iterdir() if folder.is_dir() else ():
        kind = _TYPES.get("." + one.name.rpartition(".")[2])
        if kind is not None and one.is_file():
            content = one.read_bytes()
            found[one.name] = File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


def metrics_answer(models: Iterable[Mapping[str, Family]]) -> Response:
    """Return the metrics of one model, or of several, as Prometheus reads them."""
    headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
    return Response(written(models), headers=headers)


class Page:
    """Answers what is asked about a run.

    Parameters
    ----------
    builder
        Who knows the run.
    readiness
        Who knows what is missing for it to do its work.

    """

    def __init__(self, builder: Builder, readiness: Readiness) -> None:
        self._builder, self._monitor = builder, builder.monitor
        self._counters: Counters | None = None
        self._readiness = readiness
        # Of its own: the other is held for milliseconds whenever the page is drawn.
        self._answering = ModelCopies(builder.monitor)
        self._questions = Questions()
        self._files = static_files()
        index = self._files.get("index.html")
        self.addresses = declared(self._addresses())
        self.routes = routed(self.addresses)
        self.policy = policy(b"" if index is None else index.content)

    def app(self, rights: Rights) -> ASGIApp:
        """Return it as an application, guarded."""
        headers = {
            "Content-Security-Policy": self.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        return Guard(self.routes, self.addresses, rights, headers)

    def _addresses(self) -> list[Address]:
        return [
            Address("GET", "/", LOOK, self._index),
            Address("GET", "/static/{name}", LOOK, self._static),
            Address("GET", "/events", LOOK, self._events),
            Address("GET", "/api/snapshot", LOOK, self._snapshot),
            Address("GET", "/api/history", LOOK, self._history),
            Address("GET", "/healthz", NONE, self._health),
            Address("GET", "/readyz", NONE, self._ready),
            Address("GET", "/metrics", LOOK, self._metrics),
            Address("GET", "/api/model", LOOK, self._model),
            Address("POST", "/api/predict", LOOK, self._predict),
            Address("POST", "/api/explain", LOOK, self._explain),
            Address("GET", "/api/records/{number:int}", LOOK, self._record),
            Address("POST", "/api/promote", ADMIN, self._promote),
            Address("POST", "/api/checkpoint", ADMIN, self._checkpoint),
        ]

    async def _index(self, request: Request) -> Response:
        return self._file("index.html", request)

    async def _static(self, request: Request) -> Response:
        return self._file(request.path_params["name"], request)

    def _file(self, name: str, request: Request) -> Response:
        file = self._files.get(name)
        if file is None:
            raise HTTPException(404, "there is no such file")
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers | {"Content-Type": file.type})

    async def _events(self, request: Request) -> Any:
        last = request.headers.get("last-event-id", request.query_params.get("last"))
        known = last is not None and last.isascii() and last.isdigit() and len(last) < 20
        return EventStream(self._builder, int(last) if known and last is not None else None)

    async def _snapshot(self, request: Request) -> Response:
        await self._fresh()
        latest = self._builder.latest
        if latest is None:
            raise HTTPException(409, "there is nothing to show yet")
        return json_answer(latest.frame)

    async def _history(self, request: Request) -> Response:
        return json_answer(
            {"points": self._builder.history.columns(), "events": self._builder.events()}
        )

    async def _health(self, request: Request) -> Response:
        told = alive(self._monitor)
        return json_answer(told, 200 if told["ok"] else 503)

    async def _ready(self, request: Request) -> Response:
        missing = self._readiness.missing()
        told = {"ready": not missing, "state": state_of(self._monitor), "not_ready": missing}
        return json_answer(told, 503 if missing else 200)

    async def _metrics(self, request: Request) -> Response:
        return metrics_answer([self.metrics()])

    def metrics(self) -> dict[str, Family]:
        """Return the run's metrics, of a named model with that as a label; none before it began."""
        monitor = self._monitor
        if monitor.look is None or monitor.first is None:
            return {}
        self._counters = self._counters or Counters(monitor.first)
        return metrics(monitor.look, monitor.silent_for, monitor.name, counters=self._counters)

    async def _model(self, request: Request) -> Response:
        """Send the model as a file, unless who asks has it; its tag is how much it had learned."""
        await self._fresh(model=True)
        copied = self._monitor.copied
        if copied is None or not isinstance(copied.model, dict):
            raise HTTPException(409, "there is no model that can be sent")
        if self._monitor.keyed:
            raise HTTPException(409, "a model for each key is not sent: publish it to a folder")
        tag = f'"{copied.learned}"'
        age = max(0.0, time.time() - copied.time)
        headers = {"ETag": tag, "Age": f"{age:.3f}", "Cache-Control": "no-store"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        content = await run_in_threadpool(dumps, copied.model)
        return Response(content, headers=headers | {"Content-Type": "application/octet-stream"})

    async def _predict(self, request: Request) -> Response:
        predict = partial(api.predict, self._answering)
        return await self._questions.answered(request, predict, self._fresh_model)

    async def _explain(self, request: Request) -> Response:
        return await self._questions.answered(request, self._explained, self._fresh_model)

    def _explained(self, asked: Any) -> dict[str, Any]:
        return api.explain(self._builder.copies, asked, self._builder.drawn)

    async def _promote(self, request: Request) -> Response:
        return await self._done(request, "promote")

    async def _checkpoint(self, request: Request) -> Response:
        return await self._done(request, "checkpoint")

    async def _done(self, request: Request, do: str) -> Response:
        """Let the run do something between two records, and tell what came of it."""
        check_origin(request.headers)
        try:
            name = api.name_in(await self._questions.asked(request))
        except api.WrongQuestionError as error:
            raise HTTPException(400, str(error)) from None
        try:
            async with asyncio.timeout(PATIENCE):
                told = await asyncio.wrap_future(self._monitor.ask(do, name))
        except RequestError as error:
            raise HTTPException(409, str(error)) from None
        except TimeoutError:
            raise HTTPException(504, f"the run has not answered for {PATIENCE:g} s") from None
        return json_answer({"text": told})

    async def _record(self, request: Request) -> Response:
        kept = self._builder.record(request.path_params["number"])
        if kept is None:
            raise HTTPException(404, "this record is not shown any more")
        return json_answer(api.whole(kept))

    async def _fresh_model(self) -> None:
        await self._fresh(model=True)

    async def _fresh(self, *, model: bool = False) -> None:
        """Return when the run has had a look lately for those who ask, or will not."""
        begin = time.time()
        self._monitor.want(model=model)
        while time.time() < begin + _WAIT:
            latest, look = self._builder.latest, self._monitor.look
            over = look is not None and look.status.state in OVER
            copied = self._monitor.copied
            asked = not model or (copied is not None and (over or not copied.empty))
            there = latest is not None and asked
            if latest is not None and there and (over or latest.time > begin - _FRESH):
                return
            await asyncio.sleep(_AGAIN)
