"""What monitoring costs the learner, and that the memory for it stays flat.

The same batches are learned by the model alone, by a run that nothing watches, by one that watches
its input, and by one with a page as well, in turn. The CPU time of the thread that
learns is measured: what else the machine does hardly touches it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial

import numpy as np
import options
import peers
import results
import timing
from dashboard import Made

from stream_llsvm import Engine
from stream_llsvm.connectors.base import Batch
from stream_llsvm.dashboard.server import Dashboard
from stream_llsvm.engine.estimate import Estimate
from stream_llsvm.engine.input.watch import InputWatch
from stream_llsvm.engine.learner import Learner
from stream_llsvm.kernels.boxes import FIRST_BOX
from stream_llsvm.model.file import dumps

FIELDS = 22
ROWS = 20_000
ALONE, PLAIN, WATCHED, ALL = "model alone", "plain run", "input watched", "page"
FIELDS_OF_MANY, NAMED, NAMES, CLASSES = 500, 20, 100_000, 200


def made() -> Made:
    """Return a source of records whose label no linear machine can tell."""
    chance = np.random.default_rng(0)
    X = chance.normal(size=(ROWS, FIELDS))
    y = (X[:, 0] * X[:, 1] + 0.3 * chance.normal(size=ROWS) > 0).astype(int)
    return Made(X, y)


def micros(learn: Callable[[int], object], rows: int) -> float:
    """Return this thread's CPU time per record in microseconds, the kernels being compiled."""
    learn(2_000)
    begin = time.thread_time()
    learn(rows)
    return 1e6 * (time.thread_time() - begin) / rows


def alone(rows: int, model: str) -> float:
    """Return what the model costs that no run is around."""
    learner, source = Learner(peers.ours(model)), made()
    batches = iter([source.poll(1_000, 0.0) for _ in range(0, 2_000 + rows, 1_000)])

    def learn(records: int) -> None:
        for _ in range(0, records, 1_000):
            batch = next(batches)
            assert batch is not None
            learner.take(batch)

    return micros(learn, rows)


def run(rows: int, model: str, *, watch: bool, page: bool = False) -> float:
    """Return what a run costs."""
    engine = Engine(made(), peers.ours(model), watch_input=watch)
    with Dashboard(engine, port=0) if page else nullcontext():
        return micros(engine.run, rows)


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
    parser.add_argument("--rows", type=options.at_least(1_000), default=100_000)
    parser.add_argument("--records", type=options.at_least(4_000), default=2_000_000)
    arguments = parser.parse_args()
    rows, lines = arguments.rows, []
    for model in ("committee", "sapl"):
        rounds = timing.alternate(
            {
                ALONE: partial(alone, rows, model),
                PLAIN: partial(run, rows, model, watch=False),
                WATCHED: partial(run, rows, model, watch=True),
                ALL: partial(run, rows, model, watch=True, page=True),
            },
            arguments.rounds,
        )
        more = [f"{100 * (rounds.ratio(one, PLAIN) - 1):.1f}" for one in (WATCHED, ALL)]
        lines.append([model, *(f"{min(rounds[one]):.2f}" for one in rounds), *more])
    header = ("model", ALONE, PLAIN, WATCHED, ALL, "watching adds, %", "all adds, %")
    body = "\n\n".join([
        results.table(header, lines),
        "CPU microseconds a record of the thread that learns, the least of "
        f"{arguments.rounds} rounds in turn; {FIELDS} numbers a record, {rows:,} records a "
        "round. A plain run keeps scores, calibration, drift of the errors and the estimate; "
        "the last also watches its input and shows a page. What is added is "
        "the median of the rounds' ratios to the plain run.",
        memory(arguments.records),
        f"{FIELDS_OF_MANY} fields, {NAMED} of them with {NAMES:,} names each, {CLASSES} classes, "
        "and a key a record.",
    ])  # fmt: skip
    results.publish("monitoring", "What monitoring costs", body, arguments.write)


if __name__ == "__main__":
    main()
