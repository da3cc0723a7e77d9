"""Who may do what: tokens with rights, or, without any, whoever is on this machine.

A right is declared at its address, and nowhere else: without one an `Address` cannot be made.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_llsvm.dashboard.guard import (
    check_path,
    checked_token,
    host_of,
    is_loopback,
    refusal,
)

PREDICT, LEARN, LOOK, ADMIN = "predict", "learn", "look", "admin"
#: What each right of a token brings with it.
RIGHTS = {
    PREDICT: frozenset({PREDICT}),
    LEARN: frozenset({PREDICT, LEARN}),
    LOOK: frozenset({LOOK}),
    ADMIN: frozenset({PREDICT, LEARN, LOOK, ADMIN}),
}
ANY, NONE = "any", "none"  # an address for whoever has a token, or for whoever asks
_NOBODY: frozenset[str] = frozenset()


class Address(NamedTuple):
    """A route: how it is asked, which right it takes, and what answers."""

    method: str
    path: str
    right: str
    answer: Callable[..., Awaitable[Any]]


def declared(addresses: Iterable[Address]) -> list[Address]:
    """Return addresses; ValueError if one has no right, or comes twice."""
    found: dict[str, Address] = {}
    for one in addresses:
        if getattr(one, "right", None) not in (*RIGHTS, ANY, NONE):
            raise ValueError(f"{one.path}: the route declares no right: name one in its Address")
        if one.path in found:
            raise ValueError(f"{one.path}: the route is declared twice")
        found[one.path] = one
    return list(found.values())


class Rights:
    """Says what who asks may do.

    Parameters
    ----------
    tokens
        What each token may; none if only this machine can ask, which then may everything.
    cookie
        The name of the cookie that stands for a token in a browser.

    """

    def __init__(self, tokens: Mapping[str, str], cookie: str) -> None:
        for token, right in tokens.items():
            checked_token(token)
            if right not in RIGHTS:
                raise ValueError(f"a token's right is one of {', '.join(RIGHTS)}; got {right!r}")
        self._tokens = [(_digest(token.encode()), RIGHTS[right]) for token, right in tokens.items()]
        self._stamps = [(_stamp(token).encode(), RIGHTS[tokens[token]]) for token in tokens]
        self._cookie = cookie

    def check(self, scope: Scope, wanted: str, *, cookie: bool = False) -> frozenset[str]:
        """Return what who asks may do. Raises HTTPException if it is not what is wanted."""
        if not self._tokens:
            return _local(Headers(scope=scope).get("host", ""), wanted)
        may = self._rights_of(scope, cookie)
        if may is None:
            if wanted == NONE:
                return _NOBODY
            raise HTTPException(
                401,
                "the token is missing or wrong: send Authorization: Bearer ..., or open the page "
                "with ?token=... once",
                {"WWW-Authenticate": "Bearer"},
            )
        if wanted not in (ANY, NONE) and wanted not in may:
            raise HTTPException(403, f"this token may {', '.join(sorted(may))}, and not {wanted}")
        return may

    def entrance(self, scope: Scope) -> Response | None:
        """Return the answer to a page that is opened with a token: a cookie; None if it is not."""
        if not self._tokens or scope["path"] != "/" or b"token=" not in scope["query_string"]:
            return None
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        may = _among(self._tokens, _digest(token.encode("utf-8", "replace")))
        if may is None:
            raise HTTPException(401, "the token is wrong")
        if LOOK not in may:
            raise HTTPException(403, f"this token may {', '.join(sorted(may))}, and not {LOOK}")
        answer = RedirectResponse("./", status_code=303)  # wherever the page lies
        secure = scope.get("scheme") == "https"
        answer.set_cookie(
            self._cookie, _stamp(token), httponly=True, samesite="strict", secure=secure
        )
        return answer

    def _rights_of(self, scope: Scope, cookie: bool) -> frozenset[str] | None:
        """Return what a request's token may do, None if it has none that is known."""
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value
        if given.startswith(b"Bearer "):
            may = _among(self._tokens, _digest(given[7:]))
            if may is not None:
                return may
        for one in _cookies(Headers(scope=scope), self._cookie) if cookie else ():
            may = _among(self._stamps, one.encode("utf-8", "replace"))
            if may is not None:
                return may
        return None


class Guard:
    """Lets through who may ask for an address, and says the same headers with every answer.

    Parameters
    ----------
    app
        What is guarded.
    addresses
        Its addresses, each with the right that it takes; others take any.
    rights
        Who may what.
    headers
        What every answer carries.

    """

    def __init__(
        self,
        app: ASGIApp,
        addresses: Iterable[Address],
        rights: Rights,
        headers: Mapping[str, str],
    ) -> None:
        self._app, self._rights = app, rights
        self._wanted = [(compile_path(one.path)[0], one.right) for one in addresses]
        self._headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        if scope["type"] != "http":
            return
        try:
            answer = self._answer(scope)
        except HTTPException as error:
            answer = refusal(error.status_code, error.detail, headers=error.headers)
        await (self._app if answer is None else answer)(scope, receive, sent)

    def _answer(self, scope: Scope) -> Response | None:
        """Return what is answered without the application; raises HTTPException if nothing is."""
        check_path(scope["path"])
        answer = self._rights.entrance(scope)
        if answer is None:
            wanted = (right for path, right in self._wanted if path.match(scope["path"]))
            self._rights.check(scope, next(wanted, ANY), cookie=True)
        return answer


def _local(header: str, wanted: str) -> frozenset[str]:
    """Return what may be done without tokens, by the Host header: all, if it is this machine's own.

    A page elsewhere may let its own name point here, and then it asks for that name. Probes ask for
    an address, which no page can take for its own, and are told whether the server is well.
    """
    host = host_of(header)
    if is_loopback(host):
        return RIGHTS[ADMIN]
    if wanted == NONE and (not header or _is_address(host)):
        return _NOBODY
    raise HTTPException(403, "ask as localhost, or start the server with a token")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _among(known: Iterable[tuple[bytes, frozenset[str]]], given: bytes) -> frozenset[str] | None:
    """Return the rights of what is given; how long that takes does not tell which it is."""
    may = None
    for kept, rights in known:
        if hmac.compare_digest(kept, given):
            may = rights
    return may


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _stamp(token: str) -> str:
    """Return what the cookie holds: not the token itself, which may be used elsewhere."""
    return hmac.new(token.encode(), b"stream_llsvm page", hashlib.sha256).hexdigest()


def _cookies(headers: Headers, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]
