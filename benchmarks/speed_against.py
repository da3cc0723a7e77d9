"""Speed against another commit: both do the same work in turn, each in a process of its own.

A round is base, then new, over the same records; what counts is the CPU time of the process (of a
server: the server's), and the ratio within a round, so that a machine that slows down for a while
slows both. The median of the ratios is printed with their quartiles.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

HERE = Path(__file__).resolve()
BLOCK, FEATURES = 1_000, 22


def _records(n: int) -> tuple[Any, Any]:
    import engine

    return engine.records(n)


def _dicts(n: int) -> list[tuple[dict[str, float], int]]:
    X, y = _records(n)
    names = [f"f{i}" for i in range(FEATURES)]
    return [
        (dict(zip(names, row, strict=True)), label)
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def _timed(work: Callable[[], object], n: int) -> float:
    begin = process_time()
    work()
    return 1e6 * (process_time() - begin) / n


def _one_by_one(name: str, n: int) -> Callable[[], float]:
    rows = _dicts(n)

    def work() -> None:
        model = _model(name)
        for x, y in rows:
            model.predict_one(x)
            model.learn_one(x, y)

    return lambda: _timed(work, n)


def _keyed(n: int) -> Callable[[], float]:
    import stream_llsvm

    rows = [(x | {"key": f"k{i % 100}"}, y) for i, (x, y) in enumerate(_dicts(n))]

    def work() -> None:
        model = stream_llsvm.KeyedClassifier(_model("pegasos"), key="key")
        for x, y in rows:
            model.learn_one(x, y)

    return lambda: _timed(work, n)


def _predict(name: str, n: int) -> Callable[[], float]:
    rows, model = _dicts(n), _model(name)
    for x, y in rows[:2_000]:
        model.learn_one(x, y)

    def work() -> None:
        for x, _ in rows:
            model.predict_one(x)

    return lambda: _timed(work, n)


def _blocks(name: str, n: int) -> Callable[[], float]:
    X, y = _records(n)

    def work() -> None:
        model = _model(name)
        for first in range(0, n, BLOCK):
            model.test_then_learn(X[first : first + BLOCK], y[first : first + BLOCK])

    return lambda: _timed(work, n)


def _model(name: str) -> Any:
    import stream_llsvm

    kinds = {
        "committee": "CommitteeClassifier",
        "sapl": "SAPLClassifier",
        "pegasos": "PegasosClassifier",
        "llsvm regressor": "LLSVMRegressor",
        "pegasos regressor": "PegasosRegressor",
    }
    return getattr(stream_llsvm, kinds[name])()


def _file(kind: str, n: int) -> Path:
    import engine

    folder = Path(tempfile.mkdtemp(prefix="speed_"))
    return engine.write(folder, *_records(n))[kind]


def _reading(kind: str, n: int) -> Callable[[], float]:
    from stream_llsvm.connectors import FileSource

    path = _file(kind, n)

    def work() -> None:
        source = FileSource([path], label="y")
        while source.poll(BLOCK, 0.1) is not None:
            pass

    return lambda: _timed(work, n)


def _engine(name: str, n: int) -> Callable[[], float]:
    from stream_llsvm import Engine
    from stream_llsvm.connectors import FileSink, FileSource
    from stream_llsvm.engine.checkpoints import Checkpoints

    path = _file("CSV", n)

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            kept, sink = Checkpoints(folder), FileSink(Path(folder) / "out.jsonl")
            source = FileSource([path], label="y")
            Engine(source, _model(name), sink=sink, checkpoints=kept, every=1.0).run()
            sink.close()
            kept.close()

    return lambda: _timed(work, n)


def _serve(batch: int, seconds: float) -> Callable[[], float]:
    import serve
    import uvloop

    folder = tempfile.mkdtemp(prefix="speed_")
    command = [sys.executable, "-m", "stream_llsvm.cli", "serve", "--folder", folder]
    command += ["--port", "0", "--label", "y", "--model", "sapl"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    while not (found := re.search(r"serving .*:(\d+)/", server.stderr.readline())):
        pass

    def work() -> float:
        load = serve.Load(serve.Case(16, batch, False))
        before = serve.cpu_of(server.pid)
        uvloop.run(serve._send(load, int(found[1]), seconds))
        return 1e6 * (serve.cpu_of(server.pid) - before) / (len(load.seconds) * batch)

    def stop() -> None:
        server.terminate()
        server.communicate()

    work.stop = stop  # type: ignore[attr-defined]
    return work


# What is timed, over so many records (of a server: seconds); the share is that of --quick.
ROWS: dict[str, Callable[[float], Callable[[], float]]] = {
    "one by one, sapl": lambda share: _one_by_one("sapl", int(100_000 * share)),
    "one by one, committee": lambda share: _one_by_one("committee", int(50_000 * share)),
    "one by one, llsvm regressor": lambda share: _one_by_one(
        "llsvm regressor", int(100_000 * share)
    ),
    "one by one, keyed": lambda share: _keyed(int(100_000 * share)),
    "predict_one, sapl": lambda share: _predict("sapl", int(200_000 * share)),
    "blocks, sapl": lambda share: _blocks("sapl", int(500_000 * share)),
    "blocks, committee": lambda share: _blocks("committee", int(150_000 * share)),
    "blocks, pegasos": lambda share: _blocks("pegasos", int(2_000_000 * share)),
    "reading, CSV": lambda share: _reading("CSV", int(300_000 * share)),
    "reading, JSON Lines": lambda share: _reading("JSON Lines", int(200_000 * share)),
    "engine, sapl": lambda share: _engine("sapl", int(200_000 * share)),
    "engine, committee": lambda share: _engine("committee", int(100_000 * share)),
    "serve, single records": lambda share: _serve(1, 4 * share),
    "serve, 100 at once": lambda share: _serve(100, 4 * share),
}


def compare(against: str, rows: list[str], rounds: int, share: float) -> str:
    """Return a table of ratios to another commit."""
    import results

    lines = []
    with checkout(against) as base:
        for row in rows:
            print(f"measuring {row} ...", file=sys.stderr)
            with ExitStack() as stack:
                sides = [
                    stack.enter_context(worker(tree, row, share, base))
                    for tree in (base, HERE.parent.parent)
                ]
                times = [[side() for side in sides] for _ in range(rounds)]
            old, new = (median(column) for column in zip(*times, strict=True))
            ratios = [b / a for a, b in times]
            low, _, high = quantiles(ratios, n=4) if rounds > 1 else [ratios[0]] * 3
            cells = [row, f"{old:,.2f}", f"{new:,.2f}", f"{median(ratios):.3f}"]
            lines.append([*cells, f"{low:.3f} to {high:.3f}"])
            print("  ".join(lines[-1]), file=sys.stderr)
    header = ["what runs", f"{against[:12]}, us a record", "here", "ratio", "quartiles"]
    return (
        f"{results.table(header, lines)}\n\nCPU time of the process (of `serve`: the server's), "
        f"medians of {rounds} alternating rounds; the ratio is the median of the rounds' ratios. "
        f"Records of {FEATURES} numbers, two classes. Below 1 is faster than the other commit."
    )


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Lay a commit of this repository beside it, for as long as it is measured."""
    top = HERE.parent.parent
    with tempfile.TemporaryDirectory(prefix="against_") as text:
        tree = Path(text)
        packed = subprocess.run(
            ["git", "-C", str(top), "archive", revision, "stream_llsvm", "connectors"],
            stdout=subprocess.PIPE,
            check=False,
        )
        if packed.returncode:
            raise SystemExit(f"there is no commit {revision!r} in {top}")
        subprocess.run(["tar", "-x", "-C", text], input=packed.stdout, check=True)
        yield tree


@contextmanager
def worker(tree: Path, row: str, share: float, room: Path) -> Iterator[Callable[[], float]]:
    """Start a process that does one row's work with one commit's code, whenever it is asked."""
    with subprocess.Popen(
        [sys.executable, str(HERE), row, str(share)],
        env={**os.environ, "PYTHONPATH": str(tree), "TMPDIR": str(room)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        asks, answers = process.stdin, process.stdout
        assert asks is not None and answers is not None
        used = answers.readline().strip()  # once all is compiled
        if used != str(tree / "stream_llsvm"):
            raise SystemExit(f"{row}: measured {used or 'nothing'} instead of {tree}")

        def ask() -> float:
            print("go", file=asks, flush=True)
            return float(answers.readline())

        yield ask


def _work(row: str, share: float) -> None:
    """Do one row's work for each line that comes in."""
    import stream_llsvm

    run = ROWS[row](share)
    run()
    print(Path(stream_llsvm.__file__).parent, flush=True)
    try:
        for _ in sys.stdin:
            print(run(), flush=True)
    finally:
        getattr(run, "stop", lambda: None)()


if __name__ == "__main__":
    _work(sys.argv[1], float(sys.argv[2]))
