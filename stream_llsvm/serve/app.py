"""The addresses that a server answers, by hand where thousands ask a second."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sized
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_llsvm import limits
from stream_llsvm.dashboard.app import CHANGES
from stream_llsvm.dashboard.guard import FORM, JSON, as_json, is_elsewhere
from stream_llsvm.engine.task import CLASSIFICATION
from stream_llsvm.serve import inference
from stream_llsvm.serve.answers import Ticket
from stream_llsvm.serve.bodies import labels_of, records_of
from stream_llsvm.serve.metrics import Metrics
from stream_llsvm.serve.openapi import described
from stream_llsvm.serve.refusal import RefusedError
from stream_llsvm.serve.rights import ADMIN, LEARN, PREDICT, Rights
from stream_llsvm.serve.served import ServedModel
from stream_llsvm.version import __version__

log = logging.getLogger("stream_llsvm")

_HEALTH = ("/healthz", "/readyz", "/v2/health/live", "/v2/health/ready")
_PATH = re.compile(r"/v1/models/([^/]+)(?:/([a-z]+))?")
_INFERENCE = re.compile(r"/v2/models/([^/]+)(?:/(ready|infer))?")
_PAGE = re.compile(r"/models/([^/]+)(/.*)")
_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")  # what is left of a body must not be taken for the next request


class App:
    """Answers requests to some models.

    Parameters
    ----------
    models
        The models by name; the first is the one that addresses without a name mean.
    rights
        Who may do what.
    most_bytes
        Of a body.

    """

    def __init__(
        self, models: Iterable[ServedModel], rights: Rights, most_bytes: int = limits.BODY_BYTES
    ) -> None:
        self.models = {one.name: one for one in models}
        self.first = next(iter(self.models.values()))
        self._rights, self._most = rights, most_bytes
        self._held = 0
        self._pages: dict[str, ASGIApp] = {
            name: rights.guarded(one.page, PREDICT) for name, one in self.models.items()
        }
        self._admin_pages: dict[str, ASGIApp] = {
            name: rights.guarded(one.page, ADMIN) for name, one in self.models.items()
        }
        self._metrics = rights.guarded(Metrics(self.models.values()), PREDICT)
        self.closing = False
        self.connections: Sized = ()
        self.most = limits.CONNECTIONS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        try:
            path, method = scope["path"], scope["method"]
            if self.closing or len(self.connections) > self.most:
                self._check_open(path, method)
            if method == "POST" and path == "/v1/records":
                await self._records(self.first, scope, receive, send)
            elif path.startswith("/v1/"):
                await self._v1(path, method, scope, receive, send)
            elif path == "/v2" or path.startswith("/v2/"):
                await self._v2(path, method, scope, receive, send)
            elif path == "/openapi.json":
                _only(method, "GET", path)
                self._rights.check(scope, PREDICT)
                await _send(send, 200, described(list(self.models)))
            elif path == "/healthz":
                await self._health(send)
            elif path == "/readyz":
                await self._ready(send)
            elif path == "/metrics":
                await self._metrics(scope, receive, send)
            else:
                await self._page(path, scope, receive, send)
        except RefusedError as error:
            self._addressed(scope["path"]).refusals.add(error.status, str(error))
            headers = [(k.lower().encode(), v.encode()) for k, v in error.headers.items()]
            said = {"error": str(error)}
            await _send(send, error.status, said, [_CLOSE, *headers])
        except Exception as error:
            log.error("%s: %s", scope["path"], error, exc_info=error)
            self._addressed(scope["path"]).refusals.add(500)
            await _send(send, 500, {"error": "something went wrong here; the log says what"})

    def _check_open(self, path: str, method: str) -> None:
        """Raise RefusedError if the server ends, or answers as many as it can."""
        again = {"Retry-After": "1"}
        if self.closing and method == "POST":
            raise RefusedError(503, "the server is ending: send the same again in a moment", again)
        if len(self.connections) > self.most and path not in _HEALTH:
            raise RefusedError(503, f"{self.most:,} requests are being answered: try again", again)

    def _addressed(self, path: str) -> ServedModel:
        """Return the model that a path names, the first if it names none that is there."""
        named = _PATH.match(path) or _INFERENCE.match(path) or _PAGE.match(path)
        return self.models.get(named[1] if named else "", self.first)

    async def _v1(self, path: str, method: str, scope: Scope, receive: Receive, send: Send) -> None:
        model, what = self.first, path.removeprefix("/v1/")
        if (named := _PATH.fullmatch(path)) is not None:
            model, what = self._model(named[1]), named[2] or ""
        posts: Mapping[str, Callable[..., Awaitable[None]]] = {
            "records": self._records,
            "labels": self._labels,
            "explain": self._explain,
            "checkpoint": self._checkpoint,
        }
        if what in posts:
            _only(method, "POST", path)
            await posts[what](model, scope, receive, send)
        elif what == "models" or (named is not None and not what):
            _only(method, "GET", path)
            self._rights.check(scope, PREDICT)
            every = {"models": [self._told(one) for one in self.models.values()]}
            await _send(send, 200, self._told(model) if named is not None else every)
        else:
            known = ", ".join(f"/v1/{name}" for name in (*posts, "models"))
            raise RefusedError(404, f"there is no {path}; there are {known}")

    async def _v2(self, path: str, method: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Speak the Open Inference Protocol."""
        named = _INFERENCE.fullmatch(path)
        infers = named is not None and named[2] == "infer"
        if named is None and path not in ("/v2", "/v2/health/live", "/v2/health/ready"):
            raise RefusedError(404, f"there is no {path}: see /openapi.json")
        _only(method, "POST" if infers else "GET", path)
        if path == "/v2/health/live":
            await _send(send, 200, {"live": True})
        elif path == "/v2/health/ready":
            await self._ready(send)
        elif named is None:
            await _send(
                send, 200, {"name": "stream_llsvm", "version": __version__, "extensions": []}
            )
        else:
            self._rights.check(scope, PREDICT)
            model = self._model(named[1])
            if named[2] == "ready":
                ready = not model.missing()
                await _send(send, 200 if ready else 503, {"name": model.name, "ready": ready})
            elif infers:
                await self._infer(model, scope, receive, send)
            else:
                of_numbers = model.engine.learner.task != CLASSIFICATION
                await _send(send, 200, inference.metadata(model.name, model.fields, of_numbers))

    async def _infer(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        length = dict(scope["headers"]).get(b"content-length", b"")
        body = await self._body(length, receive)
        asked, number = inference.records_of(body, model.fields, model.names)
        ticket = model.records(asked)
        await ticket.done
        learned = model.engine.progress.counts["learned"]
        await _send(send, 200, inference.outputs(model.name, learned, number, ticket.answers))

    def _is_well(self) -> bool:
        """Whether all models learn and can be asked."""
        return not self.closing and all(
            model.state not in ("failed", "stopped") and not model.log.failed
            for model in self.models.values()
        )

    def _model(self, name: str) -> ServedModel:
        found = self.models.get(name)
        if found is None:
            there = ", ".join(self.models)
            raise RefusedError(404, f"there is no model {name!r}; there are {there}")
        return found

    async def _records(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        given = self._rights.check(scope, PREDICT)
        asked = await self._read(records_of, model, scope, receive)
        if LEARN not in given and any(asked.labelled):
            raise RefusedError(
                403, "some records have a label, and this token may not teach: leave labels out"
            )
        ticket = model.records(asked)
        await ticket.done
        said = {
            "model": model.name,
            "predictions": ticket.answers,
            "learned": ticket.learned,
            "duplicates": ticket.duplicates,
            "rejected": ticket.rejected,
        }
        await _send(send, _status(model, ticket, said), said)

    async def _labels(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        self._rights.check(scope, LEARN)
        asked = await self._read(labels_of, model, scope, receive)
        ticket = model.labels(asked)
        await ticket.done
        said = {
            "model": model.name,
            "taken": ticket.learned,
            "duplicates": ticket.duplicates,
            "rejected": ticket.rejected,
            "errors": [
                {"index": i, **one} for i, one in enumerate(ticket.answers) if one is not None
            ],
        }
        await _send(send, _status(model, ticket, said), said)

    async def _read(
        self, read: Callable[..., Any], model: ServedModel, scope: Scope, receive: Receive
    ) -> Any:
        kind, length = b"", b""
        for name, value in scope["headers"]:
            if name == b"content-type":
                kind = value
            elif name == b"content-length":
                length = value
        body = await self._body(length, receive)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        told = kind.partition(b";")[0].strip().lower().decode("latin-1")
        if told == FORM and as_json(Headers(scope=scope)):
            told = JSON
        return read(body, told, query, model.names)

    async def _body(self, length: bytes, receive: Receive) -> bytes:
        """Return the body, unless it is too long, too slow, or too much is held already."""
        if length.isdigit() and int(length) > self._most:
            raise self._too_long()
        size = 0
        try:
            first = receive()
            message = await (first if length else asyncio.wait_for(first, limits.BODY_SECONDS))
            body: bytes = message.get("body", b"")
            if not message.get("more_body", False) and message["type"] == "http.request":
                return body
            parts, size = [body], len(body)
            self._held += size
            async with asyncio.timeout(limits.BODY_SECONDS):
                while message.get("more_body", False):
                    message = await receive()
                    part = message.get("body", b"")
                    parts.append(part)
                    size += len(part)
                    self._held += len(part)
                    if size > self._most:
                        raise self._too_long()
                    if self._held > limits.BODIES_BYTES:
                        raise RefusedError(
                            429, "too much comes at once: try again", {"Retry-After": "1"}
                        )
        except TimeoutError:
            raise RefusedError(408, "the body came too slowly") from None
        finally:
            self._held -= size
        if message["type"] != "http.request":
            raise RefusedError(400, "the body was cut off")
        return b"".join(parts)

    def _too_long(self) -> RefusedError:
        return RefusedError(413, f"the body is above {self._most:,} bytes: send fewer at once")

    async def _explain(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._rights.check(scope, PREDICT)
        there = {**scope, "path": "/api/explain", "raw_path": b"/api/explain"}
        await model.page.routes(there, receive, send)

    async def _checkpoint(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._rights.check(scope, ADMIN)
        if is_elsewhere(Headers(scope=scope)):
            raise RefusedError(403, "a page of another place may not ask for a checkpoint")
        if model.failed or self.closing:
            raise RefusedError(503, f"the model {model.name} has stopped: {model.failed}")
        said = await asyncio.wrap_future(model.save())
        await _send(send, 507 if said.get("lost") else 200, said)

    def _told(self, model: ServedModel) -> dict[str, Any]:
        """Return how a model is doing."""
        told: dict[str, Any] = {
            "name": model.name,
            "class": type(model.engine.model).__name__,
            "version": __version__,
            "state": model.state,
            "label": model.names.label,
            "id": model.names.id,
            "counts": dict(model.engine.progress.counts),
            "log": {
                "first": model.log.first,
                "end": model.log.end,
                "synced": model.log.synced,
                "learned": model.done,
            },
        }
        if model.failed:
            told["error"] = model.failed
        made = model.engine.made
        if made is not None:
            told["checkpoint"] = {"number": made.number, "time": made.time, "records": made.record}
        return told

    async def _health(self, send: Send) -> None:
        states = {name: model.state for name, model in self.models.items()}
        well = self._is_well()
        state = "well" if well else "closing" if self.closing else "failed"
        await _send(send, 200 if well else 503, {"ok": well, "state": state, "models": states})

    async def _ready(self, send: Send) -> None:
        """Say whether all models can do their work now, and what is missing."""
        missing = {name: why for name, one in self.models.items() if (why := one.missing())}
        if self.closing:
            missing = {name: {"server": "it is ending"} for name in self.models}
        told = {"ready": not missing, "not_ready": missing}
        await _send(send, 503 if missing else 200, told)

    async def _page(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Show a model's page: the first one's, or of one that is named."""
        model = self.first
        if (named := _PAGE.fullmatch(path)) is not None:
            model, path = self._model(named[1]), named[2]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        # Whoever only looks on, or teaches, has a page, and may not change the run by it.
        pages = self._admin_pages if path in CHANGES else self._pages
        await pages[model.name](scope, receive, send)


def _only(method: str, wanted: str, path: str) -> None:
    if method != wanted:
        raise RefusedError(405, f"{path} takes {wanted}, not {method}", {"Allow": wanted})


def _status(model: ServedModel, ticket: Ticket, said: dict[str, Any]) -> int:
    """Return 422 if nothing could be used, and say what is wrong with the first."""
    if ticket.rejected < len(ticket.answers):
        return 200
    said["error"] = next(one["error"] for one in ticket.answers if one)
    model.refusals.add(422, said["error"])
    return 422


async def _send(
    send: Callable[[Message], Awaitable[None]],
    status: int,
    said: Any,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    body = orjson.dumps(said)
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
