"""Accuracy, log loss, calibration and time of one pass over each stream, all by default."""

from __future__ import annotations

from argparse import Namespace

import drifting
import measuring
import options
import peers
import results
from measuring import Found, Way
from scores import BINS, FLOOR
from streams import SHUFFLED, STREAMS

CHOSEN = (
    "The defaults are one set for all streams, but they were chosen by comparing well over a "
    "hundred settings on these streams and a few more of the same kind. So the figures are in "
    "part fitted to these streams, and differences of 0.2 points or less between settings are "
    "noise: expect a little less on data that nobody has looked at."
)


# What the columns of both tables mean, after how long labels are held back.
MEANINGS = (
    "majority: who tells the most frequent label so far. last label: who tells the label before. "
    "kappa_t: the share of the last label's errors that is avoided; below 0 is worse than telling "
    "the last label. "
)


HISTORY = (
    f"Label history: the member `{peers.HISTORY}` reads the order of the labels and nothing of the "
    "records. What the committee has without it is what it knows of the records; what it has more "
    "with it is what labels tell of the next label, as who tells the last label shows it."
)


def report(found: Found, arguments: Namespace) -> str:
    """Return both tables and the notes that belong to them."""
    parts = [
        f"Accuracy in %, every record predicted before it is learned, one pass, defaults. "
        f"{when(arguments.delay)}",
        overview(found, arguments.rows is None and arguments.delay == 0),
        results.table(
            measuring.CELLS,
            [
                measuring.cells(several)
                for learners in found.values()
                for several in learners.values()
            ],
        ),
    ]
    shuffled = [name for name in found if name in SHUFFLED]
    if shuffled and arguments.orders > 1:
        parts.append(measuring.orders_note(shuffled, arguments.orders))
    if not found.keys().isdisjoint(STREAMS):
        parts.append(CHOSEN)
    if "no-history" in arguments.learners:
        parts.append(HISTORY)
    parts.append(
        f"{MEANINGS}Log loss in nats, probabilities below {FLOOR:g} raised to it. Expected "
        f"calibration error over {BINS} equal bins of the top probability. us: CPU microseconds "
        "per record to predict and learn; one by one with `predict_proba_one` and `learn_one`, in "
        f"blocks of {arguments.block:,} with `test_then_learn`."
    )
    return "\n\n".join(parts)


def overview(found: Found, whole: bool) -> str:
    """Return a line a stream, a column a learner; beside them who never looks at a record."""
    learners = list(next(iter(found.values())))
    header = ["stream", "rows", "majority", "last label", *map(peers.title, learners)]
    # What is quoted was measured on whole streams, with labels that came at once.
    quoted = whole and not peers.QUOTED.keys().isdisjoint(found)
    rows = []
    for stream, by_learner in found.items():
        first = by_learner[learners[0]]
        rows.append(
            [
                stream,
                f"{len(first[0].main.hits):,}",
                measuring.spread((line.baselines.majority for line in first), 2),
                measuring.spread((line.baselines.no_change for line in first), 2),
                *(
                    measuring.spread((line.main.accuracy() for line in several), 2)
                    for several in by_learner.values()
                ),
                *([peers.quoted(stream)] if quoted else []),
            ]
        )
    return results.table([*header, peers.QUOTED_SOURCE] if quoted else header, rows)


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
    options.add_orders(parser)
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
    found = measuring.measure_streams(arguments, way)
    late = f", labels held back by {arguments.delay:,}" if arguments.delay else ""
    title = f"One pass, the same defaults for every stream{late}"
    results.publish(arguments.section, title, report(found, arguments), arguments.write)


if __name__ == "__main__":
    main()
