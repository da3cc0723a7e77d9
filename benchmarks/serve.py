"""What a server answers in a second, and what an answer costs it.

Clients keep one connection each and send the next request when the last is answered; all of them
are one process. The server's own CPU time tells what it costs, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import results
import uvloop

FIELDS, POOL = 22, 2_000
_HEAD = (
    b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


class Case(NamedTuple):
    """So many clients that send so many records at once, with or without an id."""

    clients: int
    batch: int
    ids: bool


CASES = [Case(64, 1, False), Case(64, 1, True), Case(16, 100, False), Case(16, 100, True)]


class Load:
    """Makes requests, and notes how long each took."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng(1)
        x = rng.normal(size=(POOL, FIELDS)).round(4)
        labels = (x[:, 0] * x[:, 1] > 0).astype(int).tolist()
        self._pool = [
            json.dumps({f"field_{i}": v for i, v in enumerate(row)} | {"y": y}).encode()[:-1]
            for row, y in zip(x.tolist(), labels, strict=True)
        ]
        self.case, self.sent, self.seconds = case, 0, list[float]()
        self.end = self.left = 0.0
        self._run = os.getpid() * 10**6 + time.monotonic_ns() % 10**6

    def request(self) -> bytes:
        """Return the next one."""
        parts = []
        for _ in range(self.case.batch):
            self.sent += 1
            ending = b',"id":"%d-%d"}' % (self._run, self.sent) if self.case.ids else b"}"
            parts.append(self._pool[self.sent % POOL] + ending)
        body = b'{"records":[' + b",".join(parts) + b"]}"
        return _HEAD % len(body) + body


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, load: Load) -> None:
        self._load, self._got = load, b""

    def connection_made(self, transport: Any) -> None:  # uvloop's own class
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        request = self._load.request()
        self._begin = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head = self._got.find(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", self._got[: max(0, head)])
        if length is None or len(self._got) < head + 4 + int(length[1]):
            return
        if not self._got.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._got.decode())
        self._got = b""
        now = time.perf_counter()
        self._load.seconds.append(now - self._begin)
        if now < self._load.end:
            self._ask()
        else:
            self._transport.close()
            self._load.left -= 1


async def _send(load: Load, port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    load.end, load.left = time.perf_counter() + seconds, load.case.clients
    for _ in range(load.case.clients):
        await loop.create_connection(lambda: Connection(load), "127.0.0.1", port)
    while load.left > 0:
        await asyncio.sleep(0.02)


def cpu_of(process: int) -> float:
    """Return the seconds of CPU that a process has used, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(case: Case, port: int, process: int, seconds: float) -> list[str]:
    """Return the cells of a case's row."""
    uvloop.run(_send(Load(case), port, seconds / 4))  # what is compiled is compiled
    load = Load(case)
    before, begin, own = cpu_of(process), time.perf_counter(), time.process_time()
    uvloop.run(_send(load, port, seconds))
    wall, cpu = time.perf_counter() - begin, cpu_of(process) - before
    own = time.process_time() - own
    requests = len(load.seconds)
    p50, p99 = np.quantile(load.seconds, [0.5, 0.99]) * 1_000
    records = requests * case.batch
    return [
        f"{case.clients}",
        f"{case.batch}",
        "yes" if case.ids else "no",
        f"{requests / wall:,.0f}",
        f"{records / wall:,.0f}",
        f"{p50:,.1f}",
        f"{p99:,.1f}",
        f"{1e6 * cpu / requests:,.0f}",
        f"{records / cpu:,.0f}",
        f"{cpu / wall:.2f}",
        f"{own / wall:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--models", default="committee,sapl")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = []
    for model in given.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "stream_llsvm.cli", "serve", "--folder", folder]
            command += ["--port", "0", "--label", "y", "--model", model]
            server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            assert server.stderr is not None
            port = 0
            while not port:
                if found := re.search(r"serving .*:(\d+)/", server.stderr.readline()):
                    port = int(found[1])
            try:
                rows += [
                    [model, *measured(case, port, server.pid, given.seconds)] for case in CASES
                ]
            finally:
                server.terminate()
                server.communicate()
    header = ["model", "clients", "records at once", "ids", "requests/s", "records/s"]
    header += ["p50, ms", "p99, ms", "server's CPU, us a request", "records a CPU second"]
    header += ["server's cores", "clients' cores"]
    load = os.getloadavg()[0]
    results.publish(
        "serve",
        "A server under load",
        f"{results.table(header, rows)}\n\n"
        f"Records of {FIELDS} fields with their labels, predicted and learned, every answer after "
        "its records were synced to the disk; server and clients on one machine, whose load "
        f"average was {load:.0f} at the end: other work takes its part of what stands by the "
        "second. With ids the server looks whether a record has come before.",
        given.write,
    )


if __name__ == "__main__":
    main()
