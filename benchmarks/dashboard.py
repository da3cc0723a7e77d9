"""What a live page costs the learner: nobody watching, one, ten, and one that hangs.

And how long `/api/predict` takes to answer one record while the model learns.

One run goes on and on; for a slice of a second the page is there, for another it is not: whatever
else the machine does meets all cases alike. Beside the loss stands what the page's own threads
worked, which the machine's mood hardly touches, and above which the loss can hardly be.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import options
import page_latency
import peers
import results

from stream_llsvm import Engine
from stream_llsvm.connectors.base import Batch, Place, Position
from stream_llsvm.dashboard.server import Dashboard
from stream_llsvm.engine.learner import Answers
from stream_llsvm.engine.watchers import Watcher

REQUEST = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALONE = "no page"
CASES = (ALONE, "a page, nobody watches", "1 watches", "10 watch", "1 hangs")
WATCHING = {"1 watches": 1, "10 watch": 10}
RUNS = (("sapl", 2), ("sapl", 22), ("committee", 22))
MADE = 20_000  # records, over and over
SETTLING = 0.2  # seconds at the beginning of a slice that are not counted
#: Reads frames in a process of its own, as a browser would, while it is told to.
READER = """
import socket, sys, threading
def read(client):
    try:
        while client.recv(65536):
            pass
    except OSError:
        pass
client = None
for line in sys.stdin:
    if line == "watch\\n":
        client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
        client.sendall(sys.argv[3].encode())
        threading.Thread(target=read, args=(client,), daemon=True).start()
    elif client is not None:
        client.shutdown(socket.SHUT_RDWR)
        client = None
"""


class Made:
    """A source of records that are made already, a block at a time, for ever.

    Parameters
    ----------
    X, y
        The records and their labels.

    """

    name = "made"
    ended = False

    def __init__(self, X: Any, y: Any) -> None:
        self._X, self._y = X, y.tolist()
        self._names = tuple(f"f{i}" for i in range(X.shape[1]))
        self._next = 0

    def poll(self, max_records: int, timeout: float) -> Batch | None:
        """Return the next records."""
        first = self._next % len(self._y)
        rows = slice(first, first + max_records)
        labels = self._y[rows]
        places = [Place(self.name, None, self._next + i) for i in range(len(labels))]
        self._next += len(labels)
        return Batch(labels, places, self.position, self._names, self._X[rows])

    @property
    def position(self) -> Position:
        """How many were handed out."""
        return {"records": self._next}

    def seek(self, position: Position) -> None:
        """Go on there."""
        self._next = position["records"]

    def close(self) -> None:
        """Nothing is open."""


class Clients:
    """Those who watch: ten processes, and a socket that nobody reads.

    Parameters
    ----------
    address
        Where the page is.

    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._where = str(parts.hostname), int(parts.port or 0)
        told = [*map(str, self._where), REQUEST]
        self._readers = [
            subprocess.Popen([sys.executable, "-c", READER, *told], stdin=subprocess.PIPE)
            for _ in range(max(WATCHING.values()))
        ]
        self._hung: socket.socket | None = None

    def be(self, case: str) -> None:
        """Let as many watch as the case says."""
        wanted = WATCHING.get(case, 0)
        for i, reader in enumerate(self._readers):
            assert reader.stdin is not None
            reader.stdin.write(b"watch\n" if i < wanted else b"leave\n")
            reader.stdin.flush()
        if self._hung is not None:
            self._hung.close()
            self._hung = None
        if case == "1 hangs":
            self._hung = socket.socket()
            self._hung.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            self._hung.connect(self._where)
            self._hung.sendall(REQUEST.encode())

    def close(self) -> None:
        """End them."""
        self.be(ALONE)
        for reader in self._readers:
            reader.communicate()


class Slice(NamedTuple):
    """Records a second, and the shares of the time that looking and serving took."""

    rate: float
    looking: float
    serving: float


class Slices(Watcher):
    """Has the page there, or not, a slice at a time.

    Parameters
    ----------
    page
        The page; its monitor is told of the run by this watcher alone.
    seconds
        Of each slice.
    rounds
        How many slices each case gets.

    """

    def __init__(self, page: Dashboard, seconds: float, rounds: int) -> None:
        self._monitor, self._clients = page.monitor, Clients(page.address)
        self._seconds = seconds
        rng = np.random.default_rng(0)
        self._order = iter([CASES[i] for _ in range(rounds) for i in rng.permutation(len(CASES))])
        self._case, self._begun = ALONE, 0.0
        self._looked = 0.0
        self._settled: tuple[float, int, float, float] | None = None
        self.found: dict[str, list[Slice]] = defaultdict(list)

    def on_start(self, engine: Engine) -> None:
        """Begin with the first slice."""
        self._monitor.on_start(engine)
        self._change(engine)

    def on_batch(self, engine: Engine, batch: Batch, answers: Answers, seconds: float) -> None:
        """Tell the monitor, if the page is there."""
        if self._case != ALONE:
            begin = time.thread_time()
            self._monitor.on_batch(engine, batch, answers, seconds)
            self._looked += time.thread_time() - begin

    def on_turn(self, engine: Engine) -> None:
        """Tell the monitor, if the page is there; go on to the next slice when it is time."""
        if self._case != ALONE:
            begin = time.thread_time()
            self._monitor.on_turn(engine)
            self._looked += time.thread_time() - begin
        now, records = time.perf_counter(), engine.progress.counts["records"]
        if self._settled is None:
            if now >= self._begun + SETTLING:
                self._settled = now, records, self._looked, served()
            return
        then, before, looked, worked = self._settled
        passed = now - then
        if passed >= self._seconds:
            rate = (records - before) / passed
            shares = (self._looked - looked) / passed, (served() - worked) / passed
            self.found[self._case].append(Slice(rate, *shares))
            self._change(engine)

    def on_end(self, engine: Engine, error: BaseException | None) -> None:
        """Let all clients go."""
        self._clients.close()
        self._monitor.on_end(engine, error)

    def _change(self, engine: Engine) -> None:
        case = next(self._order, None)
        if case is None:
            engine.stop()
            return
        self._case, self._settled = case, None
        self._clients.be(case)
        self._begun = time.perf_counter()


def served() -> float:
    """Return the seconds that the page's threads have worked."""
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.name in ("frames", "page") and thread.ident is not None
    )


def made(features: int) -> Made:
    """Return a source of records whose label no linear machine can tell."""
    X = np.random.default_rng(0).normal(size=(MADE, features))
    return Made(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def measured(name: str, features: int, seconds: float, rounds: int) -> dict[str, list[Slice]]:
    """Return the slices of a run, by case."""
    engine = Engine(made(features), peers.ours(name))
    engine.run(max_records=MADE)  # compiled before the clock starts
    with Dashboard(engine, port=0) as page:
        slices = Slices(page, seconds, rounds)
        engine.watchers[-1] = slices  # in place of the page's monitor
        engine.run()
    return slices.found


def interval(values: list[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median: what it is in draws from the values."""
    draws = np.random.default_rng(0).choice(values, size=(2_000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(low), float(high)


def lines_of(name: str, features: int, found: dict[str, list[Slice]]) -> Iterator[list[str]]:
    """Yield a line of the table for each case."""
    alone = [each.rate for each in found[ALONE]]
    for case in CASES:
        slices = found[case]
        # Each against the slice without a page in the same round: the machine's mood is in both.
        lost = [100 * (1 - s.rate / a) for s, a in zip(slices, alone, strict=True)]
        low, high = interval(lost)
        yield [
            name,
            str(features),
            case,
            f"{np.median([s.rate for s in slices]):,.0f}",
            f"{np.median(lost):.1f}",
            f"{low:.1f} to {high:.1f}",
            f"{100 * np.mean([s.looking for s in slices]):.1f}",
            f"{100 * np.mean([s.serving for s in slices]):.1f}",
        ]


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--seconds", type=options.at_least(1), default=1, help="of each slice")
    parser.add_argument("--rounds", type=options.at_least(1), default=7)
    parser.add_argument(
        "--requests", type=options.at_least(1), default=5_000, help="to /api/predict, at each pace"
    )
    arguments = parser.parse_args()
    lines = []
    for name, features in RUNS:
        found = measured(name, features, arguments.seconds, arguments.rounds)
        for line in lines_of(name, features, found):
            lines.append(line)
            print("  ".join(line), file=sys.stderr)
    asked = []
    for line in page_latency.lines(made(page_latency.FEATURES), "committee", arguments.requests):
        asked.append(line)
        print("  ".join(line), file=sys.stderr)
    header = ["model", "features", "page", "records/s", "lost, %", "95 % interval"]
    text = "\n\n".join(
        [
            results.table([*header, "looking, %", "serving, %"], lines),
            f"Two classes, batches of 1,000. Slices of {arguments.seconds} s of one run, the cases "
            f"in random order, {arguments.rounds} rounds; the loss is the median against the slice "
            "without a page in the same round, with a bootstrap interval. Looking: what the thread "
            "that learns spent on the page, in shares of the time. Serving: what the page's own "
            "threads worked. Those who watch are processes of their own on the same machine, whose "
            "cores they share with the learner.",
            "How long `/api/predict` takes, in milliseconds:",
            results.table(["model", "paced at", "learned/s", "p50", "p95", "p99", "max"], asked),
            f"One record of {page_latency.FEATURES} features a request, {arguments.requests:,} "
            "requests one after the other on one connection, from a process of its own, while the "
            "model learns in the server's process at the pace given.",
        ]
    )
    results.publish("dashboard", "What a live page costs", text, arguments.write)


if __name__ == "__main__":
    main()
