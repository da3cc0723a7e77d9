"""The table that README shows: the committee with and without label history, peers, and prices."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple

import drifting
import measuring
import moa_peers
import numpy as np
import options
import peers
import results
from measuring import Found, Line, Way
from scores import FLOOR
from streams import SHUFFLED

STREAMS = (
    "electricity",
    "covtype",
    "keystroke",
    "phishing_stream",
    "letter",
    "magic04",
    "agrawal-abrupt",
    "rbf-abrupt",
)
WITH, WITHOUT = "committee", "no-history"
PEERS = {
    "logreg": "river's logistic regression",
    "knn": "river's kNN",
    "arf": "river's ARF(10)",
    "amf": "river's AMF(10)",
}
HEADER = (
    "stream",
    "records",
    "majority / last label",
    "committee",
    "without label history",
    "best peer",
    "its us a record",
    "the committee's us, one by one / in blocks",
)


class Peer(NamedTuple):
    """The best of others on a stream; no time where it is quoted."""

    said: str
    accuracy: float
    micros: float | None


def best_peer(stream: str, found: dict[str, list[Line]], quoted: dict[str, float]) -> Peer | None:
    """Return who of those that are run here or quoted is the most accurate on a stream."""
    there = []
    for name, lines in found.items():
        if name in (WITH, WITHOUT):
            continue
        accuracy = measuring.spread((line.main.accuracy() for line in lines), 2)
        value = float(np.mean([line.main.accuracy() for line in lines]))
        micros = float(np.mean([line.main.micros() for line in lines]))
        there.append(Peer(f"{PEERS.get(name, name)} {accuracy}", value, micros))
    there += [
        Peer(f"MOA's {name} {value:.2f}, quoted", value, None) for name, value in quoted.items()
    ]
    return max(there, key=lambda peer: peer.accuracy, default=None)


def row(stream: str, found: dict[str, list[Line]], quoted: dict[str, float]) -> list[str]:
    """Return a stream's line of the table."""
    lines = found[WITH]
    peer = best_peer(stream, found, quoted)
    beside = [
        float(np.mean(values)) for values in zip(*(one.baselines for one in lines), strict=True)
    ]
    one_by_one = [line.probable.micros() for line in lines if line.probable is not None]
    return [
        stream,
        f"{len(lines[0].main.hits):,}",
        " / ".join(f"{value:.2f}" for value in beside),
        *(
            measuring.spread((line.main.accuracy() for line in found[name]), 2)
            for name in (WITH, WITHOUT)
        ),
        "-" if peer is None else peer.said,
        results.figure(None if peer is None else peer.micros),
        f"{np.mean(one_by_one):.1f} / {np.mean([line.main.micros() for line in lines]):.1f}",
    ]


def add_moa(found: Found, arguments: Namespace) -> None:
    """Measure MOA's learners on the same streams and put them beside the others."""
    for name, lines in found.items():
        for order in range(arguments.orders if name in SHUFFLED else 1):
            stream = drifting.find_stream(arguments.data, name, arguments.rows, order)
            beside = lines[WITH][order].baselines
            for learner in arguments.moa:
                title = f"MOA's {moa_peers.LEARNERS[learner].title}"
                done = moa_peers.run(learner, *moa_peers.instances(stream))
                lines.setdefault(title, []).append(Line(name, title, done, done, None, beside))


def report(found: Found, arguments: Namespace) -> str:
    """Return the table, all that was measured, and the notes that belong to them."""
    # What is quoted was measured on whole streams.
    quoted = peers.QUOTED if arguments.rows is None else {}
    rows = [row(name, lines, quoted.get(name, {})) for name, lines in found.items()]
    details = [measuring.cells(lines) for by in found.values() for lines in by.values()]
    shuffled = [name for name in found if name in SHUFFLED]
    run = [PEERS[name] for name in arguments.peers]
    run += [f"MOA's {moa_peers.LEARNERS[name].title}" for name in arguments.moa]
    return "\n\n".join(
        [
            "Accuracy in %, every record predicted before it is learned, one pass, defaults. The "
            "best peer is the most accurate on that stream of: "
            f"{', '.join(run) or 'nobody run here'}; and of what is quoted, where MOA's learners "
            "were measured through CapyMOA 0.15.1 and not here.",
            results.table(HEADER, rows),
            *([measuring.orders_note(shuffled, arguments.orders)] if shuffled else []),
            "Without label history: without the member that reads the order of the labels and "
            "nothing of the records. us: CPU microseconds per record to predict and learn; peers "
            "one by one (MOA's called from Python), the committee also in blocks of "
            f"{arguments.block:,} with `test_then_learn`.",
            results.table(measuring.CELLS, details),
            f"kappa_t: the share of the last label's errors that is avoided. Log loss in nats, "
            f"probabilities below {FLOOR:g} raised to it.",
        ]
    )


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="optional")
    options.add_streams(parser, STREAMS)
    parser.add_argument(
        "--peers",
        type=options.names_from(PEERS),
        default=",".join(PEERS),
        help=f"of river, comma-separated, may be empty: {', '.join(PEERS)}",
    )
    options.add_moa(parser, "")
    options.add_orders(parser)
    parser.add_argument("--block", type=options.at_least(1), default=measuring.BLOCK)
    arguments = parser.parse_args()
    options.check_names(parser, arguments.data, arguments.streams, drifting.NAMES)
    arguments.learners = [WITH, WITHOUT]
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    if arguments.moa:
        moa_peers.require()
    found = measuring.measure_streams(arguments, Way("always", arguments.block))
    add_moa(found, arguments)
    title = "The committee, in short"
    results.publish("summary", title, report(found, arguments), arguments.write)


if __name__ == "__main__":
    main()
