"""River's own accuracy table, continued: its data sets, its scores, its models and this project's.

River published such a table until its version 0.19 and measures only time since. The data sets are
those that come with river; Elec2, which river downloads, is the electricity file of --data.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import partial
from statistics import mean
from time import process_time
from typing import Any, NamedTuple

import options
import peers
import results
from measuring import spread
from river import (
    datasets,
    dummy,
    ensemble,
    forest,
    linear_model,
    metrics,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    tree,
)
from river_published import PUBLISHED, SOURCE
from scores import Record, as_records
from streams import load_stream

# The first is that of river's table.
FIRST_SEED = 42
BUNDLED: dict[str, Callable[[], Iterable[tuple[Record, Any]]]] = {
    "Bananas": datasets.Bananas,
    "Phishing": datasets.Phishing,
    "ImageSegments": datasets.ImageSegments,
}
ELEC2 = "Elec2"
MULTICLASS = frozenset({"ImageSegments"})


def scaled(model: Any) -> Any:
    """Return a model over scaled features."""
    return preprocessing.StandardScaler() | model


def several() -> list[Any]:
    """Return the four models that river's stack and vote are made of."""
    return [
        scaled(linear_model.SoftmaxRegression()),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(),
        scaled(neighbors.KNNClassifier()),
    ]


# By the names and with the options of river's table.
BINARY_MODELS: dict[str, Callable[[], Any]] = {
    "Logistic regression": lambda: scaled(
        linear_model.LogisticRegression(optimizer=optim.SGD(0.005))
    ),
    "ALMA": lambda: scaled(linear_model.ALMAClassifier()),
}
STEADY_MODELS: dict[str, Callable[[], Any]] = {
    "Naive Bayes": naive_bayes.GaussianNB,
    "Hoeffding Tree": tree.HoeffdingTreeClassifier,
    "k-Nearest Neighbors": lambda: scaled(neighbors.KNNClassifier()),
    "Voting": lambda: ensemble.VotingClassifier(several()),
    "[baseline] Last Class": dummy.NoChangeClassifier,
}
# These throw dice, by a seed.
SEEDED_MODELS: dict[str, Callable[[int], Any]] = {
    "Hoeffding Adaptive Tree": lambda seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    "Adaptive Random Forest": lambda seed: forest.ARFClassifier(seed=seed),
    "Aggregated Mondrian Forest": lambda seed: forest.AMFClassifier(seed=seed),
    "Streaming Random Patches": lambda seed: ensemble.SRPClassifier(seed=seed),
    "ADWIN Bagging": lambda seed: ensemble.ADWINBaggingClassifier(
        tree.HoeffdingTreeClassifier(), seed=seed
    ),
    "AdaBoost": lambda seed: ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(), seed=seed),
    "Bagging": lambda seed: ensemble.BaggingClassifier(
        tree.HoeffdingAdaptiveTreeClassifier(bootstrap_sampling=False), seed=seed
    ),
    "Leveraging Bagging": lambda seed: ensemble.LeveragingBaggingClassifier(
        tree.HoeffdingTreeClassifier(), seed=seed
    ),
    "Stacking": lambda seed: ensemble.StackingClassifier(
        several(), meta_classifier=forest.ARFClassifier(seed=seed)
    ),
}
MODELS = (*STEADY_MODELS, *SEEDED_MODELS)


class Score(NamedTuple):
    """What one model did on one data set; the scores in percent."""

    accuracy: float
    f1: float
    micros: float


Found = dict[str, list[Score]]


def progressive(model: Any, records: list[tuple[Record, Any]], multiclass: bool) -> Score:
    """Predict and then learn each record; as river has it, no answer is not counted."""
    accuracy: Any = metrics.Accuracy()
    f1: Any = metrics.MacroF1() if multiclass else metrics.F1()
    seconds = 0.0
    for x, y in records:
        begin = process_time()
        answer = model.predict_one(x)
        model.learn_one(x, y)
        seconds += process_time() - begin
        if answer is not None:
            accuracy.update(y, answer)
            f1.update(y, answer)
    return Score(100 * accuracy.get(), 100 * f1.get(), 1e6 * seconds / len(records))


def load(name: str, arguments: Namespace) -> list[tuple[Record, Any]]:
    """Return the records of a data set, at most the first `--rows`."""
    if name == ELEC2:
        stream = load_stream(arguments.data, "electricity", arguments.rows)
        labels = [bool(y) for y in stream.y]
        # River's stack adds features of its own, whose names are texts, and sorts all names.
        records: list[Record] = [{f"x{i}": v for i, v in x.items()} for x in as_records(stream.X)]
        return list(zip(records, labels, strict=True))
    return list(BUNDLED[name]())[: arguments.rows]


def makers(name: str, arguments: Namespace) -> dict[str, list[Callable[[], Any]]]:
    """Return how each learner is made, once for each seed where it has one."""
    # The long one is gone through once.
    seeds = range(1 if name == ELEC2 else arguments.seeds)
    made: dict[str, list[Callable[[], Any]]] = {}
    for learner in arguments.learners:
        made[peers.title(learner)] = [partial(peers.ours, learner, seed=seed) for seed in seeds]
    steady = STEADY_MODELS if name in MULTICLASS else BINARY_MODELS | STEADY_MODELS
    made |= {model: [make] for model, make in steady.items()}
    for model, make in SEEDED_MODELS.items():
        made[model] = [partial(make, FIRST_SEED + seed) for seed in seeds]
    wanted = {*map(peers.title, arguments.learners), *arguments.models}
    return {learner: several for learner, several in made.items() if learner in wanted}


def measure(name: str, arguments: Namespace) -> Found:
    """Return what each learner did on a data set, a score for each seed, the best first."""
    records = load(name, arguments)
    multiclass = name in MULTICLASS
    for learner in arguments.learners:
        # Compiling happens once per machine and is measured in speed.py, not here.
        progressive(peers.ours(learner), records[:100], multiclass)
    found: Found = {}
    for learner, several in makers(name, arguments).items():
        found[learner] = [progressive(make(), records, multiclass) for make in several]
        print(name, learner, *cells(found[learner]), file=sys.stderr)
    means = {learner: mean(one.accuracy for one in scores) for learner, scores in found.items()}
    return {learner: found[learner] for learner in sorted(found, key=lambda one: -means[one])}


def cells(scores: list[Score]) -> list[str]:
    """Return a learner's scores as the cells of a table."""
    return [
        spread((one.accuracy for one in scores), 2),
        spread((one.f1 for one in scores), 2),
        results.figure(mean(one.micros for one in scores)),
    ]


def compared(name: str, found: Found, whole: bool) -> str:
    """Return the table of one data set and what is to be said of it."""
    published = PUBLISHED[name] if whole else {}
    rows = []
    for learner, scores in found.items():
        then = published.get(learner, (None, None))
        rows.append([learner, *cells(scores), *(results.figure(value, 2) for value in then)])
    f1 = "macro F1 %" if name in MULTICLASS else "F1 %"
    header = ["model", "accuracy %", f1, "us a record", "published accuracy %", f"published {f1}"]
    parts = [f"### {name}", results.table(header, rows)]
    if published:
        best = max(published, key=lambda model: published[model])
        both = " / ".join(f"{figure:.2f}" for figure in published[best])
        parts.append(f"The best that river published: {best}, {both}.")
    return "\n\n".join(parts)


def read_arguments() -> Namespace:
    """Read the command line."""
    known = [*BINARY_MODELS, *MODELS]
    parser = options.parser(__doc__, data="optional")
    parser.add_argument("names", nargs="*", metavar="DATASET", help=f"of {', '.join(PUBLISHED)}")
    parser.add_argument("--rows", type=options.at_least(1), help="only the first rows of each")
    parser.add_argument(
        "--seeds",
        type=options.at_least(1),
        default=5,
        help=f"how often a learner that throws dice is run; on {ELEC2} once",
    )
    options.add_learners(parser, "committee,no-history,sapl")
    parser.add_argument(
        "--models",
        type=options.names_from(known),
        default=known,
        help="of river, comma-separated, may be empty; all unless told otherwise",
    )
    arguments = parser.parse_args()
    usual = [name for name in PUBLISHED if name in BUNDLED or arguments.data is not None]
    arguments.names = list(dict.fromkeys(arguments.names or usual))
    unknown = [name for name in arguments.names if name not in PUBLISHED]
    if unknown:
        parser.error(f"no data set {', '.join(unknown)}; there are: {', '.join(PUBLISHED)}")
    if ELEC2 in arguments.names and arguments.data is None:
        parser.error(f"{ELEC2}: say by --data DIR where electricity.npz is")
    if not arguments.learners and not arguments.models:
        parser.error("nothing to measure: name a learner or a model")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    whole = arguments.rows is None
    tables = [compared(name, measure(name, arguments), whole) for name in arguments.names]
    note = (
        "Every record predicted before it is learned, one pass, records in the order of the file. "
        "A record that a model gives no answer to, the first for most, is not counted, as in "
        "river's table. F1 is that of the class True; of many classes, the mean over them. Models "
        "of river have the options of its table. ± is the standard deviation over "
        f"{arguments.seeds} seeds, of learners that have one; {ELEC2} is gone through once. us: "
        "CPU microseconds to predict and learn, with `predict_one` and `learn_one`. "
        f"Published: {SOURCE}"
    )
    body = "\n\n".join([*tables, note])
    results.publish("river", "River's accuracy table, continued", body, arguments.write)


if __name__ == "__main__":
    main()
