"""Who may do what: tokens with rights, or, without any, whoever is on this machine."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Scope

from stream_llsvm.dashboard.guard import checked_token, host_of, is_loopback, refusal
from stream_llsvm.serve.refusal import RefusedError

PREDICT, LEARN, ADMIN = "predict", "learn", "admin"
#: What each right brings with it.
RIGHTS = {
    PREDICT: frozenset({PREDICT}),
    LEARN: frozenset({PREDICT, LEARN}),
    ADMIN: frozenset({PREDICT, LEARN, ADMIN}),
}


class Guardable(Protocol):
    """What only those may ask who have a token."""

    def app(self, tokens: Sequence[str], cookie: str) -> ASGIApp:
        """Return it as an application, guarded."""


class Rights:
    """Says what who asks may do.

    Parameters
    ----------
    tokens
        What each token may; none if only this machine can ask, which then may everything.
    cookie
        The name of the cookie that stands for a token on the page.

    """

    def __init__(self, tokens: Mapping[str, str], cookie: str) -> None:
        for token, right in tokens.items():
            checked_token(token)
            if right not in RIGHTS:
                raise ValueError(f"a token's right is one of {', '.join(RIGHTS)}; got {right!r}")
        self._tokens = [(_digest(token.encode()), RIGHTS[right]) for token, right in tokens.items()]
        self._rights = dict(tokens)
        self._cookie = cookie

    def guarded(self, page: Guardable, wanted: str) -> ASGIApp:
        """Return a page for those whose token has this right; for nobody if no token has."""
        if not self._rights:
            return page.app((), self._cookie)
        able = [token for token, right in self._rights.items() if wanted in RIGHTS[right]]
        if able:
            return page.app(able, self._cookie)
        return refusal(403, f"no token of this server may {wanted}")

    def check(self, scope: Scope, wanted: str) -> frozenset[str]:
        """Return what who asks may do. Raises RefusedError if it is not enough."""
        if not self._tokens:
            host = Headers(scope=scope).get("host", "")
            if is_loopback(host_of(host)):
                return RIGHTS[ADMIN]
            raise RefusedError(403, "ask as localhost, or start the server with tokens")
        given = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value
        may: frozenset[str] | None = None
        if given.startswith(b"Bearer "):
            digest = _digest(given[7:])
            for kept, rights in self._tokens:  # all of them, so that time tells nothing
                if hmac.compare_digest(kept, digest):
                    may = rights
        if may is None:
            raise RefusedError(
                401,
                "the token is missing or wrong: send Authorization: Bearer ...",
                {"WWW-Authenticate": "Bearer"},
            )
        if wanted not in may:
            raise RefusedError(403, f"this token may {', '.join(sorted(may))}, and not {wanted}")
        return may


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
