"""Who may ask what: a token, or this machine alone; and what the page itself may load."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
SHORTEST = 8
_LONGEST = 200
_OPEN = ("/healthz", "/readyz")  # say only whether the run is well
_INLINE = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)


def checked_token(token: str) -> str:
    """Return the token if it will do."""
    if not (SHORTEST <= len(token) <= _LONGEST and token.isascii() and token.isprintable()):
        raise ValueError(f"the token must be {SHORTEST} to {_LONGEST} printable ASCII characters")
    return token


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


@lru_cache(maxsize=64)  # every request asks, and most name the same
def is_loopback(host: str) -> bool:
    """Whether the name or address is this machine's own.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "a.example")]
    [True, True, True, False, False]

    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def host_of(header: str) -> str:
    """Return the host of a Host header without its port.

    Examples
    --------
    >>> host_of("localhost:8765"), host_of("[::1]:80"), host_of("::1")
    ('localhost', '::1', '')

    """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


class Guard:
    """Lets through who has the token, or, without one, who asks this machine by its own name.

    Parameters
    ----------
    app
        What is guarded.
    tokens
        The tokens, none if there are none: then only the loopback is listened to, and the Host
        header must name it, or a page elsewhere could let its own name point here.
    cookie
        The name of the cookie that stands for a token.
    headers
        What every answer carries.

    """

    def __init__(
        self, app: ASGIApp, tokens: Sequence[str], cookie: str, headers: Mapping[str, str]
    ) -> None:
        self._app, self._tokens, self._cookie = app, tuple(tokens), cookie
        self._headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        if scope["type"] != "http":
            return
        answer = self._refused(scope)
        await (self._app if answer is None else answer)(scope, receive, sent)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._tokens:
            if is_loopback(host_of(headers.get("host", ""))):
                return None
            return refusal(403, "ask for this page as localhost, or start it with a token")
        if scope["path"] in _OPEN:
            return None
        if scope["path"] == "/" and b"token=" in scope["query_string"]:
            return self._let_in(scope)
        given = headers.get("authorization", "")
        if given.startswith("Bearer ") and _among(given[7:], self._tokens):
            return None
        stamps = tuple(map(_stamp, self._tokens))
        if any(_among(one, stamps) for one in _cookies(headers, self._cookie)):
            return None
        return refusal(401, "the token is missing or wrong: open the page with ?token=... once")

    def _let_in(self, scope: Scope) -> Response:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = query.get("token", [""])[0]
        if not _among(given, self._tokens):
            return refusal(401, "the token is wrong")
        answer = RedirectResponse("./", status_code=303)  # wherever the page lies
        answer.set_cookie(self._cookie, _stamp(given), httponly=True, samesite="strict")
        return answer


def _stamp(token: str) -> str:
    """Return what the cookie holds: not the token itself, which may be used elsewhere."""
    return hmac.new(token.encode(), b"stream_llsvm page", hashlib.sha256).hexdigest()


def is_elsewhere(headers: Headers) -> bool:
    """Whether a browser asks for a page of another place.

    Examples
    --------
    >>> is_elsewhere(Headers({"host": "localhost:8765", "origin": "http://localhost:8765"}))
    False
    >>> is_elsewhere(Headers({"host": "localhost:8765", "origin": "https://a.example"}))
    True

    """
    origin = headers.get("origin")
    other = origin is not None and origin.partition("://")[2] != headers.get("host")
    return other or headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def check_origin(headers: Headers) -> None:
    """Refuse with 403 what a page of another place asks: it would change the run."""
    if is_elsewhere(headers):
        raise HTTPException(403, "ask from this page, and not from another")


def as_json(headers: Headers) -> bool:
    """Whether a body may be read as JSON: it says so, or it is from ``curl -d``, which says FORM.

    A browser lets a page of any place send FORM, and text, without asking whether it may. It then
    says so in other headers, and curl sends none of them; so FORM is taken only without.

    Examples
    --------
    >>> as_json(Headers({"content-type": FORM}))
    True
    >>> as_json(Headers({"content-type": FORM, "origin": "http://localhost:8765"}))
    False

    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    browser = "origin" in headers or "sec-fetch-site" in headers
    return kind == JSON or (kind == FORM and not browser)


def _cookies(headers: Headers, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _among(given: str, wanted: Sequence[str]) -> bool:
    """Whether it is one of these; how long that takes does not tell which."""
    bytes_given = given.encode("utf-8", "replace")
    return any([hmac.compare_digest(bytes_given, one.encode()) for one in wanted])


def refusal(status: int, why: str, **more: Any) -> JSONResponse:
    """Return an answer that says in one line what is wrong."""
    return JSONResponse({"error": why}, status_code=status, **more)


def policy(index: bytes) -> str:
    r"""Return the page's content security policy: its own files, and the scripts inside it.

    Examples
    --------
    >>> "script-src 'self' 'sha256-" in policy(b'<script type="importmap">{}</script>')
    True
    >>> "unsafe" in policy(b"")
    False

    """
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
        for script in _INLINE.findall(index)
    ]
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", *hashes]),
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
