"""Logs that cannot be written, which stop nothing, and a model that fails, which ends the server.

A supervisor starts a process anew that has ended, and not one that refuses everything.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.cli.support import ROOT, csv_file
from tests.serve.support import COMMAND, record, records, serving_command

UNWRITABLE = [("full", "text"), ("full", "json"), ("closed", "text"), ("closed", "json")]
LEARNER = """
from stream_llsvm.engine.learner import Learner

def take(self, batch, labels=None):
    raise RuntimeError("a broken learner")

Learner.take = take
"""
DISK = """
import os

def fdatasync(file):
    raise OSError(5, "a broken disk")

os.fdatasync = fdatasync
"""


@contextmanager
def unwritable(how: str) -> Iterator[IO[str]]:
    """Give a file that nothing can be written to: of a full disk, or a pipe that nobody reads."""
    if how == "full":
        with Path("/dev/full").open("w") as full:
            yield full
        return
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        yield pipe


@pytest.mark.parametrize(("stderr", "form"), UNWRITABLE)
def test_a_log_that_cannot_be_written_stops_no_run(tmp_path: Path, stderr: str, form: str) -> None:
    data = csv_file(tmp_path / "data.csv", 200)
    with data.open("a") as file:
        file.write("too,short\n")  # which is logged
    what = ["run", "--from", data, "--label", "y", "--key", "id", "--model", "llsvm", "--json"]
    with unwritable(stderr) as file:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *map(str, what), "--log-format", form],
            stdout=subprocess.PIPE, stderr=file, check=False, cwd=ROOT,
        )  # fmt: skip
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["learned"] == 200 and sum(told["rejected"].values()) == 1


@pytest.mark.parametrize(("stderr", "form"), UNWRITABLE[::3])
def test_a_log_that_cannot_be_written_stops_no_server(
    tmp_path: Path, stderr: str, form: str
) -> None:
    odd = {"records": [record(0) | {"y": {}, "id": "odd"}, record(1)]}
    with (
        unwritable(stderr) as file,
        serving_command(tmp_path, file, "--log-format", form) as (process, http),
    ):
        assert http.post("/v1/records", json=odd).json()["rejected"] == 1  # which is logged
        for i in range(3):
            told = http.post("/v1/records", json=records(10 * (i + 1), 10)).json()
            assert told["learned"] == 10
        assert http.get("/healthz").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0


@pytest.mark.parametrize("broken", [LEARNER, DISK], ids=["learner", "disk"])
def test_a_model_that_fails_ends_the_server_with_a_code(tmp_path: Path, broken: str) -> None:
    with serving_command(tmp_path, subprocess.PIPE, before=broken) as (process, http):
        answer = http.post("/v1/records", json=records(0, 10))
        assert answer.status_code == 503
        assert "a broken" in answer.json()["error"]
        assert process.wait(300) == 1
        assert process.stderr is not None
        assert re.search("error: model default had stopped: .*a broken", process.stderr.read())
