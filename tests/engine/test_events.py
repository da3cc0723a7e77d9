"""Events reach a function and a webhook, whatever these do; the run goes on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.engine import events
from stream_llsvm.engine.events import Webhook

ROWS: list[dict[str, Any]] = [{"x": float(i % 7)} for i in range(300)]  # no label: an event


class Hook:
    """A web server that keeps what is posted, and answers by a list of codes, then 204."""

    def __init__(self, *codes: int) -> None:
        self.posted: list[Mapping[str, Any]] = []
        self.left = list(codes)
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                code = hook.left.pop(0) if hook.left else 204
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/secret-path"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook() -> Iterator[Hook]:
    one = Hook()
    yield one
    one.server.shutdown()
    one.server.server_close()


def test_a_function_gets_each_event_once_and_may_fail() -> None:
    seen: list[Mapping[str, Any]] = []

    def call(event: Mapping[str, Any]) -> None:
        seen.append(event)
        raise RuntimeError("a fault of the user's")

    engine = Engine(ListSource(ROWS, label="y"), LLSVMClassifier(), on_event=call)
    assert engine.run()["records"] == 300
    assert [one["kind"] for one in seen] == ["no labels"]
    assert {"id", "kind", "text", "record", "time"} == set(seen[0])


def test_what_a_run_died_of_is_an_event() -> None:
    seen: list[Mapping[str, Any]] = []

    class Broken(ListSource):
        def poll(self, *_: Any) -> Any:
            raise OSError("the cable is out")

    engine = Engine(Broken(ROWS, label="y"), LLSVMClassifier(), on_event=seen.append)
    with pytest.raises(OSError, match="cable"):
        engine.run()
    assert [(one["kind"], one["text"]) for one in seen] == [("failed", "the cable is out")]


@pytest.mark.parametrize("codes", [(), (500, 302)])
def test_a_webhook_gets_each_event_also_after_errors(
    hook: Hook, codes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook.left = list(codes)
    engine = Engine(ListSource(ROWS, label="y"), LLSVMClassifier())
    with Webhook(hook.url, "orders") as webhook:
        engine.watchers.append(webhook)
        engine.run()
        monkeypatch.setattr(webhook._ending, "wait", lambda pause: False)  # do not wait between
        while len(hook.posted) <= len(codes):
            webhook._wake.set()
            time.sleep(0.01)
    assert len(hook.posted) == len(codes) + 1
    assert {(one["run"], one["kind"]) for one in hook.posted} == {("orders", "no labels")}


def test_a_webhook_that_is_away_holds_up_nothing_and_names_no_path(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_MOST", 100)
    with Webhook("http://127.0.0.1:9/secret-path", "orders") as webhook:
        for i in range(300):
            webhook._queue({"kind": "drift", "id": i})
        assert len(webhook._waiting) == 100
    assert "webhook 127.0.0.1" in caplog.text
    assert "secret-path" not in caplog.text
    with pytest.raises(ValueError, match="begins with http"):
        Webhook("ftp://x", "orders")
