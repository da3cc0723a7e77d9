"""What one client can take of a server is bounded, and what it is refused is counted and said."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from stream_llsvm.connectors.log.segments import RECORD
from stream_llsvm.connectors.log.writer import LogWriter
from tests.cli.support import wait_for
from tests.disk import fill, small_disk
from tests.serve.support import JSON, LINES, Served, record, records, serving_command

LIMIT = "from stream_llsvm import limits; limits.{} = {}\n"
CHUNKED = (
    b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    flags = ("--label", "y", "--model", "llsvm", "--max-classes", "2")
    with Served(tmp_path_factory.mktemp("served"), *flags) as one:
        one.post("/v1/records", records(0, 300))
        wait_for(lambda: one.learned() == 300)
        yield one


def connected(http: httpx.Client) -> socket.socket:
    """Return a plain connection to a server."""
    one = socket.create_connection(("127.0.0.1", http.base_url.port or 0))
    one.settimeout(60)
    return one


def sockets(process: int) -> int:
    """Return how many sockets a process has open."""
    names = [os.readlink(one) for one in Path(f"/proc/{process}/fd").iterdir() if one.is_symlink()]
    return sum(name.startswith("socket:") for name in names)


def is_hung_up(one: socket.socket) -> bool:
    """Whether the other side has closed a connection, whatever is left to be read of it."""
    poll = select.poll()
    poll.register(one, select.POLLRDHUP)
    return any(flags & ~select.POLLIN for _, flags in poll.poll(0))


def test_requests_sent_ahead_are_bounded(served: Served) -> None:
    with closing(connected(served.http)) as one:
        with pytest.raises(OSError, match=r"reset|Broken"):
            for _ in range(8):
                one.sendall(b"GET /v2 HTTP/1.1\r\n\r\n" * 50_000)
        assert served.get("/healthz")["ok"]
    with closing(connected(served.http)) as few:
        few.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 16)
        got = b""
        while got.count(b"200 OK") < 16:
            some = few.recv(65_536)
            assert some, got
            got += some


def test_who_does_not_read_is_hung_up_on(tmp_path: Path) -> None:
    before = LIMIT.format("UNREAD_SECONDS", 0.1)
    with serving_command(tmp_path, subprocess.DEVNULL, before=before) as (process, http):
        there = sockets(process.pid)
        with closing(socket.socket()) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.connect(("127.0.0.1", http.base_url.port))
            one.sendall(b"GET /static/uplot.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 16)
            assert one.recv(1) == b"H"
            wait_for(lambda: sockets(process.pid) == there)


def test_a_flood_of_connections_costs_nobody_an_answer(tmp_path: Path) -> None:
    with serving_command(tmp_path, subprocess.DEVNULL, before=LIMIT.format("CONNECTIONS", 20)) as (
        _,
        http,
    ):
        wait_for(lambda: http.get("/readyz").status_code == 200)
        idle = [connected(http) for _ in range(100)]
        for path in ("healthz", "readyz", "v2"):
            assert httpx.get(http.base_url.join(path), timeout=60).status_code == 200
        assert http.post("/v1/records", json=records(0, 5)).json()["learned"] == 5
        wait_for(lambda: sum(map(is_hung_up, idle)) >= 80)
        for one in idle:
            one.close()


def test_health_is_answered_while_all_connections_are_in_use(tmp_path: Path) -> None:
    with serving_command(tmp_path, subprocess.DEVNULL, before=LIMIT.format("CONNECTIONS", 2)) as (
        _,
        http,
    ):
        http.close()
        busy = [connected(http) for _ in range(2)]
        for one in busy:
            one.sendall(CHUNKED + b"1\r\n{\r\n")

        def post() -> httpx.Response:
            return httpx.post(http.base_url.join("/v1/records"), json=records(0, 1), timeout=60)

        wait_for(lambda: post().status_code == 503)
        assert post().json() == {"error": "2 requests are being answered: try again"}
        assert httpx.get(http.base_url.join("/healthz"), timeout=60).status_code == 200
        for one in busy:
            one.close()


@pytest.mark.parametrize("begun", [b"", b"1\r\n{\r\n"], ids=["nothing", "half"])
def test_a_body_that_does_not_come_is_408(tmp_path: Path, begun: bytes) -> None:
    with (
        serving_command(tmp_path, subprocess.DEVNULL, before=LIMIT.format("BODY_SECONDS", 0.1)) as (
            _,
            http,
        ),
        closing(connected(http)) as one,
    ):
        one.sendall(CHUNKED + begun)
        assert one.recv(65_536).startswith(b"HTTP/1.1 408 ")


def deep(levels: int) -> Any:
    """Return lists within each other."""
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("one", "why"),
    [
        ({"a": 1, "id": "x" * 1_001}, "record 0: 'id' has 1,001 bytes, at most 1,000"),
        ({"a": 1, "id": "\u00e9" * 501}, "record 0: 'id' has 1,002 bytes, at most 1,000"),
        ({"a": 1, "y": "x" * 1_001}, "record 0: 'y' has 1,001 bytes, at most 1,000"),
        ({"a": deep(100)}, "record 0: it is nested too deeply, more than 100 levels"),
        ({"a": {"b": [{"c": deep(250)}]}}, "it is nested too deeply, more than 100 levels"),
        ({"a": 1, "y": "third"}, "record 0: too many classes: the label 'third' is new, and"),
        ({"a": 1, "y": 3}, "record 0: too many classes: the label 3 is new, and max_classes is 2"),
    ],
)
def test_a_record_beyond_a_bound_is_refused_in_words(served: Served, one: Any, why: str) -> None:
    before = served.get("/v1/models/default")["log"]["end"]
    text = b'{"records": [' + deeply(one) + b"]}"
    answer = served.http.post(
        "/v1/records", content=text, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert why in answer.json()["error"]
    lines = served.http.post("/v1/records", content=deeply(one), headers=LINES)
    assert (lines.status_code, why in lines.json()["error"]) == (422, True), lines.text
    assert served.get("/v1/models/default")["log"]["end"] == before


def deeply(one: Any) -> bytes:
    """Return JSON, however deep: what writes it elsewhere has a bound of its own."""
    if isinstance(one, dict):
        return b"{%b}" % b",".join(orjson.dumps(k) + b":" + deeply(v) for k, v in one.items())
    return b"[%b]" % deeply(one[0]) if isinstance(one, list) else orjson.dumps(one)


def test_what_is_within_the_bounds_is_taken(served: Served) -> None:
    one = {"a": 1, "b": deep(97), "id": "x" * 1_000, "y": "up", "text": "[" * 500}
    assert served.post("/v1/records", {"records": [one]})["learned"] == 1
    label = {"labels": [{"id": "y" * 1_000, "label": "up"}]}
    assert served.post("/v1/labels", label)["taken"] == 1


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ({"id": "y" * 1_001, "label": "up"}, "label 0: 'id' has 1,001 bytes"),
        ({"id": "r5", "label": "y" * 1_001}, "label 0: 'label' has 1,001 bytes"),
        ({"id": "r5", "label": "third"}, "label 0: too many classes: the label 'third' is new"),
    ],
)
def test_a_label_beyond_a_bound_is_refused_in_words(served: Served, label: Any, why: str) -> None:
    assert why in served.post("/v1/labels", {"labels": [label]}, 422)["error"]


def test_the_id_of_an_inference_is_text(served: Served) -> None:
    tensor = {"name": "a", "shape": [1], "datatype": "FP64", "data": [1.0]}
    body = b'{"id": %b, "inputs": [%b]}' % (deeply(deep(300)), orjson.dumps(tensor))
    answer = served.http.post("/v2/models/default/infer", content=body, headers=JSON)
    assert answer.status_code == 400
    assert "the id must be text" in answer.json()["error"]


def test_labels_at_once_are_no_more_classes_either(tmp_path: Path) -> None:
    body = {"records": [{"a": float(i), "y": f"class {i % 10}"} for i in range(40)]}
    with Served(tmp_path, "--label", "y", "--model", "llsvm", "--max-classes", "3") as one:
        told = one.post("/v1/records", body)
        assert (told["learned"], told["rejected"]) == (12, 28)
        assert "too many classes: the label 'class 3' is new" in told["predictions"][3]["error"]
        assert one.get("/healthz")["ok"]


FAULT = """
from stream_llsvm.serve.ids import Ids

number = Ids.number
Ids.number = lambda self, key: 1 // 0 if key == "fault" else number(self, key)
"""


def test_a_request_that_failed_leaves_nothing_behind(tmp_path: Path) -> None:
    first = [record(0), record(1, label=False), record(2)]
    with serving_command(tmp_path, subprocess.DEVNULL, before=FAULT) as (_, http):
        assert http.post("/v1/records", json={"records": [record(2)]}).json()["learned"] == 1
        failing = {"records": [*first, {"a": 1, "id": "fault"}]}
        assert http.post("/v1/records", json=failing).status_code == 500
        told = http.post("/v1/records", json={"records": first}).json()
        assert (told["learned"], told["duplicates"]) == (1, 1)
        model = http.get("/v1/models/default").json()
        assert model["log"]["end"] == 3


def metric(text: str, status: int) -> float:
    """Return how many requests were refused with a status."""
    name = f'stream_llsvm_refused_total{{model="default",status="{status}"}} '
    found = [line for line in text.splitlines() if line.startswith(name)]
    return float(found[0].removeprefix(name)) if found else 0.0


def test_refusals_are_counted_and_the_first_is_logged(tmp_path: Path) -> None:
    with Served(tmp_path, "--label", "y", "--model", "llsvm", "--body-bytes", "1000") as one:
        for _ in range(3):
            one.post("/v1/records", records(0, 100), 413)
            one.post("/v1/models/nobody/records", records(0, 1), 404)
        one.post("/v1/records", {"records": [5]}, 422)
        one.post("/v1/records", {"records": [record(1), 5]})
        wait_for(lambda: metric(one.http.get("/metrics").text, 413) == 3)
        text = one.http.get("/metrics").text
        assert [metric(text, status) for status in (404, 422, 429)] == [3, 1, 0]
        assert 'stream_llsvm_refused_records_total{model="default"} 2' in text
        said = one.stop()
    assert said.count("requests are refused with 413: the body is above 1,000 bytes") == 1
    assert said.count("requests are refused with 404: there is no model 'nobody") == 1
    assert "\x1b" not in said


def test_a_full_disk_is_not_ready_until_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        with Served(disk, "--label", "y", "--model", "llsvm", "--keep", "2") as one:
            one.post("/v1/records", records(0, 50))
            wait_for(lambda: one.http.get("/readyz").status_code == 200)
            filling = fill(disk, leave=100)
            for _ in range(2):
                one.post("/v1/records", records(100, 300), 507)
            answer = one.http.get("/readyz")
            assert answer.status_code == 503
            assert answer.json()["not_ready"] == {"default": {"log": "the disk is full"}}
            assert metric(one.http.get("/metrics").text, 507) == 2
            filling.unlink()
            assert one.http.get("/readyz").status_code == 200
            one.post("/v1/records", records(100, 300))
            assert one.http.get("/readyz").status_code == 200
            said = one.stop()
        assert said.count("requests are refused with 507: the disk is full") == 1


WAITING = """
import pathlib, time
from stream_llsvm.engine.learner import Learner

take = Learner.take

def slow(self, batch, labels=None):
    while not pathlib.Path({!r}).exists():
        time.sleep(0.01)
    return take(self, batch, labels)

Learner.take = slow
"""


def test_a_server_with_too_much_to_learn_is_not_ready(tmp_path: Path) -> None:
    log = LogWriter(tmp_path / "kept" / "default" / "log")
    log.append([(RECORD, orjson.dumps(record(i))) for i in range(500)])
    log.close()
    go = tmp_path / "go"
    before = WAITING.format(str(go))
    flags = ("--waiting", 100)
    with serving_command(tmp_path / "kept", subprocess.DEVNULL, *flags, before=before) as (_, http):

        def missing() -> dict[str, str]:
            answer = http.get("/readyz")
            assert answer.status_code == (503 if answer.json()["not_ready"] else 200)
            found: dict[str, str] = answer.json()["not_ready"].get("default", {})
            return found

        assert missing()["waiting"] == "500 records wait for the model; 100 may"
        assert http.post("/v1/records", json=records(0, 1)).status_code == 429
        go.touch()
        wait_for(lambda: "waiting" not in missing())
        assert http.post("/v1/records", json=records(0, 1)).status_code == 200


def test_requests_are_told_that_the_server_ends(tmp_path: Path) -> None:
    before = "from stream_llsvm.serve import server; server._FAREWELL = 5.0\n"
    with serving_command(tmp_path, subprocess.DEVNULL, before=before) as (process, http):
        assert http.post("/v1/records", json=records(0, 1)).status_code == 200
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: http.get("/readyz").status_code == 503)
        answer = http.post("/v1/records", json=records(1, 1))
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "the server is ending" in answer.json()["error"]
        assert process.wait(300) == 0
