"""The stream of frames: live, without gaps, and at nobody's cost."""

from __future__ import annotations

import socket
import time
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from stream_llsvm.dashboard.sse import _QUEUE
from tests.dashboard.live import live, rows, stream, wait_for


def test_frames_come_as_the_run_goes_on() -> None:
    with live(rows(100)) as run, stream(run.page.address) as watching:
        first = watching.until(lambda frame: frame["status"]["records"] == 100)
        run.source.feed(rows(50, seed=1))
        begin = time.time()
        second = watching.until(lambda frame: frame["status"]["records"] == 150)
        assert second["id"] > first["id"]
        assert second["time"] - begin < 2
        assert second["point"]["records"] == 150


def test_frames_do_not_come_too_often() -> None:
    with live(rows(10)) as run, stream(run.page.address) as watching:
        times = [watching.until(lambda frame: True)["time"] for _ in range(8)]
        gaps = [b - a for a, b in pairwise(times[1:])]
        assert sum(gaps) / len(gaps) >= 0.24


def test_who_comes_back_is_told_what_was_missed() -> None:
    with live(rows(10)) as run:
        with stream(run.page.address) as watching:
            last = watching.until(lambda frame: frame["status"]["records"] == 10)["id"]
        run.source.feed(rows(20, seed=1))
        wait_for(lambda: len(run.page.builder.history.points(after=last)) >= 3)
        run.engine.progress.note("drift", "made up by the test")
        with stream(run.page.address, last=last) as watching:
            number, kind, missed = watching.next()
            assert kind == "missed"
            ids = [point["id"] for point in missed["points"]]
            _, kind, frame = watching.next()
            assert kind == "frame"
            known = [point["id"] for point in run.page.builder.history.points()]
            between = [one for one in known if last < one <= frame["id"]]
            assert [*ids, frame["id"]] == between
            assert len(ids) >= 2
            assert number >= ids[-1]
            watching.until(lambda frame: frame["events"])
        with stream(run.page.address, last=last) as watching:
            _, _, missed = watching.next()
            assert [event["text"] for event in missed["events"]] == ["made up by the test"]


def test_the_query_does_what_the_header_does() -> None:
    with live(rows(10)) as run:
        run.until(lambda frame: frame["status"]["records"] == 10)
        with run.client.stream("GET", "/events?last=0") as response:
            lines = response.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: missed"


@pytest.mark.parametrize("last", ["x", "-1", "9" * 40, "", "1e5", "\u0663"])
def test_a_last_id_that_is_none_is_passed_over(last: str) -> None:
    with live(rows(10)) as run:
        run.until(lambda frame: frame["status"]["records"] == 10)
        with run.client.stream("GET", "/events", params={"last": last}) as response:
            lines = response.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: frame"


def test_a_run_that_has_ended_shows_its_last_frame_and_stays_alive() -> None:
    with live(rows(30)) as run:
        run.finish()
        run.until(lambda frame: frame["status"]["state"] == "stopped")
        with stream(run.page.address) as watching:
            frame = watching.until(lambda frame: True)
            assert frame["status"]["state"] == "stopped"
            assert frame["status"]["records"] == 30
            assert frame["model"]["mixture"]
        with run.client.stream("GET", "/events") as response:
            assert any(line == ": alive" for line in response.iter_lines())


def test_the_last_frame_reaches_those_who_watch_before_the_page_ends() -> None:
    with live(rows(30)) as run, stream(run.page.address) as watching:
        watching.until(lambda frame: frame["status"]["records"] == 30)
        run.finish()
        begin = time.monotonic()
        run.page.__exit__()
        assert time.monotonic() - begin < 3
        frame = watching.until(lambda frame: frame["status"]["state"] == "stopped")
        assert frame["status"]["records"] == 30
        with pytest.raises(EOFError):
            watching.until(lambda frame: False)


def hung(address: str) -> socket.socket:
    """Ask for the frames and read none of them."""
    where = urlsplit(address)
    assert where.hostname and where.port
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    client.connect((where.hostname, where.port))
    client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client


def test_a_client_that_hangs_costs_a_short_queue_and_nothing_else() -> None:
    with live(rows(100)) as run:
        client = hung(run.page.address)
        wait_for(lambda: len(run.page.feed) == 1)
        subscriber = next(iter(run.page.feed._subscribers))
        for i in range(200):  # more than sockets hold
            run.source.feed(rows(5, seed=i))
            run.page.monitor._next_look = 0.0
            wait_for(lambda i=i: run.engine.progress.counts["records"] >= 100 + 5 * (i + 1))  # type: ignore[misc]
            if subscriber.dropped:
                break
            time.sleep(0.02)
        assert subscriber.dropped
        assert len(subscriber._queue) == _QUEUE
        with stream(run.page.address) as watching:
            done = run.engine.progress.counts["records"]
            run.source.feed(rows(50, seed=9))
            watching.until(lambda frame: frame["status"]["records"] == done + 50)
        begin = time.monotonic()
        run.finish()
        run.page.__exit__()
        assert time.monotonic() - begin < 4
        client.close()


def test_who_was_too_slow_is_told_the_points_of_the_frames_it_lost() -> None:
    with live(rows(10)) as run, stream(run.page.address) as watching:
        watching.until(lambda frame: frame["status"]["records"] == 10)
        loop = run.page.feed._loop
        assert loop is not None
        # While the server's loop is held up, frames pile up behind it.
        before = run.page.builder.history.points()[-1]["id"]
        loop.call_soon_threadsafe(time.sleep, 3.0)
        seen: list[int] = []
        gap = False
        while len(seen) < 20:
            _, kind, data = watching.next()
            if kind == "missed":
                gap = True
                seen += [point["id"] for point in data["points"]]
            else:
                seen.append(data["id"])
        assert gap
        known = [point["id"] for point in run.page.builder.history.points()]
        assert [one for one in seen if one > before] == [
            one for one in known if before < one <= seen[-1]
        ]
