"""Speed and memory: each measurement is a function, run here and published as a section."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import options
import peers
import results
from speed_digits import kernel_digits, linear_digits
from speed_growth import for_ever, growth
from speed_peers import forests, one_by_one
from speed_sparse import names
from speed_start import first_call
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
}
NEED_DATA = frozenset({"forest", "sgd", "svc"})


def main() -> None:
    """Run the measurements that the command line asks for."""
    parser = options.parser(__doc__, data_required=False)
    parser.add_argument(
        "--only",
        type=options.names_from(MEASUREMENTS),
        default=",".join(MEASUREMENTS),
        help="measurements, comma-separated",
    )
    parser.add_argument("--learner", choices=tuple(peers.OURS), default="sapl", help="what to time")
    parser.add_argument("--rounds", type=options.at_least(1), default=5, help="rounds of A B A B")
    parser.add_argument(
        "--quick", action="store_true", help="a twentieth of the records, to try the script"
    )
    arguments = parser.parse_args()
    without_data = [name for name in arguments.only if name in NEED_DATA]
    if arguments.data is None and without_data:
        parser.error(f"give --data DIR: {', '.join(without_data)} read data sets from there")
    if arguments.quick and arguments.write:
        parser.error("--quick is for trying the script: its figures are not written")
    effort = Effort(arguments.rounds, 0.05 if arguments.quick else 1.0)
    for name in arguments.only:
        print(f"measuring {name} ...", file=sys.stderr)
        section = MEASUREMENTS[name](arguments.learner, arguments.data, effort)
        results.publish(f"speed-{name}", section.title, section.body, arguments.write)


if __name__ == "__main__":
    main()
