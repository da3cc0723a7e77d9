"""What a request is refused with: a status, and a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping


class RefusedError(Exception):
    """A request that is not answered; the text says why, in one line.

    Parameters
    ----------
    status
        Of HTTP.
    why
        What is wrong, where, and what to do.
    headers
        What goes with it.

    """

    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.headers = status, dict(headers or {})
