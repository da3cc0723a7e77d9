"""Who may look, and what they cannot reach."""

from __future__ import annotations

import http.client
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from stream_llsvm import Engine, LLSVMClassifier
from stream_llsvm.connectors import ListSource
from stream_llsvm.dashboard.app import static_files
from stream_llsvm.dashboard.server import Dashboard, DashboardError
from tests.dashboard.live import Live, live, rows

TOKEN = "correct horse battery"
EVERYTHING = [
    "/",
    "/static/index.html",
    "/events",
    "/api/snapshot",
    "/api/history",
    "/metrics",
    "/api/predict",
    "/nothing",
]


def raw(run: Live, path: str, **headers: str) -> tuple[int, str]:
    """Ask with exactly this path and these headers; return the status and the answer."""
    where = urlsplit(run.page.address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def run() -> Any:
    with live(rows(50)) as running:
        running.until(lambda frame: frame["status"]["records"] == 50)
        yield running


@pytest.fixture(scope="module")
def locked() -> Any:
    with live(rows(50), token=TOKEN) as running:
        yield running


@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("given", [None, "x", "wrong token", TOKEN + "x", TOKEN[:-1], "é" * 21])
def test_without_the_token_nothing_is_shown(locked: Live, path: str, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": f"Bearer {given}".encode()}
    answer = locked.get(path, headers=headers)
    assert answer.status_code == 401
    assert set(answer.json()) == {"error"}
    if given is not None and path == "/":
        assert locked.get("/", params={"token": given}).status_code == 401


def test_the_token_as_a_header_opens_everything(locked: Live) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert locked.get("/api/history", headers=headers).status_code == 200
    assert locked.get("/metrics", headers=headers).status_code == 200


def test_the_token_in_the_address_becomes_a_cookie(locked: Live) -> None:
    answer = locked.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "./")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert TOKEN.replace(" ", "") not in cookie
    name, value = cookie.partition(";")[0].split("=")
    assert locked.get("/api/history", headers={"Cookie": f"{name}={value}"}).status_code == 200
    assert locked.get("/api/history", headers={"Cookie": f"{name}={value}x"}).status_code == 401
    assert locked.get("/api/history", headers={"Cookie": f"other={value}"}).status_code == 401
    locked.client.cookies.clear()


def test_health_needs_no_token(locked: Live) -> None:
    assert set(locked.get("/healthz").json()) == {"ok", "state", "silent_for"}


def test_the_token_is_in_no_answer(locked: Live) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for path in ("/", "/api/snapshot", "/api/history", "/metrics", "/healthz", "/nothing"):
        answer = locked.get(path, headers=headers)
        assert TOKEN not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "8.8.8.8", "", "[::2]:1",
     "0.0.0.0", "localhost@evil.example", "xlocalhost"],
)  # fmt: skip
def test_a_name_that_was_made_to_point_here_is_refused(run: Live, host: str) -> None:
    status, text = raw(run, "/api/history", Host=host)
    assert status == 403
    assert "localhost" in text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:99", "127.0.0.1", "[::1]:80", "LOCALHOST"]
)
def test_this_machine_is_let_in(run: Live, host: str) -> None:
    assert raw(run, "/api/history", Host=host)[0] == 200


def test_with_a_token_any_name_will_do(locked: Live) -> None:
    headers = {"Host": "learner.example", "Authorization": f"Bearer {TOKEN}"}
    assert raw(locked, "/api/history", **headers)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/index.html%00.js",
        "/static/",
        "/static",
        "/static/.",
        "/static/..\\app.py",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/static/none.js",
    ],
)
def test_only_the_page_s_own_files_can_be_had(run: Live, path: str) -> None:
    status, text = raw(run, path)
    assert status == 404
    assert "import" not in text and "root:" not in text


def test_every_answer_carries_the_headers(run: Live) -> None:
    for path in ("/", "/api/history", "/nothing", "/healthz"):
        headers = run.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert "access-control-allow-origin" not in run.get("/", headers={"Origin": "null"}).headers


def test_files_are_as_they_are_and_asked_for_once(run: Live) -> None:
    for name, file in static_files().items():
        answer = run.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.content == file.content
        assert answer.headers["content-type"] == file.type
        again = run.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_the_policy_names_the_scripts_inside_the_page(run: Live) -> None:
    answer = run.get("/")
    if answer.status_code == 404:
        pytest.skip("this checkout has no page")
    inline = re.findall(r"<script(?![^>]*src=)[^>]*>", answer.text)
    assert answer.headers["content-security-policy"].count("'sha256-") == len(inline)


def make(**options: Any) -> None:
    with Dashboard(Engine(ListSource([], "y"), LLSVMClassifier()), **options):
        pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "learner.example"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(DashboardError, match="needs a token"):
        make(host=host, port=0)


@pytest.mark.parametrize("token", ["", "short", "x" * 201, "tab\tinside\t", "ümlaut-ümlaut"])
def test_a_token_that_will_not_do(token: str) -> None:
    with pytest.raises(DashboardError, match="8 to 200 printable") as told:
        make(port=0, token=token)
    assert not token or token not in str(told.value)


def test_a_port_that_is_taken(run: Live) -> None:
    with pytest.raises(DashboardError, match=r"127\.0\.0\.1:\d+ cannot be listened to"):
        make(port=run.page.port)


def test_nothing_of_the_page_is_loaded_from_elsewhere() -> None:
    for name, file in static_files().items():
        if name.endswith((".html", ".css", ".js")):
            text = file.content.decode()
            assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text), name
            assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", text), name


def test_the_package_data_are_there() -> None:
    folder = Path(__file__).resolve().parents[2] / "stream_llsvm" / "dashboard" / "static"
    if not folder.is_dir():
        pytest.skip("this checkout has no page")
    assert set(static_files()) == {one.name for one in folder.iterdir()}
