"""Accuracy, log loss, calibration and time of one pass over each stream, all by default."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

import drifting
import measuring
import options
import peers
import results
from measuring import Line, Way, measure_ours, measure_peer
from scores import BINS, FLOOR
from streams import STREAMS

CHOSEN = (
    "The defaults are one set for all streams, but they were chosen by comparing well over a "
    "hundred settings on these streams and a few more of the same kind. So the figures are in "
    "part fitted to these streams, and differences of 0.2 points or less between settings are "
    "noise: expect a little less on data that nobody has looked at."
)


def report(lines: list[Line], arguments: Namespace) -> str:
    """Return both tables and the notes that belong to them."""
    learners = [*arguments.learners, *arguments.peers]
    accuracies = {(line.stream, line.learner): line.main.accuracy() for line in lines}
    counts = {line.stream: len(line.main.hits) for line in lines}
    # Those were whole streams, with labels that came at once.
    quoted = peers.QUOTED if arguments.rows is None and arguments.delay == 0 else {}
    header = ["stream", "rows", *learners]
    overview = [
        [stream, f"{count:,}"]
        + [results.figure(accuracies[stream, learner], 2) for learner in learners]
        for stream, count in counts.items()
    ]
    if not quoted.keys().isdisjoint(counts):
        header.append(peers.QUOTED_SOURCE)
        overview = [[*cells, quoted.get(cells[0], "-")] for cells in overview]
    return "\n\n".join(
        [
            f"Accuracy in %, every record predicted before it is learned, one pass, defaults. "
            f"{when(arguments.delay)}",
            results.table(header, overview),
            results.table(measuring.CELLS, [line.cells() for line in lines]),
            *([] if counts.keys().isdisjoint(STREAMS) else [CHOSEN]),
            f"Log loss in nats, probabilities below {FLOOR:g} raised to it. Expected calibration "
            f"error over {BINS} equal bins of the top probability. us: microseconds per record to "
            "predict and learn; one by one with `predict_proba_one` and `learn_one`, in blocks of "
            f"{arguments.block:,} with `test_then_learn`.",
        ]
    )


def when(delay: int) -> str:
    """Return when a record's label comes."""
    if delay == 0:
        return "A record's label comes before the next record."
    return (
        f"Labels are held back: once record t is predicted, the record t - {delay:,} is learned, "
        "and at the end the rest; in blocks, what is only predicted is a row of weight 0."
    )


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="optional")
    options.add_streams(parser, STREAMS)
    options.add_learners(parser, "sapl,llsvm,lcc")
    options.add_peers(parser, "")
    options.add_way(parser)
    parser.add_argument(
        "--delay", type=options.at_least(0), default=0, help="how many records labels are held back"
    )
    parser.add_argument(
        "--section", help="of RESULTS.md, to write; accuracy or, with a delay of N, delay-N"
    )
    arguments = parser.parse_args()
    if not arguments.learners and not arguments.peers:
        parser.error("nothing to measure: name a learner or a peer")
    options.check_names(parser, arguments.data, arguments.streams, drifting.NAMES)
    if arguments.section is None:
        arguments.section = f"delay-{arguments.delay}" if arguments.delay else "accuracy"
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    way = Way(arguments.probabilities, arguments.block, arguments.delay)
    lines: list[Line] = []
    for name in dict.fromkeys(arguments.streams):
        stream = drifting.find_stream(arguments.data, name, arguments.rows)
        for learner in arguments.learners:
            lines.append(measure_ours(learner, partial(peers.ours, learner), stream, way))
        lines += [measure_peer(peer, stream, way) for peer in arguments.peers]
    late = f", labels held back by {arguments.delay:,}" if arguments.delay else ""
    title = f"One pass, the same defaults for every stream{late}"
    results.publish(arguments.section, title, report(lines, arguments), arguments.write)


if __name__ == "__main__":
    main()
