"""A client of ``stream-llsvm serve``, of the standard library alone."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self
from urllib.parse import urlsplit

_AGAIN = (429, 503)  # send the same later


class ServerError(Exception):
    """The server refused a request; the text says why, ``status`` which kind of refusal it is."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Client:
    """Asks a server, and sends again what it did not answer: with the same ids, learned once.

    Parameters
    ----------
    address, model
        Of the server; and the name of a model, its first if None.
    token, context
        What it wants to see, if anything; for TLS whom to trust, if not those the system does.
    id
        What the id is called in records; those without one get one, so that a retry is known.
    batch, retries, timeout
        How many records go at once; how often, and for how many seconds, an answer is waited for.

    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8766",
        *,
        model: str | None = None,
        token: str | None = None,
        id: str = "id",
        batch: int = 500,
        retries: int = 8,
        timeout: float = 60.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the address is as http://127.0.0.1:8766; got {address!r}")
        self._host, self._port, self._context = parts.hostname, parts.port, context
        self._is_tls = parts.scheme == "https"
        self.model = "/v1" if model is None else f"/v1/models/{model}"
        self._token, self._id, self._batch = token, id, batch
        self._retries, self._timeout = retries, timeout
        self._connection: http.client.HTTPConnection | None = None

    def send(self, records: Iterable[Mapping[str, Any]], **names: str) -> Iterator[dict[str, Any]]:
        """Yield what is told of each record, in order; those with a label are learned.

        ``label=``, ``id=`` and ``durability=`` are said with each request.
        """
        key, left = names.get("id", self._id), iter(records)
        while batch := list(islice(left, self._batch)):
            ready = [r if r.get(key) is not None else {**r, key: uuid.uuid4().hex} for r in batch]
            told = self._ask("POST", f"{self.model}/records", {"records": ready, **names})
            yield from told["predictions"]

    def predict(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is predicted of one record; with a label it is learned."""
        return next(self.send([record]))

    def label(self, labels: Iterable[tuple[Any, Any]]) -> int:
        """Send labels that come later, each with its record's id; return how many were new."""
        left, taken = iter(labels), 0
        while batch := [{"id": k, "label": y} for k, y in islice(left, self._batch)]:
            taken += self._ask("POST", f"{self.model}/labels", {"labels": batch})["taken"]
        return taken

    def explain(self, record: Mapping[str, Any]) -> Any:
        """Return why a record is answered as it is."""
        return self._ask("POST", f"{self.model}/explain", {"record": dict(record)})

    def models(self) -> list[dict[str, Any]]:
        """Return how the server's models are doing."""
        return list(self._ask("GET", "/v1/models")["models"])

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, said: Any = None) -> Any:
        """Return what is answered, after as many tries as it takes."""
        body = None if said is None else json.dumps(said).encode()
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        for attempt in range(self._retries + 1):
            wait = random.uniform(0.5, 1.0) * min(10.0, 0.1 * 2**attempt)
            try:
                answer = self._connected()
                answer.request(method, path, body, headers)
                got = answer.getresponse()
                content, again = got.read(), got.status in _AGAIN
                if got.status < 300 or got.status == 422:  # of which each record says its own
                    return json.loads(content)
                wait = max(wait, float(got.headers.get("Retry-After", 0)))
                why = ServerError(got.status, _why(content, got.headers.get("Location")))
                if not again or attempt == self._retries:
                    raise why
            except (OSError, http.client.HTTPException):
                self.close()
                if attempt == self._retries:
                    raise
            time.sleep(wait)
        raise AssertionError("there is a last attempt")

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            where: Any = {"host": self._host, "port": self._port, "timeout": self._timeout}
            if self._is_tls:
                self._connection = http.client.HTTPSConnection(**where, context=self._context)
            else:
                self._connection = http.client.HTTPConnection(**where)
        return self._connection


def _why(content: bytes, elsewhere: str | None) -> str:
    """Return what the server says is wrong."""
    if elsewhere is not None:  # where the token, and the records, are not for
        return f"the server redirects to {elsewhere}: if that is right, give that address"
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content[:200].decode("utf-8", "replace")
