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
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_llsvm import limits
from stream_llsvm.dashboard.app import metrics_answer
from stream_llsvm.dashboard.guard import FORM, JSON, as_json, check_path, is_elsewhere
from stream_llsvm.dashboard.rights import (
    ADMIN,
    ANY,
    LEARN,
    LOOK,
    NONE,
    PREDICT,
    Address,
    Rights,
    declared,
)
from stream_llsvm.engine.task import CLASSIFICATION
from stream_llsvm.serve import inference
from stream_llsvm.serve.answers import Ticket
from stream_llsvm.serve.bodies import Names, labels_of, records_of
from stream_llsvm.serve.metrics import refusals
from stream_llsvm.serve.openapi import described
from stream_llsvm.serve.refusal import RefusedError
from stream_llsvm.serve.served import ServedModel
from stream_llsvm.version import __version__

log = logging.getLogger("stream_llsvm")

_HEALTH = ("/healthz", "/readyz", "/v2/health/live", "/v2/health/ready")
_NAME = "{name}"  # of a model, in an address
_NAMED = re.compile(r"/(?:v1/|v2/)?models/([^/]+)")
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
            name: one.page.app(rights) for name, one in self.models.items()
        }
        self.addresses = declared(self._addresses())
        self._answers = {one.path: one for one in self.addresses}
        self.closing = False
        self.connections: Sized = ()
        self.most = limits.CONNECTIONS

    def _addresses(self) -> list[Address]:
        of_a_model = (
            ("records", PREDICT, self._records),
            ("labels", LEARN, self._labels),
            ("explain", PREDICT, self._explain),
            ("checkpoint", ADMIN, self._checkpoint),
        )
        return [
            *(Address("POST", f"/v1/{what}", right, do) for what, right, do in of_a_model),
            Address("GET", "/v1/models", ANY, self._list),
            Address("GET", f"/v1/models/{_NAME}", ANY, self._one),
            *(
                Address("POST", f"/v1/models/{_NAME}/{what}", right, do)
                for what, right, do in of_a_model
            ),
            Address("GET", "/v2", ANY, self._server),
            Address("GET", "/v2/health/live", NONE, self._live),
            Address("GET", "/v2/health/ready", NONE, self._ready),
            Address("GET", f"/v2/models/{_NAME}", ANY, self._tensors),
            Address("GET", f"/v2/models/{_NAME}/ready", ANY, self._model_ready),
            Address("POST", f"/v2/models/{_NAME}/infer", PREDICT, self._infer),
            Address("GET", "/openapi.json", ANY, self._description),
            Address("GET", "/healthz", NONE, self._health),
            Address("GET", "/readyz", NONE, self._ready),
            Address("GET", "/metrics", LOOK, self._metrics),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        path = scope["path"]
        try:
            check_path(path)
            if self.closing or len(self.connections) > self.most:
                self._check_open(path, scope["method"])
            address, name = self._find(path)
            if address is None:
                await self._page(path, scope, receive, send)
                return
            # A cookie is sent without being asked for, so it may read, and no more.
            reads = address.method == "GET"
            scope["rights"] = self._rights.check(scope, address.right, cookie=reads)
            if scope["method"] != address.method and not (reads and scope["method"] == "HEAD"):
                wanted = address.method
                raise RefusedError(
                    405, f"{path} takes {wanted}, not {scope['method']}", {"Allow": wanted}
                )
            model = self.first if name is None else self._model(name)
            await address.answer(model, scope, receive, send)
        except HTTPException as error:
            self._addressed(path).refusals.add(error.status_code, error.detail)
            await _refuse(send, error.status_code, error.detail, error.headers or {})
        except RefusedError as error:
            self._addressed(path).refusals.add(error.status, str(error))
            await _refuse(send, error.status, str(error), error.headers)
        except Exception as error:
            log.error("%s: %s", path, error, exc_info=error)
            self._addressed(path).refusals.add(500)
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
        named = _NAMED.match(path)
        return self.models.get(named[1] if named else "", self.first)

    def _find(self, path: str) -> tuple[Address | None, str | None]:
        """Return what answers at a path, None if that is a page; and which model it names."""
        found = self._answers.get(path)
        if found is not None and _NAME not in path:
            return found, None
        for begin in ("/v1/models/", "/v2/models/"):
            if path.startswith(begin):
                name, slash, what = path[len(begin) :].partition("/")
                return self._answers.get(f"{begin}{_NAME}{slash}{what}"), name
        return None, None

    async def _list(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, 200, {"models": [self._told(one) for one in self.models.values()]})

    async def _one(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, 200, self._told(model))

    async def _server(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        said = {"name": "stream_llsvm", "version": __version__, "extensions": []}
        await _send(send, 200, said)

    async def _live(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, 200, {"live": True})

    async def _tensors(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        of_numbers = model.engine.learner.task != CLASSIFICATION
        await _send(send, 200, inference.metadata(model.name, model.fields, of_numbers))

    async def _model_ready(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        ready = not model.missing()
        await _send(send, 200 if ready else 503, {"name": model.name, "ready": ready})

    async def _description(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        await _send(send, 200, described(list(self.models)))

    async def _infer(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        def read(body: bytes, kind: str, query: Mapping[str, str], names: Names) -> Any:
            return inference.records_of(body, kind, list(model.fields), names)

        asked, number = await self._read(read, model, scope, receive)
        ticket = model.predict(asked)
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

    async def _metrics(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        answer = metrics_answer(one.page.metrics() | refusals(one) for one in self.models.values())
        await answer(scope, receive, send)

    async def _records(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
        asked = await self._read(records_of, model, scope, receive)
        learns = LEARN in scope["rights"]
        if not learns and any(asked.labelled):
            raise RefusedError(
                403, "some records have a label, and this token may not teach: leave labels out"
            )
        ticket = model.records(asked) if learns else model.predict(asked)
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
        there = {**scope, "path": "/api/explain", "raw_path": b"/api/explain"}
        await model.page.routes(there, receive, send)

    async def _checkpoint(
        self, model: ServedModel, scope: Scope, receive: Receive, send: Send
    ) -> None:
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

    async def _health(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        well = self._is_well()
        told: dict[str, Any] = {"ok": well}
        told["state"] = "well" if well else "closing" if self.closing else "failed"
        if scope["rights"]:
            told["models"] = {name: model.state for name, model in self.models.items()}
        await _send(send, 200 if well else 503, told)

    async def _ready(self, model: ServedModel, scope: Scope, receive: Receive, send: Send) -> None:
        """Say whether all models can do their work now, and what is missing; by whom, to few."""
        missing = {name: why for name, one in self.models.items() if (why := one.missing())}
        if self.closing:
            missing = {name: {"server": "it is ending"} for name in self.models}
        told: Any = missing
        if not scope["rights"]:
            told = {what: why for one in missing.values() for what, why in one.items()}
        await _send(send, 503 if missing else 200, {"ready": not missing, "not_ready": told})

    async def _page(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Show a model's page: the first one's, or of one that is named."""
        model = self.first
        named = _PAGE.fullmatch(path)
        api = path.startswith(("/v1/", "/v2/"))
        if api or (named is not None and named[1] not in self.models):
            self._rights.check(scope, ANY, cookie=scope["method"] in ("GET", "HEAD"))
        if api:
            known = ", ".join(one.path for one in self.addresses if one.path.startswith(path[:4]))
            raise RefusedError(404, f"there is no {path}; there are {known}")
        if named is not None:
            model, path = self._model(named[1]), named[2]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._pages[model.name](scope, receive, send)


def _status(model: ServedModel, ticket: Ticket, said: dict[str, Any]) -> int:
    """Return 422 if nothing could be used, and say what is wrong with the first."""
    if ticket.rejected < len(ticket.answers):
        return 200
    said["error"] = next(one["error"] for one in ticket.answers if one)
    model.refusals.add(422, said["error"])
    return 422


async def _refuse(send: Send, status: int, why: str, headers: Mapping[str, str]) -> None:
    more = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
    await _send(send, status, {"error": why}, [_CLOSE, *more])


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
