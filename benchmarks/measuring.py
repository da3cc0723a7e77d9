"""One learner on one stream: in blocks for the time, record by record for the probabilities."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import peers
import results
from scores import Pass, run_blocks, run_records
from streams import Stream

# Above this many rows a second, record by record pass costs more than it tells.
PROBABILITY_ROWS = 25_000
PROBABILITIES = ("auto", "always", "never")
BLOCK = 1_000

CELLS = (
    "stream",
    "learner",
    "accuracy %",
    "of the last 10,000",
    "log loss",
    "calibration error",
    "us, one by one",
    "us, in blocks",
)


class Line(NamedTuple):
    """One learner on one stream: the pass that is timed, and the one with probabilities."""

    stream: str
    learner: str
    main: Pass
    probable: Pass | None
    tail: int | None

    def cells(self) -> list[str]:
        """Return the line as the cells of a detailed table."""
        tail = None if self.tail is None else self.main.accuracy(self.tail)
        loss = None if self.probable is None else self.probable.log_loss()
        error = None if self.probable is None else self.probable.calibration_error()
        record = None if self.probable is None else self.probable.micros()
        block = None if self.main is self.probable else self.main.micros()
        return [
            self.stream,
            self.learner,
            results.figure(self.main.accuracy(), 2),
            results.figure(tail, 2),
            results.figure(loss, 3),
            results.figure(error, 3),
            results.figure(record),
            results.figure(block),
        ]


class Way(NamedTuple):
    """How a stream is gone through."""

    probabilities: str = "never"
    block: int = BLOCK
    delay: int = 0


def measure_ours(name: str, make: Callable[[], Any], stream: Stream, way: Way) -> Line:
    """Measure one of this project's learners, a fresh one from `make` for each pass."""
    small = stream._replace(X=stream.X[:100], y=stream.y[:100])
    # Compiling happens once per machine and is measured in speed.py, not here.
    run_blocks(make(), small, way.block)
    main = run_blocks(make(), stream, way.block, way.delay)
    probable = None
    few = len(stream.y) <= PROBABILITY_ROWS
    if way.probabilities == "always" or (way.probabilities == "auto" and few):
        run_records(make(), small)
        probable = run_records(make(), stream, way.delay)
        if not np.array_equal(main.hits, probable.hits):
            differ = int(np.sum(main.hits != probable.hits))
            note = f"{stream.name}, {name}: {differ} labels differ between the two passes"
            print(note, file=sys.stderr)
    return _told(Line(stream.name, name, main, probable, stream.tail))


def measure_peer(name: str, stream: Stream, way: Way) -> Line:
    """Measure one of river's learners, record by record."""
    done = run_records(peers.PEERS[name](len(np.unique(stream.y))), stream, way.delay)
    return _told(Line(stream.name, name, done, done, stream.tail))


def _told(line: Line) -> Line:
    print("  ".join(line.cells()), file=sys.stderr)
    return line
