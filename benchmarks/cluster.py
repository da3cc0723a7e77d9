"""Two learners on Ray beside one: how fast they learn, what that costs, and a model of more.

A stream in order lies in a file, which learners read for themselves, decoding included. Rates are
records by the processor seconds of the busiest learner of each round, so that a machine on which
others work says the same; the ratio of times by the clock stands beside it, and is only as good as
the machine is idle. What 8 and 64 learners would do is computed from measured constants.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any, NamedTuple

import numpy as np
import options
import results

from stream_llsvm import CommitteeClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.rounds import model_bytes, model_of
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.watchers import Watcher
from stream_llsvm.learners.merge import MergeWarning

STREAMS = ("electricity", "covtype")
WARM = 2_000
TARGET = 1.7
MODELLED = (1, 2, 4, 8, 64)
_TIMES = 9


class Run(NamedTuple):
    """A run: records behind the first ones, seconds, and accuracy in %."""

    records: int
    busiest: float
    clock: float
    accuracy: float
    restarts: int


class Busiest(Watcher):
    """Adds up the processor seconds of the busiest learner of each round, behind the first ones.

    In the first round that a learner has it loads its kernels, which takes as long as 40,000
    records do.
    """

    def __init__(self, after: int) -> None:
        self.cpu, self.begun, self.records, self._after = 0.0, 0.0, 0, after

    def on_turn(self, engine: Any) -> None:
        """Take the round that has just been learned."""
        came = engine.progress.counts["records"]
        if came <= self._after:
            self.begun, self.records, self.cpu = monotonic(), came, 0.0
            return
        self.cpu += engine.seconds["cpu"]


def written(folder: Path, data: Path, stream: str, rows: int) -> Path:
    """Write a stream as JSON Lines."""
    with np.load(data / f"{stream}.npz") as arrays:
        X, y = arrays["X"][:rows], arrays["y"][:rows]
    path = folder / f"{stream}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            record = {f"f{i}": value for i, value in enumerate(x)} | {"y": f"c{label}"}
            file.write(json.dumps(record) + "\n")
    return path


def learned(path: Path, learners: int, size: int, folder: Path) -> Run:
    """Learn a file with so many learners."""
    watcher = Busiest(WARM + 2 * size)
    kept = Checkpoints(folder)
    engine = ClusterEngine(
        FileSource(path, label="y"),
        CommitteeClassifier(),
        workers=learners,
        slice=size,
        detector=None,
        audit=0,
        checkpoints=kept,
        watchers=[watcher],
    )
    report = engine.run()
    clock = monotonic() - watcher.begun
    kept.close()
    accuracy = 100 * report["scores"]["cumulative"]["accuracy"]
    return Run(
        report["records"] - watcher.records, watcher.cpu, clock, accuracy, engine.counts["restarts"]
    )


def measured(path: Path, stream: str, size: int, repeats: int) -> tuple[list[str], float]:
    """Return the row of a table, and the processor seconds that a record takes one learner."""
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for repeat in range(repeats):
        for learners in (1, 2) if repeat % 2 == 0 else (2, 1):
            with tempfile.TemporaryDirectory() as folder:
                runs[learners].append(learned(path, learners, size, Path(folder)))
            print(stream, learners, runs[learners][-1], flush=True)
    one, two = (max(runs[n], key=lambda run: run.records / run.busiest) for n in (1, 2))
    rates = [run.records / run.busiest for run in (one, two)]
    walls = [a.clock / b.clock for a, b in zip(runs[1], runs[2], strict=True)]
    row = [
        stream,
        f"{one.records:,}",
        f"{rates[0]:,.0f}",
        f"{rates[1]:,.0f}",
        f"{rates[1] / rates[0]:.2f}",
        f"{TARGET}",
        f"{median(walls):.2f}",
        f"{one.accuracy:.2f}",
        f"{two.accuracy - one.accuracy:+.2f}",
    ]
    return row, one.busiest / one.records


def least(do: Callable[[], object]) -> float:
    """Return the least processor seconds that something took."""
    times = []
    for _ in range(_TIMES):
        before = process_time()
        do()
        times.append(process_time() - before)
    return min(times)


class Prices(NamedTuple):
    """Processor seconds of a model on its way: packed, read again, and merged, a learner."""

    megabytes: float
    pack: float
    unpack: float
    merge: float


def prices(data: Path, stream: str, size: int) -> Prices:
    """Measure what a model costs beside learning."""
    with np.load(data / f"{stream}.npz") as arrays:
        X, y = arrays["X"][: WARM + 2 * size].astype(float), arrays["y"][: WARM + 2 * size]
    base = CommitteeClassifier()
    base.learn_many(X[:WARM], y[:WARM])
    start, parts = model_bytes(base), []
    for p in range(2):
        part = model_of(start)
        some = slice(WARM + p * size, WARM + (p + 1) * size)
        part.learn_many(X[some], y[some])
        parts.append(part)
    told = model_bytes(parts[0])
    merge = least(lambda: parts[0].merge(parts[1:], [1, 2], since=base)) / 2
    return Prices(
        len(told) / 1e6,
        least(lambda: model_bytes(parts[0])),
        least(lambda: model_of(told)),
        merge,
    )


def modelled(learners: int, size: int, record: float, price: Prices) -> float:
    """Return how many records a second so many learners would learn, by a model of cost.

    A learner's record includes reading, decoding, and its share of reading and packing the model;
    the coordinator reads and merges one model after the other. The network is left out.
    """
    alone = learners == 1
    each = 0.0 if alone else learners * (price.unpack + price.merge)
    return learners * size / (size * record + price.pack + each)


def main() -> None:
    """Measure what the command line asks for."""
    parser: argparse.ArgumentParser = options.parser(__doc__)
    parser.add_argument("--rows", type=options.at_least(3 * WARM), default=42_000)
    parser.add_argument("--slice", type=options.at_least(100), default=5_000)
    parser.add_argument("--repeats", type=options.at_least(1), default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", MergeWarning)  # which members fall back is counted in a run
    size, rows, costs = arguments.slice, [], []
    with tempfile.TemporaryDirectory() as folder:
        for stream in STREAMS:
            path = written(Path(folder), arguments.data, stream, arguments.rows)
            row, record = measured(path, stream, size, arguments.repeats)
            rows.append(row)
            price = prices(arguments.data, stream, size)
            costs.append(
                [stream, f"{1e6 * record:.1f}", f"{price.megabytes:.1f}"]
                + [f"{1e3 * each:.1f}" for each in (price.pack, price.unpack, price.merge)]
                + [f"{modelled(n, size, record, price) / 1e3:,.0f}" for n in MODELLED]
            )
    text = "\n\n".join(
        [
            f"The committee, from a file in order, in slices of {size:,} records; on Ray, on one "
            f"machine, behind the first {WARM + 2 * size:,} records. Records by the processor "
            "seconds of the busiest learner of each round, with reading, decoding, and reading and "
            f"packing the model; the best of {arguments.repeats}. By the clock: the median of the "
            "ratios, on a machine on which others worked.",
            results.table(
                ["stream", "records", "one learner, 1/s", "two, 1/s", "ratio", "target",
                 "by the clock", "one learner, %", "two, points"],
                rows,
            ),
            "A model of cost, not a measurement: thousand records a second that so many learners "
            "would learn, P M / (M record + pack + P (unpack + merge)), from the constants beside "
            "it (processor time; microseconds a record, milliseconds a model). The network, and "
            "what many learners cost in accuracy, are not in it.",
            results.table(
                ["stream", "us a record", "MB", "pack, ms", "unpack, ms", "merge, ms",
                 *(f"{n}" for n in MODELLED)],
                costs,
            ),
        ]
    )  # fmt: skip
    results.publish("cluster", "Learners on Ray", text, arguments.write)


if __name__ == "__main__":
    main()
