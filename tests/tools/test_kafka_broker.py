"""``make kafka`` says which port it takes, and why, and ends when its broker does."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.conftest import without
from tools import kafka_broker


def test_a_taken_port_and_a_broker_that_dies() -> None:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # somebody else has taken it already
            stack.enter_context(socket.create_server((kafka_broker.HOST, 9092)))
        process = subprocess.Popen(
            [sys.executable, kafka_broker.__file__],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("Ctrl-C stops it"):
                break
        else:
            without(f"no Kafka broker: {process.communicate()[1]}")
    taken = next(line for line in said if line.startswith("Port 9092 is taken"))
    port = next(line for line in said if line.startswith("plain text")).rpartition(":")[2].strip()
    assert f"this one is at port {port}, which then stands for 9092 in all commands" in taken
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    os.kill(int(children[0]), signal.SIGKILL)
    assert "The broker has died: exit code -9; " in process.communicate(timeout=60)[1]
    assert process.returncode == 1
