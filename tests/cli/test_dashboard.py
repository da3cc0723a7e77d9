"""A run with its page, as a process: seen over HTTP, and over when the run is."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from stream_llsvm.extras import install_command
from tests.cli.support import ROOT, csv_file, refused, run, started, wait_for

pytest.importorskip("uvicorn", reason="comes with the extra 'dashboard'")

MODEL = ["--model", "llsvm", "--option", "n_anchors=12", "--option", "n_neighbors=4"]
OPENER = build_opener(ProxyHandler({}))


def flags(data: Path, *more: Any) -> list[Any]:
    return ["run", "--from", data, "--label", "y", "--key", "id", *MODEL, *more]


class Shown:
    """A process that shows its run."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self.process, self.line = process, line
        found = re.search(r"the live page is at (http://\S+)", line)
        assert found is not None, line
        self.address = urlsplit(found[1])

    def get(self, path: str, **headers: str) -> Any:
        """Ask it for something."""
        where = f"http://localhost:{self.address.port}{path}"
        with OPENER.open(Request(where, headers=headers), timeout=60) as answer:
            return json.loads(answer.read())

    @contextmanager
    def watched(self) -> Iterator[http.client.HTTPResponse]:
        """Watch it, and have the first bytes of that."""
        connection = http.client.HTTPConnection("localhost", self.address.port, timeout=60)
        with closing(connection):
            connection.request("GET", "/events")
            with connection.getresponse() as answer:
                assert answer.status == 200
                assert answer.readline().startswith(b"retry")
                yield answer


@contextmanager
def shown(*arguments: Any) -> Iterator[Shown]:
    """Start a run with a page, and end it if the test has not."""
    process = started(*arguments)
    assert process.stderr is not None
    try:
        yield Shown(process, process.stderr.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return csv_file(tmp_path / "data.csv", 400)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_run_ends_promptly_though_it_is_watched(
    data: Path, number: signal.Signals, code: int
) -> None:
    with (
        shown(*flags(data, "--follow", "--json", "--dashboard", 0)) as page,
        page.watched() as watching,
        page.watched(),  # which nobody reads any more
    ):
        wait_for(lambda: page.get("/api/snapshot")["status"]["records"] == 400)
        begin = time.monotonic()
        page.process.send_signal(number)
        rest = watching.read()
        out, err = page.process.communicate(timeout=120)
        assert time.monotonic() - begin < 60
        assert page.process.returncode == code, err
        assert json.loads(out)["learned"] == 400
        frames = [line for line in rest.splitlines() if line.startswith(b"data: ")]
        assert json.loads(frames[-1][6:])["status"]["state"] == "stopped"
        assert "Traceback" not in err


def test_a_run_that_ends_by_itself_takes_its_page_along(data: Path) -> None:
    with shown(*flags(data, "--json", "--dashboard", "localhost:0")) as page:
        out, err = page.process.communicate(timeout=120)
        assert page.process.returncode == 0, err
        assert json.loads(out)["learned"] == 400


def test_a_token_that_was_made_is_printed_once_and_needed(data: Path) -> None:
    with shown(*flags(data, "--follow", "--dashboard", 0, "--new-token", "--json")) as page:
        token = page.address.query.removeprefix("token=")
        assert len(token) >= 32
        with pytest.raises(HTTPError, match="401") as error:
            page.get("/api/snapshot")
        error.value.close()
        wait_for(
            lambda: (
                page.get("/api/snapshot", Authorization=f"Bearer {token}")["status"]["records"]
                == 400
            )
        )
        page.process.send_signal(signal.SIGTERM)
        out, err = page.process.communicate(timeout=120)
        assert token not in out + err


def test_a_token_that_was_given_is_never_printed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_LLSVM_TOKEN", "from the environment")
    with shown(*flags(data, "--follow", "--dashboard", 0, "--json")) as page:
        bearer = {"Authorization": "Bearer from the environment"}
        wait_for(lambda: page.get("/healthz")["state"] != "starting")
        assert page.get("/api/history", **bearer)["points"]
        told = run("top", f"localhost:{page.address.port}", "--once")
        assert told.exit_code == 0, told.output
        assert "records" in told.stdout
        monkeypatch.setenv("STREAM_LLSVM_TOKEN", "another one")
        assert "401" in refused("top", f"localhost:{page.address.port}")
        page.process.send_signal(signal.SIGTERM)
        out, err = page.process.communicate(timeout=120)
        assert "environment" not in page.line + out + err


def test_the_pipeline_file_says_it_too(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\nfollow = true\n'
        '[model]\nclass = "llsvm"\n[dashboard]\nport = 0\ntoken = "in the file itself"\n'
    )
    with shown("run", file, "--json") as page:
        bearer = {"Authorization": "Bearer in the file itself"}
        wait_for(lambda: page.get("/api/snapshot", **bearer)["status"]["records"] == 400)
        page.process.send_signal(signal.SIGTERM)
        out, err = page.process.communicate(timeout=120)
        assert "file itself" not in page.line + out + err


def test_what_is_wrong_is_told_in_a_line(data: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port} cannot be listened to" in refused(
            *flags(data, "--dashboard", port)
        )
    for address in ("x", "", ":80", "1:2:x", "70000", "-1"):
        told = refused(*flags(data, f"--dashboard={address}"))
        assert "write a port" in told and told.count("\n") == 1
    told = refused(*flags(data, "--dashboard", "0.0.0.0:0"))
    assert "needs a token" in told and "STREAM_LLSVM_TOKEN" in told
    file = tmp_path / "p.toml"
    file.write_text(
        f'[source]\nfrom = "{data}"\nlabel = "y"\nkey = "id"\n'
        '[dashboard]\nport = "8765"\ntoken = ["hidden"]\nhots = "0.0.0.0"\n'
    )
    told = refused("run", file)
    assert "[dashboard] port" in told and "is text, {" in told and "did you mean" in told
    assert "hidden" not in told


@pytest.mark.parametrize("absent", ["starlette", "uvicorn"])
def test_without_the_extra_one_line_says_what_to_install(data: Path, absent: str) -> None:
    code = (
        f"import sys; sys.modules[{absent!r}] = None; from stream_llsvm.cli.main import main; "
        f"sys.argv[1:] = {[str(one) for one in flags(data, '--dashboard', 0)]!r}; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    hint = f"{absent} is not installed: {install_command('dashboard')}"
    assert f"the live page: {hint}" in done.stderr
    assert done.stderr.count("\n") == 1
