"""How long the page's server takes to answer one record, while a model learns in its process.

A client of its own process asks `/api/predict` for one record after the other on one connection
that is kept alive, as a program that is served by the run would.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import peers

from stream_llsvm import Engine
from stream_llsvm.dashboard.server import Dashboard
from stream_llsvm.streams.pace import PacedSource

FEATURES = 22
RATES = (0, 1_000, 5_000)  # records a second that are learned meanwhile
_WARM = 200  # requests that are not counted
#: Asks again and again, and prints how long each answer took, in seconds.
CLIENT = """
import json, socket, sys, time
host, port, n, body = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
head = f"POST /api/predict HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
request = head.encode() + b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body
client, times, left = socket.create_connection((host, port)), [], b""
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(n):
    begin = time.perf_counter()
    client.sendall(request)
    while b"\\r\\n\\r\\n" not in left:
        left += client.recv(65536)
    head, _, left = left.partition(b"\\r\\n\\r\\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:])
    wanted = int(fields[b"content-length"])
    while len(left) < wanted:
        left += client.recv(65536)
    left = left[wanted:]
    times.append(time.perf_counter() - begin)
print(json.dumps(times))
"""


def asked(address: str, requests: int, record: dict[str, float]) -> list[float]:
    """Return how long each of so many requests took, in seconds."""
    parts, body = urlsplit(address), json.dumps({"records": [record]})
    told = [str(parts.hostname), str(parts.port), str(_WARM + requests), body]
    ran = subprocess.run([sys.executable, "-c", CLIENT, *told], capture_output=True, check=True)
    times: list[float] = json.loads(ran.stdout)
    return times[_WARM:]


def waits(source: Any, name: str, rate: float, requests: int) -> tuple[list[float], float]:
    """Return how long each request took while so many records a second came, and how many did."""
    engine = Engine(source, peers.ours(name))
    engine.run(max_records=20_000)  # compiled, and it has something to know
    # Of nothing that comes, one record an hour comes.
    engine.source = PacedSource(source, rate or 1 / 3600)
    record = {f"f{i}": 0.1 * i for i in range(FEATURES)}
    with Dashboard(engine, port=0) as page:
        running = threading.Thread(target=engine.run)
        running.start()
        try:
            asked(page.address, 0, record)
            before, begun = engine.progress.counts["records"], page.monitor.turned_at
            times = asked(page.address, requests, record)
            passed = page.monitor.turned_at - begun
            learned = (engine.progress.counts["records"] - before) / max(passed, 1e-9)
        finally:
            engine.stop()
            running.join()
    return times, learned


def lines(source: Any, name: str, requests: int) -> Iterator[list[str]]:
    """Yield a line of the table for each pace."""
    for rate in RATES:
        times, learned = waits(source, name, rate, requests)
        found = 1e3 * np.percentile(times, [50, 95, 99, 100])
        yield [name, f"{rate:,}", f"{learned:,.0f}", *(f"{value:.2f}" for value in found)]
