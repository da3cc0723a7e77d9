"""A server that shows the page whatever frames a test makes up."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stream_llsvm.dashboard.app import static_files
from stream_llsvm.dashboard.guard import policy


class Replay(ThreadingHTTPServer):
    """Serves the page, a history, and the frames that `send` is given."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, history: dict[str, Any] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = static_files()
        self.policy = policy(self.files["index.html"].content)
        self.history = history or {"points": {}, "events": []}
        self.asked: list[dict[str, Any]] = []
        self.answer: tuple[int, dict[str, Any]] = (409, {"error": "nothing learned yet"})
        self.records: dict[int, list[list[Any]]] = {}  # whole ones, by their numbers
        self.resumed: list[str] = []
        self.first: dict[str, Any] | None = None  # what a new connection gets at once
        self.dumps: Callable[[Any], str] = json.dumps
        self.closing = threading.Event()
        self._listeners: list[queue.Queue[bytes | None]] = []

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def send(self, frame: dict[str, Any], event: str = "frame") -> None:
        """Send a message to every page that is open."""
        for why in (frame.get("model") or {}).get("whys", ()):
            self.records.setdefault(why["record"], why["values"])
        for listener in list(self._listeners):
            listener.put(_message(frame, event, self.dumps))

    def listeners(self) -> int:
        """Return how many pages are open."""
        return len(self._listeners)

    def cut(self) -> None:
        """End all connections, as a server that dies would."""
        for listener in list(self._listeners):
            listener.put(None)


def _message(frame: dict[str, Any], event: str, dumps: Callable[[Any], str]) -> bytes:
    number = f"id: {frame['id']}\n" if "id" in frame else ""
    return f"{number}event: {event}\ndata: {dumps(frame)}\n\n".encode()


class _Handler(BaseHTTPRequestHandler):
    server: Replay

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer for the page, its parts, the history and the events."""
        asked = urlsplit(self.path)
        if asked.path == "/events":
            self._events(parse_qs(asked.query))
        elif asked.path == "/api/history":
            self._reply(200, "application/json", json.dumps(self.server.history).encode())
        elif asked.path.startswith("/api/records/"):
            number = int(asked.path.rpartition("/")[2])
            values = self.server.records.get(number)
            status, told = 200, dict[str, Any](record=number, values=values)
            if values is None:
                status, told = 404, {"error": "this record is not shown any more"}
            self._reply(status, "application/json", json.dumps(told).encode())
        else:
            name = "index.html" if asked.path == "/" else asked.path.removeprefix("/static/")
            file = self.server.files.get(name)
            if file is None:
                self._reply(404, "text/plain", b"")
            else:
                self._reply(200, file.type, file.content)

    def do_POST(self) -> None:
        """Answer what the page asks the model."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        status, answer = self.server.answer
        self._reply(status, "application/json", json.dumps(answer).encode())

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.end_headers()
        self.wfile.write(body)

    def _events(self, query: dict[str, list[str]]) -> None:
        server, mine = self.server, queue.Queue[bytes | None]()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        server._listeners.append(mine)
        # Told last: what is sent from now on reaches this connection.
        server.resumed.extend(query.get("last", []))
        try:
            if server.first is not None:
                self.wfile.write(_message(server.first, "frame", server.dumps))
            while not server.closing.is_set():
                try:
                    message = mine.get(timeout=0.2)
                except queue.Empty:
                    continue
                if message is None:
                    return
                self.wfile.write(message)
        except OSError:
            pass  # the page has gone
        finally:
            server._listeners.remove(mine)


@contextmanager
def replaying(history: dict[str, Any] | None = None) -> Iterator[Replay]:
    """Serve as long as it is a context."""
    server = Replay(history)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
