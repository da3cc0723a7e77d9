"""Speed and memory: each measurement is a function, run here and published as a section."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import options
import peers
import results
import speed_against
from speed_digits import kernel_digits, linear_digits
from speed_growth import for_ever, growth
from speed_peers import forests, one_by_one
from speed_size import size
from speed_sparse import names
from speed_start import first_call
from speed_streams import by_default, threads
from timing import Effort, Section

Measurement = Callable[[str, Path | None, Effort], Section]
MEASUREMENTS: dict[str, Measurement] = {
    "dicts": one_by_one,
    "forest": forests,
    "sgd": linear_digits,
    "svc": kernel_digits,
    "flat": for_ever,
    "growth": growth,
    "start": first_call,
    "sparse": names,
    "defaults": by_default,
    "threads": threads,
    "size": size,
}
NEED_DATA = frozenset({"forest", "sgd", "svc", "defaults", "threads"})
# What a measurement turns: only learners that have that option can be measured so.
NEED_OPTION = {"sgd": "n_anchors", "svc": "n_anchors", "growth": "n_anchors", "threads": "threads"}
# Its sections are called after the measurement alone.
USUAL = "sapl"


def measurable(learner: str) -> list[str]:
    """Return the measurements that a learner has the options for."""
    there = peers.options_of(learner)
    return [n for n in MEASUREMENTS if n not in NEED_OPTION or NEED_OPTION[n] in there]


def main() -> None:
    """Run the measurements that the command line asks for."""
    parser = options.parser(__doc__, data="optional")
    parser.add_argument(
        "--only",
        type=options.names_from(MEASUREMENTS),
        help=f"comma-separated, of {', '.join(MEASUREMENTS)}; else all that suit the learner",
    )
    parser.add_argument("--against", metavar="REV", help="print ratios to that commit instead")
    parser.add_argument(
        "--rows",
        default="",
        help=f"of --against: those that contain this text, of {'; '.join(speed_against.ROWS)}",
    )
    parser.add_argument("--learner", choices=tuple(peers.OURS), default=USUAL, help="what to time")
    parser.add_argument("--rounds", type=options.at_least(1), default=5, help="rounds of A B A B")
    parser.add_argument(
        "--quick", action="store_true", help="a twentieth of the records, to try the script"
    )
    arguments = parser.parse_args()
    effort = Effort(arguments.rounds, 0.05 if arguments.quick else 1.0)
    if arguments.quick and arguments.write:
        parser.error("--quick is for trying the script: its figures are not written")
    if arguments.against is not None:
        rows = [row for row in speed_against.ROWS if arguments.rows in row]
        body = speed_against.compare(arguments.against, rows, *effort)
        results.publish("speed-against", "Speed against a commit", body, arguments.write)
        return
    suitable = measurable(arguments.learner)
    arguments.only = suitable if arguments.only is None else arguments.only
    unsuitable = [name for name in arguments.only if name not in suitable]
    if unsuitable:
        lacking = {NEED_OPTION[name] for name in unsuitable}
        parser.error(f"{arguments.learner} has no {', '.join(sorted(lacking))} to vary")
    without_data = [name for name in arguments.only if name in NEED_DATA]
    if arguments.data is None and without_data:
        parser.error(f"give --data DIR: {', '.join(without_data)} read data sets from there")
    for name in arguments.only:
        print(f"measuring {name} ...", file=sys.stderr)
        section = MEASUREMENTS[name](arguments.learner, arguments.data, effort)
        key, title = f"speed-{name}", section.title
        if arguments.learner != USUAL:
            key, title = f"{key}-{arguments.learner}", f"{title}: {arguments.learner}"
        results.publish(key, title, section.body, arguments.write)


if __name__ == "__main__":
    main()
