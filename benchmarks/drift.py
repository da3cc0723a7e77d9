"""Accuracy where the concept changes, on streams whose changes are known, against river's ARF."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from statistics import mean

import drifting
import numpy as np
import options
import peers
import results
from measuring import Way, measure_ours, measure_peer
from scores import Pass
from streams import Stream

AFTER = 1_000


def after_changes(done: Pass, stream: Stream) -> float | None:
    """Return the percentage of hits among the records that follow the changes, if there are any."""
    if not stream.changes:
        return None
    return 100 * float(np.mean(np.concatenate([done.hits[c : c + AFTER] for c in stream.changes])))


def figures(stream: Stream, arguments: Namespace) -> list[float | None]:
    """Return who looks at no record, and each learner after the changes and over the stream."""
    lines = [
        *(
            measure_ours(name, partial(peers.ours, name), stream, Way())
            for name in arguments.learners
        ),
        *(measure_peer(name, stream, Way()) for name in arguments.peers),
    ]
    learned = [
        accuracy
        for line in lines
        for accuracy in (after_changes(line.main, stream), line.main.accuracy())
    ]
    return [*lines[0].baselines, *learned]


def means(rows: list[list[float | None]]) -> list[float | None]:
    """Return the mean of each column, over the rows that have a figure there."""
    columns = zip(*rows, strict=True)
    known = [[figure for figure in column if figure is not None] for column in columns]
    return [mean(figures) if figures else None for figures in known]


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="unused")
    options.add_streams(parser, drifting.NAMES)
    options.add_learners(parser, "committee,sapl")
    options.add_peers(parser, "arf")
    arguments = parser.parse_args()
    if not arguments.learners and not arguments.peers:
        parser.error("nothing to measure: name a learner or a peer")
    unknown = [name for name in arguments.streams if name not in drifting.NAMES]
    if unknown:
        parser.error(f"no stream {', '.join(unknown)}; there are: {', '.join(drifting.NAMES)}")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    found: dict[str, list[float | None]] = {}
    for name in dict.fromkeys(arguments.streams):
        found[name] = figures(drifting.made_stream(name, arguments.rows), arguments)
    found["mean"] = means(list(found.values()))
    header = ["stream", "majority", "last label"]
    for learner in map(peers.title, (*arguments.learners, *arguments.peers)):
        header += [f"{learner} after a change", "whole stream"]
    cells = [[name, *(results.figure(f, 2) for f in row)] for name, row in found.items()]
    rows = drifting.RECORDS if arguments.rows is None else min(arguments.rows, drifting.RECORDS)
    note = (
        f"Accuracy in %, every record predicted before it is learned, all by default. {rows:,} "
        f"records a stream, made by river's generators, seeded; the concept changes at the records "
        f"{', '.join(f'{change:,}' for change in drifting.CHANGES)}. After a change: the "
        f"{AFTER:,} records from each change on. Abrupt: a new concept at once; gradual: the new "
        f"one's share rises from 0 to 1 within {drifting.DRIFTS['gradual'].width:,} records; "
        "recurring: two concepts in turn, at once; steady: moving all the while. Majority and last "
        "label: who tells the most frequent label so far, and the label before. arf: river's "
        "ARFClassifier of ten trees."
    )
    body = results.table(header, cells) + "\n\n" + note
    results.publish("drift", "Streams that drift", body, arguments.write)


if __name__ == "__main__":
    main()
