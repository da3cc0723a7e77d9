"""Questions in the bodies of requests: read within bounds, answered by threads, a few at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stream_llsvm.dashboard.api import WrongQuestionError
from stream_llsvm.dashboard.guard import JSON, as_json, refusal
from stream_llsvm.dashboard.model_copy import NothingLearnedError
from stream_llsvm.dashboard.rights import Address

log = logging.getLogger("stream_llsvm")

BODY = 8_000_000  # bytes: 1,000 records of 200 features, whose names may have 30 letters
BODIES = 8 * BODY  # bytes of all bodies that are held at once
AT_ONCE = 4  # questions that are answered at once; a body that is read is ten times its size
SLOW = 10.0  # seconds for a body to come


class Questions:
    """Reads and answers the questions of one application."""

    def __init__(self) -> None:
        self._held = 0  # bytes of bodies
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def answered(
        self,
        request: Request,
        answer: Callable[[Any], dict[str, Any]],
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> Response:
        """Return what is answered to the body of a request, in a thread.

        Parameters
        ----------
        request
            Its body is JSON.
        answer
            Answers what the JSON says.
        ready
            Is waited for before.

        """
        async with self._body(request) as body:
            if ready is not None:
                await ready()
            async with self._turns:
                return await _answered(body, answer)

    async def asked(self, request: Request) -> Any:
        """Return what the JSON of a request's body says."""
        async with self._body(request) as body:
            return _loaded(body)

    @asynccontextmanager
    async def _body(self, request: Request) -> AsyncIterator[bytes]:
        """Hold the body, unless it is too long, comes too slowly, or too much is held already."""
        _check_json(request)
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > BODY:
            raise _too_long(int(length))
        size = 0
        try:
            parts = []
            async with asyncio.timeout(SLOW):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    self._held += len(part)
                    if size > BODY:
                        raise _too_long(size)
                    if self._held > BODIES:
                        raise HTTPException(503, "too much is asked at once: try again in a moment")
            yield b"".join(parts)
        except TimeoutError:
            raise HTTPException(408, "the body came too slowly") from None
        except ClientDisconnect:
            raise HTTPException(400, "the body was cut off") from None
        finally:
            self._held -= size


def _check_json(request: Request) -> None:
    """Refuse what a page elsewhere could send without being asked whether it may."""
    if not as_json(request.headers):
        raise HTTPException(415, f"send the header Content-Type: {JSON}")


def _loaded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None


async def _answered(body: bytes, answer: Callable[[Any], dict[str, Any]]) -> Response:
    asked = _loaded(body)
    try:
        return json_answer(await run_in_threadpool(answer, asked))
    except WrongQuestionError as error:
        raise HTTPException(400, str(error)) from None
    except NothingLearnedError as error:
        raise HTTPException(409, str(error)) from None


def json_answer(value: Any, status: int = 200) -> Response:
    """Return an answer in JSON that nobody keeps."""
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Response(orjson.dumps(value), status_code=status, headers=headers)


def _too_long(size: int) -> HTTPException:
    return HTTPException(
        413, f"the body has {size:,} bytes, and at most {BODY:,} are taken: ask for fewer at once"
    )


async def _refused(request: Request, error: HTTPException) -> Response:
    # What is left of a body that nobody read must not be taken for the next request.
    headers = {**(error.headers or {}), "Connection": "close"}
    return refusal(error.status_code, error.detail, headers=headers)


async def _failed(request: Request, error: Exception) -> Response:
    log.error("%s: %s", request.url.path, error, exc_info=error)
    return refusal(500, "something went wrong here; the log says what")


#: What answers a request that is refused, or that something goes wrong with.
_HANDLERS: Any = {HTTPException: _refused, Exception: _failed}


def routed(addresses: Iterable[Address]) -> ASGIApp:
    """Return what answers at these addresses, whoever asks."""
    routes = [Route(one.path, one.answer, methods=[one.method]) for one in addresses]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    return app
