"""What a live page costs the learner: nobody watching, one, ten, and one that hangs."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import options
import peers
import results

from stream_llsvm import Engine
from stream_llsvm.connectors.base import Batch, Place, Position
from stream_llsvm.dashboard.serving import Dashboard

REQUEST = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
CASES = ("no page", "a page, nobody watches", "1 watches", "10 watch", "1 hangs")
#: Reads frames in a process of its own, as a browser would.
READER = """
import socket, sys
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
client.sendall(%r)
print(client.recv(65536)[:12], flush=True)
while client.recv(65536):
    pass
"""


class Made:
    """A source of records that are made already, a block at a time.

    Parameters
    ----------
    X, y
        The records and their labels.
    times
        How often they are handed out.

    """

    name = "made"

    def __init__(self, X: Any, y: Any, times: int) -> None:
        self._X, self._y, self._times = X, y.tolist(), times
        self._names = tuple(f"f{i}" for i in range(X.shape[1]))
        self._next = 0

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records."""
        first = self._next % len(self._y)
        rows = slice(first, first + max_records)
        if self.ended:
            return None
        labels = self._y[rows]
        places = [Place(self.name, None, self._next + i) for i in range(len(labels))]
        self._next += len(labels)
        return Batch(labels, places, self.position, self._names, self._X[rows])

    @property
    def ended(self) -> bool:
        """Whether all were handed out."""
        return self._next >= len(self._y) * self._times

    @property
    def position(self) -> Position:
        """How many were handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Go on there."""
        self._next = position["records"]

    def close(self) -> None:
        """Nothing is open."""


@contextlib.contextmanager
def watched(engine: Engine, case: str) -> Iterator[None]:
    """Serve the page and have it watched as the case says."""
    if case == CASES[0]:
        yield
        return
    with Dashboard(engine, port=0) as page, contextlib.ExitStack() as stack:
        where = urlsplit(page.address)
        for _ in range({"1 watches": 1, "10 watch": 10}.get(case, 0)):
            reader = subprocess.Popen(
                [sys.executable, "-c", READER % REQUEST, str(where.hostname), str(where.port)],
                stdout=subprocess.PIPE,
            )
            stack.callback(reader.communicate)
            stack.callback(reader.terminate)
            assert reader.stdout is not None
            assert b"200" in reader.stdout.readline()
        if case == "1 hangs":
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect((where.hostname, where.port))
            client.sendall(REQUEST)
        yield


def rate(name: str, case: str, X: Any, y: Any, times: int) -> float:
    """Return how many records a second a run learns."""
    engine = Engine(Made(X, y, times), peers.ours(name))
    with watched(engine, case):
        begin = perf_counter()
        engine.run()
        return len(y) * times / (perf_counter() - begin)


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--seconds", type=options.at_least(1), default=10, help="of each run")
    parser.add_argument("--rounds", type=options.at_least(1), default=5)
    arguments = parser.parse_args()
    lines = []
    for name in ("sapl", "committee"):
        for features in (2, 22):
            rng = np.random.default_rng(0)
            X = rng.normal(size=(20_000, features))
            y = (X[:, 0] * X[:, 1] > 0).astype(int)
            rate(name, CASES[0], X[:2_000], y[:2_000], 1)  # compiled before the clock starts
            times = max(1, round(rate(name, CASES[0], X, y, 1) * arguments.seconds / len(y)))
            rates: dict[str, list[float]] = {case: [] for case in CASES}
            for i in range(arguments.rounds):
                for case in CASES if i % 2 == 0 else reversed(CASES):
                    rates[case].append(rate(name, case, X, y, times))
            alone = rates[CASES[0]]
            for case in CASES:
                # Each round against its own run without a page: the machine's mood is in both.
                lost = median(1 - r / a for r, a in zip(rates[case], alone, strict=True))
                lines.append(
                    [name, str(features), case, f"{median(rates[case]):,.0f}", f"{100 * lost:.1f}"]
                )
                print("  ".join(lines[-1]), file=sys.stderr)
    header = ["model", "features", "page", "records/s", "lost, %"]
    text = "\n\n".join(
        [
            results.table(header, lines),
            f"Two classes, batches of 1,000, runs of some {arguments.seconds} s; medians of "
            f"{arguments.rounds} rounds in turn, the loss against the same round without a page. "
            "Those who watch are processes of their own on the same machine, whose cores they "
            "share with the learner.",
        ]
    )
    results.publish("dashboard", "What a live page costs", text, arguments.write)


if __name__ == "__main__":
    main()
