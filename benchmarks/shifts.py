"""Accuracy after features move far out of their range, and back again, against river's ARF."""

from __future__ import annotations

import copy
import sys
from argparse import Namespace
from collections.abc import Callable
from statistics import mean
from typing import Any, NamedTuple

import drifting
import numpy as np
import options
import peers
import results
from scores import Pass, run_blocks, run_records
from streams import Array, Stream

CHOSEN = ("electricity", "magic04", "letter", "covtype", "rbf-steady")
BEFORE, AWAY, AFTER = 10_000, 4_000, 1_000
RECORDS = BEFORE + AWAY + 2 * AFTER
BLOCK = 1_000


class Shift(NamedTuple):
    """What becomes of a moved feature: times a factor, plus so many of its deviations."""

    factor: float = 1.0
    deviations: float = 0.0


SHIFTS = {
    "none": Shift(),
    **{f"+{n}": Shift(deviations=n) for n in (3, 10, 30, 100)},
    "x1000": Shift(factor=1_000.0),
}


class Found(NamedTuple):
    """Percentages of hits in the thousands of records that follow a shift, and its end."""

    first: float
    second: float
    first_back: float
    second_back: float


def shifted(stream: Stream, shift: Shift) -> Array:
    """Return the records, every other feature moved from one record on and later moved back."""
    X = stream.X[:RECORDS].astype(np.float64)
    moved = slice(None, None, 2)
    deviations = shift.deviations * np.nanstd(X[:BEFORE, moved], axis=0)
    away = slice(BEFORE, BEFORE + AWAY)
    X[away, moved] = X[away, moved] * shift.factor + deviations
    return X


def figures(stream: Stream, learner: Any, run: Callable[[Any, Stream], Pass]) -> dict[str, Found]:
    """Return what a fresh learner makes of each shift; what comes before it is learned once."""
    run(learner, stream._replace(X=stream.X[:BEFORE].astype(np.float64), y=stream.y[:BEFORE]))
    found = {}
    for name, shift in SHIFTS.items():
        X = shifted(stream, shift)
        rest = stream._replace(X=X[BEFORE:], y=stream.y[BEFORE:RECORDS])
        hits = run(copy.deepcopy(learner), rest).hits
        begins = (0, AFTER, AWAY, AWAY + AFTER)
        found[name] = Found(*(100 * float(np.mean(hits[b : b + AFTER])) for b in begins))
        print(stream.name, name, found[name], file=sys.stderr)
    return found


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="optional")
    options.add_streams(parser, CHOSEN)
    options.add_learners(parser, "committee,sapl")
    options.add_peers(parser, "arf")
    arguments = parser.parse_args()
    if not arguments.learners and not arguments.peers:
        parser.error("nothing to measure: name a learner or a peer")
    if arguments.rows is not None:
        parser.error(f"--rows has no meaning here: {RECORDS:,} records of each stream are used")
    options.check_names(parser, arguments.data, arguments.streams, drifting.NAMES)
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    learners = [*arguments.learners, *arguments.peers]
    rows = []
    every: dict[str, list[list[Found]]] = {name: [] for name in SHIFTS}
    for name in dict.fromkeys(arguments.streams):
        stream = drifting.find_stream(arguments.data, name, RECORDS)
        if len(stream.y) < RECORDS:
            raise SystemExit(f"{name} has {len(stream.y):,} records, {RECORDS:,} are needed")
        classes = len(np.unique(stream.y))
        found = [
            *(
                figures(stream, peers.ours(ours), lambda m, s: run_blocks(m, s, BLOCK))
                for ours in arguments.learners
            ),
            *(figures(stream, peers.PEERS[peer](classes), run_records) for peer in arguments.peers),
        ]
        for shift in SHIFTS:
            line = [of[shift] for of in found]
            every[shift].append(line)
            rows.append([name, shift, *_cells(line)])
    for shift, lines in every.items():
        means = [
            Found(*(mean(parts) for parts in zip(*column, strict=True)))
            for column in zip(*lines, strict=True)
        ]
        rows.append(["mean", shift, *_cells(means)])
    header = ["stream", "shift"]
    for learner in learners:
        header += [f"{learner} 1,000", "2,000", "back 1,000", "back 2,000"]
    note = (
        f"Accuracy in %, every record predicted before it is learned, all by default. From record "
        f"{BEFORE:,} on every other feature is moved by so many of its standard deviations, or "
        f"multiplied (seconds become milliseconds), and {AWAY:,} records later it is moved back. "
        f"1,000 and 2,000: the first and the second {AFTER:,} records after that; back: after the "
        "return. arf: river's ARFClassifier of ten trees. rbf-steady is made by river's generator."
    )
    body = results.table(header, rows) + "\n\n" + note
    results.publish("shifts", "Features that move far out of their range", body, arguments.write)


def _cells(line: list[Found]) -> list[str]:
    return [results.figure(accuracy, 2) for found in line for accuracy in found]


if __name__ == "__main__":
    main()
