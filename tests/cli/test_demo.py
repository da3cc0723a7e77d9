"""The demo: a real run, a real page, and an end with Ctrl-C or SIGTERM."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import Engine
from stream_llsvm.cli.demo import _source as demo_source
from stream_llsvm.cli.demo import command
from stream_llsvm.extras import install_command
from stream_llsvm.streams.pace import PacedSource
from tests.cli import support
from tests.cli.support import ROOT, refused, started

#: The first to run on a machine compiles the kernels, maybe while others do the same.
PATIENCE = 300.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")


def wait_for(what: Callable[[], Any]) -> None:
    support.wait_for(what, PATIENCE)


class Demo:
    """A running demo and its page."""

    def __init__(self, *arguments: object) -> None:
        self.process = started("demo", *arguments)
        assert self.process.stdout is not None
        self.about = self.process.stdout.readline()
        found = ADDRESS.search(self.process.stdout.readline())
        assert found is not None, self.process.communicate(timeout=120)
        self.address, self.port = found.group(), int(found.group(1))

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)

    def snapshot(self) -> Any:
        try:
            return self.get("api/snapshot")
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == 409, error  # nothing to see yet
            return {}

    def records(self) -> int:
        return int(self.snapshot().get("status", {}).get("records", 0))

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@contextmanager
def demo(*arguments: object) -> Iterator[Demo]:
    running = Demo("--no-browser", "--port", 0, *arguments)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate(timeout=120)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_shows_a_run_until_it_is_stopped(number: signal.Signals, code: int) -> None:
    with demo("--rate", 600, "--seed", 3) as running:
        assert running.about.startswith("bananas: ")
        wait_for(lambda: (running.snapshot().get("model") or {}).get("map"))
        seen = running.snapshot()
        assert seen["status"]["source"] == "moving bananas"
        assert seen["model"]["map"]["axes"] == ["x", "y"]
        assert sorted(seen["model"]["map"]["classes"]) == ["green", "ripe"]
        before = running.records()
        wait_for(lambda: running.records() > before + 300)
        assert running.get("healthz")["ok"]
        with urllib.request.urlopen(running.address, timeout=60) as page:
            assert b"<title>" in page.read()
        status, out, err = running.end(number)
        assert status == code, err
        assert "Traceback" not in err
        assert "accuracy" in out
        assert "records/s" in out


def test_ctrl_c_twice_leaves_while_kernels_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with demo() as running:
        wait_for(lambda: running.get("healthz")["state"] == "compiling")
        assert running.get("healthz")["ok"]
        assert "kernels are being compiled" in running.snapshot()["status"]["text"]
        running.process.send_signal(signal.SIGINT)
        assert running.process.stderr is not None
        while "Ctrl-C again" not in running.process.stderr.readline():
            assert running.process.poll() is None
        _, _, err = running.end(signal.SIGINT)
        # The system ends it, or, while the compiler has the main thread, who hears the signals.
        assert running.process.returncode in (-signal.SIGINT, 130)
        assert "Traceback" not in err


def test_the_pace_is_kept() -> None:
    with demo("--rate", 200) as running:
        wait_for(lambda: running.records() > 0)
        begin, before = time.monotonic(), running.records()
        wait_for(lambda: running.records() >= before + 600)
        # Three seconds, less the one that may be caught up with, and the age of what was shown.
        assert 1.5 < time.monotonic() - begin < 60.0


def test_a_taken_port_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        running = Demo("--no-browser", "--port", port)
        try:
            assert port < running.port <= port + 20
        finally:
            running.process.kill()
            running.process.communicate(timeout=120)


def test_a_file_is_learned_once_and_the_page_stays(data: Path) -> None:
    arguments = ["--stream", data, "--label", "y", "--ignore", "id", "--rate", 0]
    with demo(*arguments) as running:
        wait_for(lambda: running.snapshot().get("status", {}).get("state") == "stopped")
        assert running.records() == 400
        assert running.process.poll() is None
        status, out, err = running.end(signal.SIGINT)
        assert status == 130, err
        assert "the stream has ended; the page stays until Ctrl-C" in out


@pytest.mark.parametrize("stream", ["segments", "led"])
def test_other_streams(stream: str) -> None:
    with demo("--stream", stream, "--rate", 3_000) as running:
        wait_for(lambda: running.records() > 3_000)
        seen = running.snapshot()
        assert seen["status"]["state"] == "running"
        assert seen["status"]["rejected"] == 0
        assert seen["status"]["classes"] == {"segments": 7, "led": 10}[stream]


def test_the_page_is_opened_in_the_users_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    running = Demo("--port", 0)
    try:
        wait_for(lambda: opened.exists() and opened.read_text().strip())
        assert opened.read_text().strip() == running.address
    finally:
        running.process.kill()
        running.process.communicate(timeout=120)


@pytest.mark.parametrize("broken", ["/does/not/exist", ""])
def test_no_browser_is_no_trouble(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", broken)
    running = Demo("--port", 0)
    try:
        wait_for(lambda: running.records() > 0)
        status, _, err = running.end(signal.SIGTERM)
        assert status == 0
        assert "Traceback" not in err
    finally:
        running.process.kill()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stream", "banana"], 'unknown stream "banana": did you mean "bananas"?'),
        (["--stream", "kafka://localhost/a.b"], "unknown stream"),
        (["--stream", "none.csv"], "say which column of none.csv is the label"),
        (["--stream", "none.csv", "--label", "y"], "none.csv: there is no such file"),
        (["--label", "y"], "--label: only a file needs it"),
        (["--stream", "sea", "--ignore", "0"], "--ignore: only a file needs it"),
        (["--rate", "-1"], "--rate"),
        (["--rate", "nan"], "--rate"),
        (["--rate", "inf"], "--rate"),
        (["--rate", "fast"], "--rate"),
        (["--port", "70000"], "--port"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str) -> None:
    told = refused("demo", "--no-browser", *arguments)
    assert said in told
    assert told.count("\n") == 1


def test_a_mistake_about_a_file_is_one_line(data: Path) -> None:
    told = refused("demo", "--no-browser", "--stream", data, "--label", "z")
    assert "there is no column 'z'" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("absent", ["starlette", "uvicorn"])
def test_without_the_extra_one_line_says_what_to_install(absent: str) -> None:
    without = f"import sys; sys.modules[{absent!r}] = None"
    code = f"{without}; from stream_llsvm.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--no-browser"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2
    hint = f"{absent} is not installed: {install_command('dashboard')}"
    assert done.stderr == f"stream-llsvm: the demo: {hint}\n"


def test_the_demo_shows_an_alarm_at_its_first_change() -> None:
    """Learn the demo's own stream, as far as its first half minute."""
    seed = inspect.signature(command).parameters["seed"].default
    _, source = demo_source("bananas", {}, 400, seed)
    assert isinstance(source, PacedSource)
    engine = Engine(source.source)
    engine.run(9_000)
    first = next(event for event in engine.progress.events if event["kind"] == "drift")
    assert 8_000 < first["record"] < 8_100, "after 20 seconds at 400 records a second"
