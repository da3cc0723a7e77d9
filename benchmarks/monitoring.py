"""What it costs the learner to watch the input, and that the memory for it stays flat.

The same batches are learned with and without the watch, in turn, and the CPU time of the thread
that learns is measured: what else the machine does hardly touches it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import options
import peers
import results
import timing
from dashboard import Made

from stream_llsvm import Engine
from stream_llsvm.connectors.base import Batch
from stream_llsvm.engine.estimate import Estimate
from stream_llsvm.engine.input.watch import InputWatch
from stream_llsvm.kernels.boxes import FIRST_BOX
from stream_llsvm.model.file import dumps

FIELDS = 22
ROWS = 20_000
WITHOUT, WITH = "not watched", "watched"
FIELDS_OF_MANY, NAMED, NAMES, CLASSES = 500, 20, 100_000, 200


def thread_micros(watch: bool, rows: int, model: str) -> float:
    """Return the learner's CPU time per record in microseconds, the kernels being compiled."""
    chance = np.random.default_rng(0)
    X = chance.normal(size=(ROWS, FIELDS))
    y = (X[:, 0] * X[:, 1] + 0.3 * chance.normal(size=ROWS) > 0).astype(int)
    engine = Engine(Made(X, y), peers.ours(model), watch_input=watch)
    engine.run(2_000)
    begin = time.thread_time()
    engine.run(rows)
    return 1e6 * (time.thread_time() - begin) / rows


def many(records: int) -> Iterator[tuple[int, Batch]]:
    """Yield batches of wide records, some of whose fields have very many names."""
    chance = np.random.default_rng(1)
    names = tuple(f"f{i}" for i in range(FIELDS_OF_MANY))
    block = chance.normal(size=(1_000, FIELDS_OF_MANY))
    codes = chance.integers(0, 2**48, NAMES)
    boxes = (codes | FIRST_BOX).astype(np.int64).view(np.float64)
    for begin in range(0, records, 1_000):
        block[:, :NAMED] = boxes[chance.integers(0, NAMES, (1_000, NAMED))]
        block[:, NAMED:] = np.roll(block[:, NAMED:], 1, axis=0)
        keys = list(range(begin, begin + 1_000))
        yield begin + 1_000, Batch([None] * 1_000, [], {}, names, block, keys=keys)


def memory(records: int) -> str:
    """Return a table of the memory that the watch and the estimate hold over a long stream."""
    watch, estimate = InputWatch(), Estimate(1_000)
    chance = np.random.default_rng(2)
    due = [records * part // 4 for part in range(1, 5)]
    lines = []
    for seen, batch in many(records):
        watch.take(batch)
        estimate.update(chance.integers(0, CLASSES, 1_000), chance.random(1_000))
        if seen >= due[0]:
            due.pop(0)
            kept = len(dumps({"input": watch.payload(), "estimate": estimate.payload()})) / 1e6
            resident = timing.resident_megabytes()
            distinct = watch.ranked(["f0"])[0].distinct
            lines.append([f"{seen:,}", f"{resident:,.0f}", f"{kept:,.1f}", f"~{distinct:,}"])
            if not due:
                break
    header = ("records", "process, MB", "in a checkpoint, MB", f"names of a field of {NAMES:,}")
    return results.table(header, lines)


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, "unused")
    parser.add_argument("--rounds", type=options.at_least(1), default=7)
    parser.add_argument("--rows", type=options.at_least(1_000), default=20_000)
    parser.add_argument("--records", type=options.at_least(4_000), default=2_000_000)
    arguments = parser.parse_args()
    lines = []
    for model in ("committee", "sapl"):
        rounds = timing.alternate(
            {
                WITHOUT: lambda m=model: thread_micros(False, arguments.rows, m),  # type: ignore[misc]
                WITH: lambda m=model: thread_micros(True, arguments.rows, m),  # type: ignore[misc]
            },
            arguments.rounds,
        )
        plain, watched = min(rounds[WITHOUT]), min(rounds[WITH])
        lost = 100 * (rounds.ratio(WITH, WITHOUT) - 1)
        lines.append([
            model, f"{plain:.2f}", f"{watched:.2f}", f"{100 * (watched / plain - 1):.1f}",
            f"{lost:.1f}",
        ])  # fmt: skip
    header = ("model", "us/record without", "with", "more, % of the least", "median ratio, %")
    body = "\n\n".join([
        results.table(header, lines),
        f"CPU time of the thread that learns, {FIELDS} numbers a record, {arguments.rows:,} "
        f"records a round, {arguments.rounds} rounds in turn; the least of the rounds, and the "
        "median of the rounds' ratios.",
        memory(arguments.records),
        f"{FIELDS_OF_MANY} fields, {NAMED} of them with {NAMES:,} names each, {CLASSES} classes, "
        "and a key a record.",
    ])  # fmt: skip
    results.publish("monitoring", "What watching the input costs", body, arguments.write)


if __name__ == "__main__":
    main()
