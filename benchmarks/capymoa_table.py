"""MOA's learners against this project's on CapyMOA's own generators, the same records for all.

CapyMOA and Java 17 are needed; moa_peers.py says how to have them.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from statistics import mean
from typing import Any, NamedTuple

import measuring
import moa_peers
import numpy as np
import options
import peers
import results
from measuring import Line, Way, measure_ours
from numpy.typing import NDArray
from ranks import critical_difference, mean_ranks
from scores import baselines
from streams import Stream

ROWS = 50_000


class Concept(NamedTuple):
    """A generator of CapyMOA and what it is told."""

    generator: str
    options: dict[str, float]

    def spelled(self) -> str:
        """Return it as it is written in Python."""
        told = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.generator}({told})"


def trees(count: int) -> list[Concept]:
    """Return so many random trees, each with records of its own."""
    return [
        Concept("RandomTreeGenerator", {"instance_random_seed": i, "tree_random_seed": i})
        for i in range(1, count + 1)
    ]


def balls(speed: float) -> list[Concept]:
    """Return fifty balls of five classes that fly."""
    told = {"number_of_classes": 5, "number_of_drifting_centroids": 50}
    return [Concept("RandomRBFGeneratorDrift", {**told, "magnitude_of_change": speed})]


# The concepts of a stream follow each other abruptly, each for the same number of records.
STREAMS: dict[str, list[Concept]] = {
    "rtg": trees(1),
    "rtg-drifts": trees(3),
    "agr": [
        Concept("AgrawalGenerator", {"instance_random_seed": i, "classification_function": f})
        for i, f in enumerate((1, 3, 5, 7), 1)
    ],
    "led": [
        Concept(
            "LEDGeneratorDrift",
            {"instance_random_seed": i, "number_of_attributes_with_drift": moved},
        )
        for i, moved in enumerate((1, 3, 5, 7), 1)
    ],
    "rbf-moderate": balls(0.0001),
    "rbf-fast": balls(0.001),
    "hyper": [
        Concept(
            "HyperPlaneClassification",
            {"number_of_drifting_attributes": 10, "magnitude_of_change": 0.001},
        )
    ],
}


def changes(concepts: int, rows: int) -> list[int]:
    """Return after how many records one concept follows the other."""
    return [rows * i // concepts for i in range(1, concepts)]


def spelled(concepts: list[Concept], rows: int) -> str:
    """Return the stream as it is made by CapyMOA in Python."""
    first, *later = (concept.spelled() for concept in concepts)
    if not later:
        return first
    parts = [first]
    for position, concept in zip(changes(len(concepts), rows), later, strict=True):
        parts += [f"AbruptDrift(position={position})", concept]
    return f"DriftStream(stream=[{', '.join(parts)}])"


def generated(concepts: list[Concept], rows: int) -> tuple[Any, list[Any]]:
    """Return CapyMOA's schema and its first instances, the same at each call."""
    from capymoa.stream import drift, generator

    made = [getattr(generator, one.generator)(**one.options) for one in concepts]
    source: Any = made[0]
    if len(made) > 1:
        parts: list[Any] = made[:1]
        for position, concept in zip(changes(len(made), rows), made[1:], strict=True):
            parts += [drift.AbruptDrift(position=position), concept]
        source = drift.DriftStream(stream=parts)
    return made[0].get_schema(), [source.next_instance() for _ in range(rows)]


def nominal_columns(schema: Any) -> dict[int, list[str]]:
    """Return the values of each nominal attribute, by its column."""
    header, nominal = schema.get_moa_header(), schema.get_nominal_attributes() or {}
    columns = [str(header.attribute(i).name()) for i in range(schema.get_num_attributes())]
    return {i: list(map(str, nominal[name])) for i, name in enumerate(columns) if name in nominal}


def with_names(X: NDArray[Any], nominal: dict[int, list[str]]) -> NDArray[Any]:
    """Return rows as this project's learners take them: codes of nominal attributes as names."""
    if not nominal:
        return X
    mixed = X.astype(object)
    for column, values in nominal.items():
        names = np.array([word(value) for value in values], dtype=object)
        mixed[:, column] = names[X[:, column].astype(np.int64)]
    return mixed


def word(value: str) -> str:
    """Return the value of a nominal attribute as a name; digits alone would be read as a number."""
    return f"v{value}" if value.isdecimal() else value


def measure(name: str, arguments: Namespace) -> list[Line]:
    """Return what each learner did on one stream."""
    concepts, rows = STREAMS[name], arguments.rows
    schema, instances = generated(concepts, rows)
    X = np.array([instance.x for instance in instances], dtype=np.float64)
    y = np.array([instance.y_index for instance in instances])
    stream = Stream(name, with_names(X, nominal_columns(schema)), y, None)
    way = Way("always", arguments.block)
    lines = [
        measure_ours(learner, partial(peers.ours, learner), stream, way)
        for learner in arguments.learners
    ]
    beside = baselines(y)
    for learner in arguments.moa:
        # Anew for each: a learner might leave its marks on an instance.
        schema, instances = generated(concepts, rows)
        assert [instance.y_index for instance in instances] == y.tolist()
        done = moa_peers.run(learner, schema, instances)
        lines.append(Line(name, moa_peers.LEARNERS[learner].title, done, done, None, beside))
    return lines


def report(found: dict[str, list[Line]], arguments: Namespace) -> str:
    """Return the tables, who is ahead, and how the streams are made."""
    learners = [line.learner for line in next(iter(found.values()))]
    titles = [peers.title(learner) for learner in learners]
    accuracy = {
        name: {line.learner: line.main.accuracy() for line in lines}
        for name, lines in found.items()
    }
    ranks = mean_ranks(accuracy)
    header = ["stream", "majority", "last label", *titles]
    rows = [
        [name, *(results.figure(value, 2) for value in (*lines[0].baselines, *by.values()))]
        for (name, lines), by in zip(found.items(), accuracy.values(), strict=True)
    ]
    means = {one: mean(by[one] for by in accuracy.values()) for one in learners}
    rows.append(["mean", "", "", *(results.figure(means[one], 2) for one in learners)])
    rows.append(["mean rank", "", "", *(results.figure(ranks[one], 2) for one in learners)])
    prices = [price(lines) for lines in zip(*found.values(), strict=True)]
    best = next(iter(ranks))
    apart = critical_difference(len(learners), len(found))
    close = [peers.title(one) for one in ranks if 0 < ranks[one] - ranks[best] <= apart]
    made = "\n".join(f"- {name}: `{spelled(STREAMS[name], arguments.rows)}`" for name in found)
    return "\n\n".join(
        [
            f"Accuracy in %, {arguments.rows:,} records a stream, every record predicted before it "
            "is learned, one pass, defaults but for the number of trees.",
            results.table(header, rows),
            f"By mean rank the first is {peers.title(best)} ({ranks[best]:.2f}). Mean ranks over "
            f"{len(found)} streams that differ by less than {apart:.2f} cannot be told apart "
            f"(Nemenyi, 5 %): so close to the first are {', '.join(close) or 'none'}. The most "
            f"accurate on the mean is {peers.title(max(means, key=lambda one: means[one]))}.",
            results.table(["learner", "us, one by one", "us, in blocks"], prices),
            "us: CPU microseconds per record to predict and learn, the mean over the streams. "
            "MOA's learners are called from Python for each record, as CapyMOA's users do. In "
            f"blocks: of {arguments.block:,} rows with `test_then_learn`. "
            "Nominal attributes are nominal for all: this project's learners get their values as "
            "names (digits with a v before them). By the seeds of the generators the records are "
            "the same for all and in every run:",
            made,
        ]
    )


def price(lines: tuple[Line, ...]) -> list[str]:
    """Return a learner's mean microseconds over the streams, one by one and in blocks."""
    ones = [line.main if line.probable is None else line.probable for line in lines]
    blocks = [line.main for line in lines if line.main is not line.probable]
    return [
        peers.title(lines[0].learner),
        results.figure(mean(one.micros() for one in ones)),
        results.figure(mean(block.micros() for block in blocks) if blocks else None),
    ]


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="unused")
    parser.add_argument("streams", nargs="*", metavar="STREAM", help=", ".join(STREAMS))
    parser.add_argument("--rows", type=options.at_least(10), default=ROWS, help="records a stream")
    parser.add_argument(
        "--block", type=options.at_least(1), default=measuring.BLOCK, help="rows a block"
    )
    options.add_learners(parser, "committee,no-history,sapl")
    options.add_moa(parser, ",".join(moa_peers.LEARNERS))
    arguments = parser.parse_args()
    arguments.streams = list(dict.fromkeys(arguments.streams or STREAMS))
    unknown = [name for name in arguments.streams if name not in STREAMS]
    if unknown:
        parser.error(f"no stream {', '.join(unknown)}; there are: {', '.join(STREAMS)}")
    if len(arguments.learners) + len(arguments.moa) < 2:
        parser.error("nothing to compare: name two learners")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    moa_peers.require()
    found = {name: measure(name, arguments) for name in arguments.streams}
    title = "MOA's learners on CapyMOA's generators"
    results.publish("capymoa", title, report(found, arguments), arguments.write)


if __name__ == "__main__":
    main()
