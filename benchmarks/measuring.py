"""One learner on one stream: in blocks for the time, record by record for the probabilities."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import mean, stdev
from typing import Any, NamedTuple

import drifting
import numpy as np
import peers
import results
from scores import Baselines, Pass, baselines, kappa_temporal, run_blocks, run_records
from streams import SHUFFLED, Stream

# Above this many rows a second, record by record pass costs more than it tells.
PROBABILITY_ROWS = 100_000
PROBABILITIES = ("auto", "always", "never")
BLOCK = 1_000

CELLS = (
    "stream",
    "learner",
    "accuracy %",
    "kappa_t",
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
    baselines: Baselines

    def kappa_temporal(self) -> float | None:
        """Return the share of the last label's errors that is avoided."""
        return kappa_temporal(self.main.accuracy(), self.baselines.no_change)


def spread(values: Iterable[float | None], digits: int) -> str:
    """Return the mean of several runs' figures and their standard deviation; a dash for none."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return results.figure(known[0] if known else None, digits)
    return f"{mean(known):,.{digits}f} ± {stdev(known):,.{digits}f}"


def orders_note(shuffled: Iterable[str], orders: int) -> str:
    """Return what the plus and minus in a table means."""
    return (
        f"± is the standard deviation over {orders} orders of the records: {', '.join(shuffled)}. "
        "Their files are sorted; the order of the others is their own."
    )


def cells(lines: Sequence[Line]) -> list[str]:
    """Return one learner on one stream, in one order or several, as the cells of a table."""
    probable = [line.probable for line in lines if line.probable is not None]
    blocks = [line.main for line in lines if line.main is not line.probable]
    return [
        lines[0].stream,
        peers.title(lines[0].learner),
        spread((line.main.accuracy() for line in lines), 2),
        spread((line.kappa_temporal() for line in lines), 3),
        spread((line.main.accuracy(line.tail) if line.tail else None for line in lines), 2),
        spread((one.log_loss() for one in probable), 3),
        spread((one.calibration_error() for one in probable), 3),
        # Of times the mean is enough.
        results.figure(mean(one.micros() for one in probable) if probable else None),
        results.figure(mean(one.micros() for one in blocks) if blocks else None),
    ]


# By stream, then by learner: a line for each order of the records.
Found = dict[str, dict[str, list[Line]]]


class Way(NamedTuple):
    """How a stream is gone through."""

    probabilities: str = "never"
    block: int = BLOCK
    delay: int = 0


def measure_streams(arguments: Namespace, way: Way) -> Found:
    """Measure the learners and peers of a command line on its streams, shuffled ones repeatedly."""
    found: Found = {}
    for name in dict.fromkeys(arguments.streams):
        lines: dict[str, list[Line]] = {}
        for order in range(arguments.orders if name in SHUFFLED else 1):
            stream = drifting.find_stream(arguments.data, name, arguments.rows, order)
            for learner in arguments.learners:
                line = measure_ours(learner, partial(peers.ours, learner), stream, way)
                lines.setdefault(learner, []).append(line)
            for peer in arguments.peers:
                lines.setdefault(peer, []).append(measure_peer(peer, stream, way))
        found[name] = lines
    return found


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
    return _told(Line(stream.name, name, main, probable, stream.tail, _beside(stream, way)))


def measure_peer(name: str, stream: Stream, way: Way) -> Line:
    """Measure one of river's learners, record by record."""
    done = run_records(peers.PEERS[name](len(np.unique(stream.y))), stream, way.delay)
    return _told(Line(stream.name, name, done, done, stream.tail, _beside(stream, way)))


def _beside(stream: Stream, way: Way) -> Baselines:
    return baselines(stream.y, way.delay)


def _told(line: Line) -> Line:
    print("  ".join(cells([line])), file=sys.stderr)
    return line
