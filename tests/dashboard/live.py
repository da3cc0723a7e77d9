"""A run with its page, served for real, and what asks it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import httpx
import numpy as np
from river import base

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.connectors.base import Batch
from stream_llsvm.dashboard.server import Dashboard

Rows = list[dict[str, Any]]


def rows(n: int, classes: int = 2, seed: int = 0) -> Rows:
    """Return records of two features, with a label each."""
    x = np.random.default_rng(seed).normal(size=(n, 2))
    angle = np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) % 1
    labels = (angle * classes).astype(int)
    parts = zip(*x.T.tolist(), labels.tolist(), range(n), strict=True)
    return [{"x": a, "y": b, "label": f"c{c}", "id": i} for a, b, c, i in parts]


class Fed(ListSource):
    """A source that is fed by the test, and ends when it is told to."""

    def __init__(self, records: Sequence[dict[str, Any]] = (), key: str | None = None) -> None:
        super().__init__(list(records), "label", key or "id")
        self.over = threading.Event()
        self.failure: Exception | None = None
        self.trouble = ""
        self.behind: dict[str, dict[str, int]] = {}

    def feed(self, records: Rows) -> None:
        """Give it more records."""
        assert isinstance(self.records, list)
        self.records.extend(records)

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records, or wait a moment."""
        if self.failure is not None:
            raise self.failure
        batch = super().poll(max_records, timeout)
        if batch is None:
            self.over.wait(min(timeout, 0.02))
        return batch

    @property
    def ended(self) -> bool:
        """Whether the test has said so."""
        return self.over.is_set() and super().ended

    def lag(self) -> dict[str, dict[str, int]]:
        """Say what the test says."""
        return self.behind


class Live:
    """A run in a thread of its own, and its page."""

    def __init__(self, source: Fed, page: Dashboard, engine: Engine, **headers: str) -> None:
        self.source, self.page, self.engine = source, page, engine
        self.client = httpx.Client(
            base_url=page.address, timeout=20, trust_env=False, headers=headers
        )
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.engine.run()
        except BaseException as error:
            self.error = error

    def get(self, path: str, **more: Any) -> httpx.Response:
        """Ask for something."""
        return self.client.get(path, **more)

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        """Ask something."""
        return self.client.post(path, json=body, **more)

    def snapshot(self) -> dict[str, Any]:
        """Return the newest frame."""
        answer = self.get("/api/snapshot")
        assert answer.status_code == 200, answer.text
        frame: dict[str, Any] = answer.json()
        return frame

    def until(self, what: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Return the first frame of which this is true."""
        seen: list[dict[str, Any]] = []

        def look() -> bool:
            seen.append(self.snapshot())
            return bool(what(seen[-1]))

        wait_for(look)
        return seen[-1]

    def finish(self) -> None:
        """Let the run end."""
        self.source.over.set()
        self.thread.join(timeout=240)
        assert not self.thread.is_alive()


@contextmanager
def live(
    records: Sequence[dict[str, Any]] = (),
    model: base.Classifier | base.Regressor | None = None,
    *,
    source: Fed | None = None,
    token: str | None = None,
    page: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Iterator[Live]:
    """Run an engine over the records, with its page, until the block ends."""
    source = Fed(records) if source is None else source
    chosen = LLSVMClassifier(n_anchors=12, n_neighbors=4) if model is None else model
    engine = Engine(source, chosen, **options)
    with Dashboard(engine, port=0, token=token, **page) as shown:
        running = Live(source, shown, engine)
        running.thread.start()
        try:
            yield running
        finally:
            engine.stop()
            source.over.set()
            running.thread.join(timeout=240)
            running.client.close()


def wait_for(what: Callable[[], Any], timeout: float = 240.0) -> None:
    """Return when something has become true."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


class Stream:
    """Server-sent events, read one by one."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()
        self.alive = 0

    def next(self) -> tuple[int, str, Any]:
        """Return the id, the kind and the data of the next message."""
        number, kind = -1, ""
        for line in self._lines:
            if line.startswith(":"):
                self.alive += 1
            elif line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                return number, kind, json.loads(line[6:])
        raise EOFError

    def until(self, what: Callable[[Any], Any]) -> Any:
        """Return the first frame of which this is true."""
        while True:
            _, kind, data = self.next()
            if kind == "frame" and what(data):
                return data


@contextmanager
def stream(address: str, last: int | None = None, **headers: str) -> Iterator[Stream]:
    """Watch a page."""
    if last is not None:
        headers["Last-Event-ID"] = str(last)
    with (
        httpx.Client(base_url=address, timeout=20, trust_env=False) as client,
        client.stream("GET", "/events", headers=headers) as response,
    ):
        assert response.status_code == 200
        yield Stream(response)
