"""Local SVMs: their price beside scikit-learn's SVM-KNN, and how right they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import local_svm_accuracy
import local_svm_speed
import options
import results
from timing import Effort, Section

SECTIONS: dict[str, Callable[[Path | None, Effort], Section]] = {
    "speed": local_svm_speed.beside_scikit_learn,
    "windows": local_svm_speed.windows,
    "maps": local_svm_accuracy.maps,
    "paper": local_svm_accuracy.paper,
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
    parser.add_argument("--rounds", type=options.at_least(1), default=5, help="of what is timed")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, and of LAS's rounds")
    arguments = parser.parse_args()
    effort = Effort(arguments.rounds, arguments.share)
    for name in arguments.only:
        section = SECTIONS[name](arguments.data, effort)
        results.publish(f"local-svm-{name}", section.title, section.body, arguments.write)


if __name__ == "__main__":
    main()
