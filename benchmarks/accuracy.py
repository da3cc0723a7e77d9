"""Accuracy, log loss, calibration and time of one pass over each stream, all by default."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import NamedTuple

import numpy as np
import options
import peers
import results
from scores import BINS, FLOOR, Pass, run_blocks, run_records
from streams import STREAMS, Stream, load_stream

# Above this many rows a second, record by record pass costs more than it tells.
PROBABILITY_ROWS = 25_000
CHOSEN = (
    "The defaults are one set for all streams, but they were chosen by comparing well over a "
    "hundred settings on these streams and a few more of the same kind. So the figures are in "
    "part fitted to these streams, and differences of 0.2 points or less between settings are "
    "noise: expect a little less on data that nobody has looked at."
)


class Line(NamedTuple):
    """One learner on one stream: the pass that is timed, and the one with probabilities."""

    stream: str
    learner: str
    main: Pass
    probable: Pass | None
    tail: int | None

    def cells(self) -> list[str]:
        """Return the line as the cells of the detailed table."""
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


def measure_ours(name: str, stream: Stream, probabilities: str, block: int) -> Line:
    """Measure one of this project's learners with its defaults."""
    small = Stream(stream.name, stream.X[:100], stream.y[:100], None)
    # Compiling happens once per machine and is measured in speed.py, not here.
    run_blocks(peers.ours(name), small, block)
    run_records(peers.ours(name), small)
    main = run_blocks(peers.ours(name), stream, block)
    probable = None
    few = len(stream.y) <= PROBABILITY_ROWS
    if probabilities == "always" or (probabilities == "auto" and few):
        probable = run_records(peers.ours(name), stream)
        if not np.array_equal(main.hits, probable.hits):
            differ = int(np.sum(main.hits != probable.hits))
            note = f"{stream.name}, {name}: {differ} labels differ between the two passes"
            print(note, file=sys.stderr)
    return Line(stream.name, name, main, probable, stream.tail)


def measure_peer(name: str, stream: Stream) -> Line:
    """Measure one of river's learners, record by record."""
    done = run_records(peers.PEERS[name](len(np.unique(stream.y))), stream)
    return Line(stream.name, name, done, done, stream.tail)


def report(lines: list[Line], arguments: Namespace) -> str:
    """Return both tables and the notes that belong to them."""
    learners = [*arguments.learners, *arguments.peers]
    accuracies = {(line.stream, line.learner): line.main.accuracy() for line in lines}
    counts = {line.stream: len(line.main.hits) for line in lines}
    overview = [
        [stream, f"{count:,}"]
        + [results.figure(accuracies[stream, learner], 2) for learner in learners]
        + [peers.QUOTED.get(stream, "-") if arguments.rows is None else "-"]
        for stream, count in counts.items()
    ]
    header = ["stream", "learner", "accuracy %", "of the last 10,000", "log loss"]
    header += ["calibration error", "us, one by one", "us, in blocks"]
    return "\n\n".join(
        [
            "Accuracy in %, every record predicted before it is learned, one pass, defaults.",
            results.table(["stream", "rows", *learners, peers.QUOTED_SOURCE], overview),
            results.table(header, [line.cells() for line in lines]),
            CHOSEN,
            f"Log loss in nats, probabilities below {FLOOR:g} raised to it. Expected calibration "
            f"error over {BINS} equal bins of the top probability. us: microseconds per record to "
            "predict and learn; one by one with `predict_proba_one` and `learn_one`, in blocks of "
            f"{arguments.block:,} with `test_then_learn`.",
        ]
    )


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "streams", nargs="*", default=list(STREAMS), metavar="STREAM", help="names of npz files"
    )
    parser.add_argument(
        "--learners",
        type=options.names_from(peers.OURS),
        default="sapl,llsvm,lcc",
        help=f"of this project, comma-separated, may be empty: {', '.join(peers.OURS)}",
    )
    parser.add_argument(
        "--peers",
        type=options.names_from(peers.PEERS),
        default="",
        help=f"of river, comma-separated: {', '.join(peers.PEERS)}",
    )
    parser.add_argument("--rows", type=options.at_least(1), help="only the first rows of each")
    parser.add_argument("--block", type=options.at_least(1), default=1_000, help="rows a block")
    parser.add_argument(
        "--probabilities",
        choices=("auto", "always", "never"),
        default="auto",
        help=f"score probabilities too; auto: up to {PROBABILITY_ROWS:,} rows",
    )
    parser.add_argument("--section", default="accuracy", help="section of RESULTS.md to write")
    arguments = parser.parse_args()
    if not arguments.learners and not arguments.peers:
        parser.error("nothing to measure: name a learner or a peer")
    options.check_names(parser, arguments.data, arguments.streams)
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    lines: list[Line] = []
    for name in dict.fromkeys(arguments.streams):
        stream = load_stream(arguments.data, name, arguments.rows)
        for learner in arguments.learners:
            line = measure_ours(learner, stream, arguments.probabilities, arguments.block)
            lines.append(line)
            print("  ".join(line.cells()), file=sys.stderr)
        for peer in arguments.peers:
            lines.append(measure_peer(peer, stream))
            print("  ".join(lines[-1].cells()), file=sys.stderr)
    results.publish(
        arguments.section,
        "One pass, the same defaults for every stream",
        report(lines, arguments),
        arguments.write,
    )


if __name__ == "__main__":
    main()
