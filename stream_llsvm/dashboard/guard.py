"""What a request says of who asks, and what the page itself may load."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import secrets
from functools import lru_cache
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
SHORTEST = 8
_LONGEST = 200
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


def check_path(path: str) -> None:
    """Refuse with 404 what is no path, such as one with the end of a line in it."""
    if not path.isprintable():
        raise HTTPException(404, "there is no such address: a path is printable")


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
