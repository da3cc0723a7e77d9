"""What docs/connectors.md shows runs as it is written there."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tools.kafka_broker import free_ports

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "connectors.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@contextmanager
def datagrams(port: int) -> Iterator[None]:
    """Send records again and again, one in ten of them poisoned, to whoever listens."""
    done = threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for i in range(10**9):
                if done.is_set():
                    return
                record: Any = {"speed": i % 7, "gust": "NA" if i % 3 else 1.5, "storm": i % 7 > 3}
                raw = b"{" if i % 10 == 0 else json.dumps(record).encode()
                one.sendto(raw, ("127.0.0.1", port))
                time.sleep(0.001)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder in which the page's package is, as pip would have installed it."""
    (source, _), (pyproject,) = blocks("python"), blocks("toml")
    (tmp_path / "udp_connector.py").write_text(source)
    info = tmp_path / "udp_connector-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: udp-connector\nVersion: 1.0\n")
    points = re.sub(r'\[project.entry-points."(.*)"\]', r"[\1]", pyproject).replace('"', "")
    (info / "entry_points.txt").write_text(points)
    return tmp_path


def command(installed: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stream_llsvm.cli", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(installed)])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_connector_of_another_package_runs(installed: Path) -> None:
    """With ``run --from``, with its own flag and its own checks, and without going back."""
    text = PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(r"^stream-llsvm (run --from udp:.*)$", text, re.MULTILINE)
    (port,) = free_ports(1)
    run = shown.split()
    assert run[:3] == ["run", "--from", "udp://127.0.0.1:5140"]
    run[2] = f"udp://127.0.0.1:{port}"
    run[-1] = str(installed / "kept")
    with datagrams(port):
        for learned in (200, 400):
            done = command(installed, *run, "--max-records", 200, "--json", "--model", "sapl")
            assert done.returncode == 0, done.stderr
            report = json.loads(done.stdout)
            assert report["records"] == learned
            assert report["learned"] + sum(report["rejected"].values()) == learned
            assert set(report["rejected"]) == {"invalid JSON"}
            assert (
                f"warning: at most once: udp 127.0.0.1:{port} cannot be read again" in done.stderr
            )
    assert "--max-bytes" in command(installed, "run", "--help").stdout
    wrong = command(installed, *run, "--max-bytes", 70_000)
    assert wrong.returncode == 2 and "from 1 to 65,507" in wrong.stderr
    other = command(installed, "run", "--from", "a.csv", "--label", "y", "--max-bytes", 9)
    assert "--max-bytes: it is for UDP only" in other.stderr
    written = command(installed, *run, "--to", "udp://127.0.0.1:1")
    assert "results cannot be written to UDP" in written.stderr


def test_a_broken_connector_stops_only_who_names_it(installed: Path) -> None:
    (installed / "udp_connector.py").write_text("import nothing_of_this_name\n")
    other = command(installed, "run", "--from", "no.csv", "--label", "y")
    assert other.returncode == 2 and "no.csv: there is no such file" in other.stderr
    own = command(installed, "run", "--from", "udp://127.0.0.1:1", "--label", "y")
    assert own.returncode == 2 and "Traceback" not in own.stderr
    assert (
        "udp: the connector cannot be used: udp_connector:UdpConnector: ModuleNotFou" in own.stderr
    )


def test_its_source_alone_is_enough_in_python() -> None:
    source, usage = blocks("python")
    (port,) = free_ports(1)
    space: dict[str, Any] = {}
    exec(source, space)
    with datagrams(port):
        exec(usage.replace("5140", str(port)), space)
    report = space["report"]
    assert report["records"] == 200 and report["learned"] >= 175
    assert report["scores"]["cumulative"]["accuracy"] > 0.5
