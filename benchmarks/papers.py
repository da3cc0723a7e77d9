"""The papers' tables and figures: what they print beside what this project does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import options
import papers_l3
import papers_l3_figures
import papers_l3_toys
import papers_las
import papers_sapl
import papers_sapl_figures
import results
from papers_rows import Task
from timing import Section

SECTIONS: dict[str, Callable[[Task], Section]] = {
    "ll": papers_sapl.ll_tables,
    "sapl": papers_sapl.sapl_table,
    "sapl-anchors": papers_sapl_figures.numbers,
    "sapl-epochs": papers_sapl_figures.epochs,
    "l3": papers_l3.table_3,
    "l3-times": papers_l3.table_4,
    "l3-toys": papers_l3_toys.toys,
    "l3-uci": papers_l3_figures.uci,
    "l3-landmarks": papers_l3_figures.landmarks,
    "las": papers_las.figures,
}


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--only",
        type=options.names_from(SECTIONS),
        default=",".join(SECTIONS),
        help=f"comma-separated: {', '.join(SECTIONS)}",
    )
    parser.add_argument(
        "--repeats", type=options.at_least(1), default=5, help="seeds of a table's figure"
    )
    parser.add_argument(
        "--rounds", type=options.at_least(1), default=10, help="rounds of folds; LAS has 40"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="tables: keep each figure there, and go on from those kept by a run that was ended",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the least that runs every line; means nothing"
    )
    arguments = parser.parse_args()
    task = Task.of(arguments)
    for name in arguments.only:
        section = SECTIONS[name](task)
        results.publish(f"papers-{name}", section.title, section.body, arguments.write)


if __name__ == "__main__":
    main()
