"""Many clients, rude ones, and long runs: the run goes on, and memory stays bounded."""

from __future__ import annotations

import gc
import http.client
import resource
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from stream_llsvm import Engine, SAPLClassifier
from stream_llsvm.connectors.base import Batch
from stream_llsvm.dashboard import builder
from stream_llsvm.dashboard.builder import MOST_POINTS as POINTS
from stream_llsvm.dashboard.builder import History
from stream_llsvm.dashboard.monitor import _RECENT
from stream_llsvm.dashboard.server import MOST, Dashboard
from stream_llsvm.dashboard.sse import Feed
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.watchers import Watcher
from tests.dashboard.live import Live, live, rows, stream, wait_for
from tests.dashboard.page_process import Turning

REQUEST = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
SOME_FRAME = 50_000  # bytes: about as many as of a model that has learned a little
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def open_files(wanted: int) -> Iterator[None]:
    """Let this process have so many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the system allows {hard} open files, {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connected(run: Live, stack: ExitStack) -> socket.socket:
    where = urlsplit(run.page.address)
    client = socket.create_connection((where.hostname or "", where.port or 0), timeout=60)
    return stack.enter_context(client)


def status_of(client: socket.socket, request: bytes = HEALTH) -> int:
    """Ask, and return the status; 0 if it hung up."""
    try:
        client.sendall(request)
        line = client.recv(100)
    except OSError:
        return 0
    return int(line.split()[1]) if line else 0


def test_small_answers_are_sent_at_once() -> None:
    """Hold accepted sockets against Nagle's algorithm, which kept each answer back for 40 ms."""
    with live() as run, ExitStack() as stack:
        assert status_of(connected(run, stack)) == 200
        accepted = run.page._server.server_state.connections
        assert accepted
        for one in accepted:
            there = one.transport.get_extra_info("socket")
            assert there.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_thousand_connections_are_held_and_the_rest_told_so() -> None:
    with open_files(3 * MOST), live(rows(100)) as run, ExitStack() as stack:
        run.until(lambda frame: frame["status"]["records"] == 100)
        run.client.close()  # it holds one of them
        wait_for(lambda: not run.page._server.server_state.connections)
        watching = [connected(run, stack) for _ in range(MOST)]
        for client in watching:
            client.sendall(REQUEST)
        assert all(client.recv(20).startswith(b"HTTP/1.1 200") for client in watching)
        assert status_of(connected(run, stack)) == 503
        # Of those far beyond, nobody is listened to.
        beyond = [connected(run, stack) for _ in range(100)]
        assert 0 in [status_of(client) for client in beyond]
        # The run does not care.
        run.source.feed(rows(500, seed=1))
        wait_for(lambda: run.engine.progress.counts["records"] == 600)
        # And there is room again when they leave.
        for client in watching[:200] + beyond:
            client.close()
        wait_for(lambda: status_of(connected(run, stack)) == 200)


def test_when_many_watch_frames_become_rarer() -> None:
    with open_files(1_000), live(rows(100)) as run, ExitStack() as stack:
        run.until(lambda frame: frame["status"]["records"] == 100)
        for _ in range(160):
            connected(run, stack).sendall(REQUEST)
        wait_for(lambda: run.page.monitor.pace >= 0.9)
        stack.close()
        wait_for(lambda: len(run.page.feed) == 0)


@pytest.mark.parametrize("asked_before", [0, 1, 3])
def test_who_sends_a_request_drop_by_drop_is_hung_up_on(
    asked_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_llsvm.dashboard.server._REQUEST_TIMEOUT", 1.0)
    with live() as run, ExitStack() as stack:
        client = connected(run, stack)
        for _ in range(asked_before):
            client.sendall(HEALTH)
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(10_000)
        client.settimeout(0.1)
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        end = time.monotonic() + 60
        with suppress(ConnectionError):  # or it ends without a word
            while time.monotonic() < end:
                client.sendall(b"X-More: to come\r\n")
                with suppress(TimeoutError):
                    assert client.recv(1) == b""
                    break
        assert time.monotonic() < end


def test_clients_that_come_and_go_leave_nothing_behind() -> None:
    with live(rows(100)) as run:
        run.until(lambda frame: frame["status"]["records"] == 100)
        for _ in range(30):
            with ExitStack() as stack:
                for _ in range(10):
                    connected(run, stack).sendall(REQUEST)
        run.client.close()
        wait_for(lambda: len(run.page.feed) == 0)
        wait_for(lambda: not run.page._server.server_state.tasks)
        assert run.page.monitor.watchers == 0
        assert {thread.name for thread in threading.enumerate()} >= {"frames", "page"}


@pytest.mark.parametrize(
    "bytes_",
    [
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: -5\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_request_is_refused(bytes_: bytes) -> None:
    with live(rows(10)) as run, ExitStack() as stack:
        client = connected(run, stack)
        client.settimeout(15)
        status = status_of(client, bytes_)
        assert status == 0 or 400 <= status < 500
        assert run.get("/healthz").status_code in (200, 503)


def test_a_head_has_no_body() -> None:
    with live(rows(10)) as run:
        where = urlsplit(run.page.address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
        connection.request("HEAD", "/healthz")
        answer = connection.getresponse()
        assert answer.read() == b""
        connection.close()


def test_the_history_of_a_long_run_takes_no_more_memory() -> None:
    def grow(first: int, n: int) -> int:
        for i in range(first, first + n):
            history.add({"id": i, "time": i / 4, "members": [0.1] * 6, "rate": float(i)})
        ours = [tracemalloc.Filter(True, one) for one in (__file__, builder.__file__)]
        return sum(one.size for one in tracemalloc.take_snapshot().filter_traces(ours).traces)

    history = History()
    tracemalloc.start()
    try:
        before = grow(0, 4 * POINTS)
        after = grow(4 * POINTS, 40 * POINTS)
    finally:
        tracemalloc.stop()
    assert after < 1.1 * before
    assert len(history.points()) <= POINTS


def test_recent_records_are_bounded_however_they_come() -> None:
    for size in (1, 7, 1_000):
        with live(rows(3_000), max_batch=size) as run:
            run.until(lambda frame: frame["status"]["records"] == 3_000)
            kept = run.page.monitor._recent
            assert sum(len(taken.batch) for taken in kept) - len(kept[0].batch) < _RECENT
            assert max(len(taken.batch) for taken in kept) <= _RECENT
            run.until(lambda f: f["model"] and f["model"]["whys"])
            sequel = run.page.monitor._after
            assert sequel is not None
            answered = sequel.answered()
            assert answered is None or answered.number <= 50


def held(root: object) -> int:
    """Return how many bytes an object takes with all that it leads to, but for code.

    What the process takes says less: how much of that is free depends on what ran before, and on
    whatever else runs now.
    """
    code = {id(vars(one)) for one in list(sys.modules.values()) if isinstance(one, ModuleType)}
    seen, found, size = set(code), [root], 0
    while found:
        one = found.pop()
        if id(one) in seen or isinstance(one, ModuleType | type):
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        found += gc.get_referents(one)
    return size


@pytest.mark.parametrize("keeps", [False, True])
def test_a_page_that_is_watched_for_long_keeps_no_frame(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hurried(Watcher):
        """Lets every turn of the loop be looked at."""

        def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
            page.monitor._next_look = page.monitor._next_copy = page.builder._next_view = 0.0

    kept = []

    def published(self: Feed, message: Any) -> None:
        if keeps:
            kept.append(bytearray(SOME_FRAME))
        publish(self, message)

    publish = Feed.publish
    monkeypatch.setattr(Feed, "publish", published)
    monkeypatch.setattr("tests.dashboard.page_process._RATE", 1e9)
    engine = Engine(Turning(), SAPLClassifier(), watchers=[Hurried()])
    with Dashboard(engine, port=0) as page:
        page.builder.history = History(most=20)
        run = threading.Thread(target=engine.run)
        run.start()
        try:
            with stream(page.address) as events:
                sizes = []
                for frames in (60, 80):
                    for _ in range(frames):
                        events.until(lambda frame: frame["model"])
                    sizes.append(held([page, kept]))
        finally:
            engine.stop()
            run.join()
    assert (sizes[1] - sizes[0] > 80 * SOME_FRAME / 2) == keeps, sizes
