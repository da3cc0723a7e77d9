"""What each member brings: the committee whole, without each member, and each member alone."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from functools import partial
from statistics import mean

import drifting
import options
import peers
import results
from measuring import PROBABILITY_ROWS, Line, Way, measure_ours
from streams import STREAMS

LEARNER = "committee"
Members = tuple[str, ...]


def variants(
    members: Members, dropped: list[Members], added: list[Members] | None = None
) -> dict[str, Members]:
    """Return the committees to compare, by what is said of them."""
    found = {"all": members}
    for names in added or []:
        found[f"with {' and '.join(names)}"] = (*members, *names)
    for names in dict.fromkeys([*((member,) for member in members), *dropped]):
        left = tuple(member for member in members if member not in names)
        found[f"without {' and '.join(names)}"] = left
    return found | {f"only {member}": (member,) for member in members}


def dropped_from(members: Members) -> Callable[[str], list[Members]]:
    """Return a reader of what else is left out: commas between variants, plus signs within."""

    def read(text: str) -> list[Members]:
        found = []
        for part in filter(None, text.split(",")):
            names = tuple(dict.fromkeys(name.strip() for name in part.split("+")))
            unknown = [name for name in names if name not in members]
            if unknown:
                raise ArgumentTypeError(
                    f"{', '.join(unknown)}: no member; choose from {', '.join(members)}"
                )
            if len(names) == len(members):
                raise ArgumentTypeError(f"{part!r} leaves nobody")
            found.append(names)
        return found

    return read


def cells(name: str, lines: list[Line]) -> list[str]:
    """Return what a variant did on all streams as the cells of a table."""
    accuracies = [line.main.accuracy() for line in lines]
    losses = [line.probable.log_loss() for line in lines if line.probable is not None]
    known = [loss for loss in losses if loss is not None]
    return [
        name,
        *(results.figure(accuracy, 2) for accuracy in accuracies),
        results.figure(mean(accuracies), 2),
        results.figure(mean(known) if known else None, 3),
        results.figure(mean(line.main.micros() for line in lines)),
    ]


def read_arguments(members: Members) -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="optional")
    options.add_streams(parser, STREAMS)
    options.add_way(parser)
    parser.add_argument(
        "--drop",
        type=dropped_from(members),
        default="",
        help="leave out these members too, as in anchors:30+ferns,memory+ferns",
    )
    parser.add_argument(
        "--add",
        type=lambda text: [tuple(part.split("+")) for part in filter(None, text.split(","))],
        default="",
        help="let these members join too, as in local,local:300",
    )
    parser.add_argument(
        "--briefly", action="store_true", help="leave out the usual members one by one"
    )
    arguments = parser.parse_args()
    options.check_names(parser, arguments.data, arguments.streams, drifting.NAMES)
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    members: Members = tuple(peers.ours(LEARNER).members)
    arguments = read_arguments(members)
    way = Way(arguments.probabilities, arguments.block)
    compared = variants(members, arguments.drop, arguments.add)
    if arguments.briefly:
        usual = {f"{how} {member}" for member in members for how in ("without", "only")}
        compared = {name: chosen for name, chosen in compared.items() if name not in usual}
    lines: dict[str, list[Line]] = {name: [] for name in compared}
    names = list(dict.fromkeys(arguments.streams))
    for stream in (drifting.find_stream(arguments.data, name, arguments.rows) for name in names):
        for name, chosen in compared.items():
            make = partial(peers.ours, LEARNER, members=chosen)
            lines[name].append(measure_ours(name, make, stream, way))
    scored = [line.stream for line in lines["all"] if line.probable is not None]
    note = (
        f"Accuracy in %, every record predicted before it is learned, one pass. Mean log loss in "
        f"nats over {', '.join(scored) or 'no stream'}"
        f"{f' (up to {PROBABILITY_ROWS:,} rows)' if way.probabilities == 'auto' else ''}. us: "
        f"CPU microseconds per record, in blocks of {way.block:,} with `test_then_learn`, the mean "
        "over the streams."
    )
    header = ["members", *names, "mean", "mean log loss", "us"]
    body = results.table(header, [cells(*item) for item in lines.items()]) + "\n\n" + note
    results.publish("ablation", "What each member brings", body, arguments.write)


if __name__ == "__main__":
    main()
