"""Clients that send records and labels without rest, and note what was acknowledged."""

from __future__ import annotations

import contextlib
import random
import threading
from typing import Any

import httpx

from tests.serve.support import record


class Client(threading.Thread):
    """One client: it sends what was not acknowledged again, also to the server's next process.

    Attributes
    ----------
    taught, labelled
        The ids of records and of late labels that were acknowledged.
    sent
        How many records it has made up.

    """

    def __init__(self, number: int, explain: bool = True) -> None:
        super().__init__(daemon=True)
        self._chance = random.Random(number)
        self._first = self.sent = number * 1_000_000
        self._explain = explain
        self.address = ""
        self.taught: set[str] = set()
        self.labelled: set[str] = set()
        self._left: list[tuple[str, Any, set[str]]] = []
        self._late: list[int] = []
        self.wrong: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Send until it is over."""
        while not self.over.is_set():
            address = self.address
            if not address:  # nobody is there
                self.over.wait(0.05)
                continue
            with (
                contextlib.suppress(httpx.TransportError),
                httpx.Client(base_url=address, timeout=400) as http,
            ):
                while not self.over.is_set() and self.address == address:
                    self._once(http)
            if self.address == address:
                self.address = ""

    def settle(self, address: str) -> None:
        """Send what is left, when it is over."""
        with httpx.Client(base_url=address, timeout=400) as http:
            while self._left:
                self._send(http)

    def _once(self, http: httpx.Client) -> None:
        if not self._left:
            self._make()
        self._send(http)
        if self._explain and self._chance.random() < 0.1:
            http.post("/v1/explain", json={"record": {"a": 1.0, "b": 0.5}})

    def _make(self) -> None:
        n = self._chance.choice([1, 1, 1, 10, 50])
        labelled = [self._chance.random() < 0.7 for _ in range(n)]
        body = [record(self.sent + i, label) for i, label in enumerate(labelled)]
        ids = {one["id"] for one in body if "y" in one}
        self._late += [self.sent + i for i, label in enumerate(labelled) if not label]
        self._left.append(("/v1/records", {"records": body}, ids))
        self.sent += n
        if self._late and self._chance.random() < 0.5:
            some, self._late = self._late[:20], self._late[20:]
            labels = [{"id": f"r{i}", "label": record(i)["y"]} for i in some]
            ids = {str(one["id"]) for one in labels}
            self._left.append(("/v1/labels", {"labels": labels}, ids))

    def _send(self, http: httpx.Client) -> None:
        path, body, ids = self._left[0]
        answer = http.post(path, json=body)
        if answer.status_code == 200:
            told = answer.json()
            if told["rejected"]:
                self.wrong.append(answer.text)
            (self.taught if path == "/v1/records" else self.labelled).update(ids)
            self._left.pop(0)
        elif answer.status_code not in (429, 503):
            self.wrong.append(answer.text)
            self.over.set()
